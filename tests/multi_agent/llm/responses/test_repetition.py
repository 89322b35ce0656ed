"""Responses without end are stopped and asked for again, shorter; long but legitimate ones are not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from multi_agent.errors import InvalidResponse
from multi_agent.llm.models import build_llm
from multi_agent.llm.wrappers.requests import find_endless
from multi_agent.model import Message
from support import replies
from support.replies import PROTOCOLS, Protocol, Reply, always, in_pieces, in_turn
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S

ROOT = Path(__file__).parents[4]
QUESTION = [Message.system("You know pumps."), Message.user("Which pump works below -20 °C?")]
ANSWER = '{"text": "Borea 8", "figures": [1]}'
SENTENCE = "The pump works below -20 °C, as the passage says. "

LOOPS = {
    "sentence": '{"text": "' + SENTENCE * 100,
    "item": '{"text": "Borea 8", "figures": [' + "1, " * 1_000,
    "object": '{"text": "' + '{"quote": "It works below -20 °C.", "passage": 3}, ' * 60,
    "escaped line breaks": '{"text": "Borea 8' + "\\n" * 2_000,
    "paragraph": '{"text": "' + "".join(f"{word} is cold. " for word in range(90)) * 8,
    "signs": '{"text": "' + "- | " * 1_500,
    "spaces": '{"text": "Borea 8",' + " " * 3_000,
    "line breaks": '{"text": "Borea 8"' + "\n" * 3_000,
    "indentation": '{"text": "Borea 8",' + "\n\t  " * 700,
}


class Answer(BaseModel):
    text: str
    figures: list[int]


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    value: Protocol = request.param
    return value


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS.keys())
def test_a_loop_is_found(text: str) -> None:
    assert find_endless(text)


def test_the_repeated_words_are_named() -> None:
    assert "as the passage says" in find_endless(SENTENCE * 100)
    assert find_endless("x" + " " * 300) == "it wrote white space without end"


def legitimate_texts() -> Iterator[tuple[str, str]]:
    numbered = "".join(f"| Borea heat pump, model {row} | outdoor | R290 | {row % 7} dB(A) |\n" for row in range(300))
    yield "table with figures", numbered
    yield "numbers", json.dumps(list(range(2_000)))
    yield "truth values", json.dumps([True] * 100)
    yield "rule of a table", "|" + " --- |" * 400 + "\n" + "|" + " | " * 40
    yield "dot leaders", "\n".join(f"{chapter} {'.' * 90} {chapter * 3}" for chapter in range(60))
    yield "empty rows", "| Room | Heat load | Note |\n" + "|      |           |      |\n" * 30
    yield "indented JSON", json.dumps([{"deep": {"deeper": {"deepest": [row]}}} for row in range(200)], indent=8)
    for verdicts in (20, 60):
        yield f"{verdicts} verdicts", json.dumps([{"number": at, "supported": True} for at in range(verdicts)])


def files() -> Iterator[Path]:
    yield from (ROOT / "docs").glob("*.md")
    yield from (ROOT / "benchmarks").glob("*.md")
    yield from (path for path in (ROOT / "sample_docs").rglob("*") if path.suffix in (".md", ".csv", ".html", ".jsonl"))


@pytest.mark.parametrize("path", list(files()), ids=lambda path: path.name)
def test_real_files_are_no_loops(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not any(find_endless(text[:end]) for end in range(100, len(text) + 100, 100))


@pytest.mark.parametrize(("name", "text"), list(legitimate_texts()), ids=[name for name, _ in legitimate_texts()])
def test_long_lists_and_tables_are_no_loops(name: str, text: str) -> None:
    assert not any(find_endless(text[:end]) for end in range(100, len(text) + 100, 100)), name


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS.keys())
async def test_a_loop_is_stopped_and_a_shorter_response_requested(protocol: Protocol, loop: str) -> None:
    endless = in_pieces(loop, 50, ending="silent")
    with ScriptedEndpoint(in_turn(endless, ANSWER)) as endpoint:
        completion = await build_llm(endpoint.settings(protocol, timeout_s=LIMIT_S)).complete(QUESTION, Answer)
    assert completion.value == Answer(text="Borea 8", figures=[1])
    first, second = endpoint.requests
    assert len(second.messages) == len(first.messages), "the loop is not sent back"
    assert second.messages[-1]["content"].startswith(f"{QUESTION[1].content}\n\nYour last response was stopped because")
    rejected, accepted = completion.exchanges
    assert rejected.fault.startswith("stopped: it ")
    assert loop.startswith(rejected.response)
    assert len(rejected.response) < len(loop)
    assert accepted.fault == ""
    assert completion.usage.model_calls == 2
    assert completion.usage.completion_tokens > 100, "the stopped response is estimated"


async def test_a_loop_in_a_field_of_thinking_is_stopped(protocol: Protocol) -> None:
    endless = Reply(text=ANSWER, thinking=SENTENCE * 100, ending="silent")
    with ScriptedEndpoint(in_turn(endless, ANSWER)) as endpoint:
        completion = await build_llm(endpoint.settings(protocol, timeout_s=LIMIT_S)).complete(QUESTION, Answer)
    assert completion.exchanges[0].thinking == SENTENCE * 100
    assert "as the passage says" in completion.exchanges[0].fault


async def test_white_space_after_a_complete_response_is_no_fault(protocol: Protocol) -> None:
    endless = in_pieces(ANSWER + "\n" * 3_000, 50, ending="silent")
    with ScriptedEndpoint(always(endless)) as endpoint:
        completion = await build_llm(endpoint.settings(protocol, timeout_s=LIMIT_S)).complete(QUESTION, Answer)
    assert completion.usage.model_calls == 1
    assert completion.exchanges[0].repairs == (
        "ended the response after the JSON object: it wrote white space without end",
    )


async def test_a_response_that_is_stopped_twice_is_an_error(protocol: Protocol) -> None:
    with (
        ScriptedEndpoint(always(in_pieces(LOOPS["sentence"], 50, ending="silent"))) as endpoint,
        pytest.raises(InvalidResponse, match=r"in 2 attempts: it repeated .* CANDOR_LLM__MODEL") as caught,
    ):
        await build_llm(endpoint.settings(protocol, timeout_s=LIMIT_S)).complete(QUESTION, Answer)
    assert len(endpoint.requests) == 2
    assert all(exchange.fault for exchange in caught.value.exchanges)


async def test_a_caller_that_listens_sees_the_text_start_over(protocol: Protocol) -> None:
    seen: list[str] = []

    async def on_text(text: str) -> None:
        seen.append(text)

    with ScriptedEndpoint(
        in_turn(in_pieces(LOOPS["sentence"], 50, ending="silent"), in_pieces(ANSWER, 10))
    ) as endpoint:
        await build_llm(endpoint.settings(protocol, timeout_s=LIMIT_S)).complete(QUESTION, Answer, on_text=on_text)
    assert seen.count("") == 2
    assert seen[-1] == ANSWER


@pytest.mark.parametrize("loop", ["sentence", "spaces"])
async def test_without_streaming_the_fault_names_the_loop(protocol: Protocol, loop: str) -> None:
    limited = replies.truncate(LOOPS[loop], keep=1)
    with ScriptedEndpoint(in_turn(limited, ANSWER)) as endpoint:
        completion = await build_llm(endpoint.settings(protocol, stream=False)).complete(QUESTION, Answer)
    assert not any(request.body.get("stream") for request in endpoint.requests)
    assert "without end" in completion.exchanges[0].fault


async def test_the_output_limit_asks_for_a_shorter_response(protocol: Protocol) -> None:
    with ScriptedEndpoint(in_turn(replies.truncate(ANSWER), ANSWER)) as endpoint:
        completion = await build_llm(endpoint.settings(protocol)).complete(QUESTION, Answer)
    assert completion.exchanges[0].fault == "stopped: it reached the output limit"
    assert "Your last response was stopped because it reached the output limit." in endpoint.requests[1].prompt


async def test_a_shorter_response_is_requested_once_per_call(protocol: Protocol) -> None:
    played: tuple[Any, ...] = (replies.truncate(ANSWER), replies.nonsense(), replies.truncate(ANSWER), ANSWER)
    with (
        ScriptedEndpoint(in_turn(*played)) as endpoint,
        pytest.raises(InvalidResponse, match="in 3 attempts: it reached the output limit"),
    ):
        await build_llm(endpoint.settings(protocol)).complete(QUESTION, Answer)
    assert len(endpoint.requests) == 3


async def test_no_shorter_response_is_requested_without_retries(protocol: Protocol) -> None:
    with (
        ScriptedEndpoint(always(replies.truncate(ANSWER))) as endpoint,
        pytest.raises(InvalidResponse, match="in 1 attempt: "),
    ):
        await build_llm(endpoint.settings(protocol, response_retries=0)).complete(QUESTION, Answer)
    assert len(endpoint.requests) == 1
