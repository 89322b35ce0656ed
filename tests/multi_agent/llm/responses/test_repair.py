"""Repairs of responses: each where it is certain, and none where it would be a guess."""

from __future__ import annotations

import json
import time
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from multi_agent.llm.models import build_llm
from multi_agent.llm.responses.repair import repair
from multi_agent.llm.responses.typed import partial_answer
from multi_agent.llm.wrappers.journal import RunCalls, RunLLM
from multi_agent.model import Completion, Message
from multi_agent.values.events import ResponseRepaired
from support import replies
from support.replies import PROTOCOLS, Protocol, Reply, always, in_turn
from support.scripted_endpoint import ScriptedEndpoint

QUESTION = [Message.system("You know pumps."), Message.user("Which pump works below -20 °C?")]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    litres: float | None = None


class Search(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tool: Literal["search"]
    queries: list[str]


class Fetch(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tool: Literal["fetch"]
    url: str


class Pump(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["heat pump", "well pump"]
    coldest: int
    names: list[str] = Field(default=["Borea"])
    price: str = "unknown"
    parts: list[Part] = Field(default=[], min_length=0)
    calls: list[Search | Fetch] = []
    sure: bool = True


def body(**changed: Any) -> str:
    return json.dumps({"kind": "heat pump", "coldest": -25} | changed)


SHAPES: list[tuple[str, str, dict[str, Any], str]] = [
    ("unknown field", body(note="cold"), {}, "dropped the unknown field 'note'"),
    ("inner unknown field", body(parts=[{"name": "fan", "x": 1}]), {"parts": [Part(name="fan")]},
     "parts.0: dropped the unknown field 'x'"),
    ("text for a number", body(coldest=" -25 ", x=1), {}, 'coldest: read " -25 " as -25'),
    ("number for a text", body(price=12), {"price": "12"}, 'price: read 12 as "12"'),
    ("decimals of a number", '{"kind": "heat pump", "coldest": -25, "price": 9.50}', {"price": "9.50"},
     'price: read 9.50 as "9.50"'),
    ("text for a truth value", body(sure="False", x=1), {"sure": False}, 'sure: read "False" as false'),
    ("single value", body(names="Borea 8"), {"names": ["Borea 8"]}, "names: put a single value into a list"),
    ("single object", body(parts={"name": "fan"}), {"parts": [Part(name="fan")]}, "parts: put a single value"),
    ("empty text for a list", body(names=""), {"names": []}, "names: read an empty text as an empty list"),
    ("list of one", body(price=["12"]), {"price": "12"}, "price: took the only item of a list"),
    ("list of one choice", body(kind=["heat pump"]), {}, "kind: took the only item of a list"),
    ("null with a default", body(names=None), {"names": ["Borea"]}, "names: left out null"),
    ("case of a choice", body(kind=" Heat Pump\n"), {}, 'kind: read " Heat Pump\\n" as "heat pump"'),
    ("hyphen in a choice", body(kind="heat_pump"), {}, 'kind: read "heat_pump" as "heat pump"'),
    ("plural of a field", body(name=["Borea 8"]), {"names": ["Borea 8"]}, "read the field 'name' as 'names'"),
    ("case of a field", body(Price="12"), {"price": "12"}, "read the field 'Price' as 'price'"),
    ("variant", body(calls=[{"tool": "search", "queries": "noise"}]),
     {"calls": [Search(tool="search", queries=["noise"])]}, "calls.0.queries: put a single value into a list"),
    ("object around it", json.dumps({"Pump": json.loads(body())}), {}, "took the response out of the field 'Pump'"),
    ("JSON in a text", body(parts='[{"name": "fan"}]'), {"parts": [Part(name="fan")]}, "parts: read the JSON inside"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "fields", "sentence"), [each[1:] for each in SHAPES], ids=[each[0] for each in SHAPES]
)
def test_a_shape_is_repaired(given: str, fields: dict[str, Any], sentence: str) -> None:
    repaired = repair(given, Pump)
    assert repaired.valid
    assert Pump.model_validate_json(repaired.text) == Pump(kind="heat pump", coldest=-25).model_copy(update=fields)
    assert any(sentence in each for each in repaired.repairs), repaired.repairs


SYNTAX: list[tuple[str, str, str]] = [
    ("text before", f"Sure! Here is {{it}}:\n{body()}", "removed the text before the JSON object: Sure! Here is {it}:"),
    ("text after", f"{body()}\nI hope that helps.", "removed the text after the JSON object: I hope that helps."),
    ("fence", f"```json\n{body()}\n```", "removed the Markdown fence around the JSON object"),
    ("fence in text", f"So:\n```json\n{body()}\n```\nGood?", "removed the text before the JSON object: So: ```json"),
    ("list of one", f"[{body()}]", "removed the text before the JSON object: ["),
    ("trailing commas", '{"kind": "heat pump", "coldest": -25, "names": ["Borea",],}', "removed trailing commas"),
    ("response twice", f"{body()}\n{body()}", "removed the text after the JSON object"),
    ("response again and again", f"{body()}\n{body()}\n{body()[:12]}", "removed the text after the JSON object"),
]


@pytest.mark.parametrize(("given", "sentence"), [each[1:] for each in SYNTAX], ids=[each[0] for each in SYNTAX])
def test_syntax_is_repaired(given: str, sentence: str) -> None:
    repaired = repair(given, Pump)
    assert Pump.model_validate_json(repaired.text) == Pump(kind="heat pump", coldest=-25)
    assert repaired.repairs[0].startswith(sentence)


def test_a_line_break_inside_a_text_is_escaped() -> None:
    repaired = repair('{"kind": "heat pump", "coldest": -25, "price": "12\n(net)"}', Pump)
    assert Pump.model_validate_json(repaired.text).price == "12\n(net)"
    assert repaired.repairs == ("escaped the control characters inside a text",)


def test_commas_and_braces_inside_texts_are_kept() -> None:
    repaired = repair('So: {"kind": "heat pump", "coldest": -25, "price": "a,} {\\"b\\": 1,]",}', Pump)
    assert Pump.model_validate_json(repaired.text).price == 'a,} {"b": 1,]'


@pytest.mark.parametrize(
    "given",
    [
        body()[:-4],
        '{"kind": "heat pump", "coldest": -25, "parts": [{"name": "fan"}, {"name": "f',
        f"{body()}\n{body(coldest=-30)}",
        f"{body()}\n{body(coldest=-30)[:-1]}",
        body(kind="bicycle pump"),
        body(coldest="about -25"),
        body(coldest="9,412"),
        body(coldest=2.5),
        body(coldest=None),
        body(price=["12", "13"]),
        body(price={"EUR": 12}),
        body(calls=[{"tool": "drill", "url": "x"}]),
        json.dumps({"kind": "heat pump"}),
        "purple monkey dishwasher",
        "",
        "{" * 2_000,
    ],
)
def test_a_guess_is_no_repair(given: str) -> None:
    repaired = repair(given, Pump)
    assert not repaired.valid
    assert repaired.repairs == ()


def test_a_part_of_an_incomplete_response_is_not_taken_for_it() -> None:
    class Open(BaseModel):
        name: str = ""

    assert not repair('{"answer": {"name": "fan"}, "more": [{"name": "bolt"', Open).valid


def test_two_unknown_fields_of_similar_names_are_dropped() -> None:
    repaired = repair(body(Names="a", name="b"), Pump)
    assert Pump.model_validate_json(repaired.text).names == ["Borea"]
    assert len(repaired.repairs) == 2


def test_a_valid_response_is_unchanged() -> None:
    given = f" {body(coldest='-25')}\n"
    assert repair(given, Pump) == (given, (), True, "")


def test_faults_that_remain_are_the_only_ones_reported() -> None:
    repaired = repair(body(kind="bicycle pump", note="cold"), Pump)
    assert json.loads(repaired.text) == json.loads(body(kind="bicycle pump"))


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    value: Protocol = request.param
    return value


async def ask(endpoint: ScriptedEndpoint, protocol: Protocol) -> Completion[Pump]:
    return await build_llm(endpoint.settings(protocol)).complete(QUESTION, Pump)


async def test_a_repaired_response_costs_one_call(protocol: Protocol) -> None:
    published: list[Any] = []

    async def publish(event: Any) -> Any:
        published.append(event)

    with ScriptedEndpoint(always(replies.wrap_in_prose(body(note="cold")))) as endpoint:
        llm = RunLLM(build_llm(endpoint.settings(protocol)), RunCalls(), "Guide", publish=publish)
        completion = await llm.complete(QUESTION, Pump)
    assert completion.value.coldest == -25
    assert completion.usage.model_calls == len(endpoint.requests) == 1
    (exchange,) = completion.exchanges
    assert exchange.fault == ""
    assert exchange.repairs[-1] == "dropped the unknown field 'note'"
    asked, repaired, called = published
    assert (asked.type, called.type, called.faults) == ("model_asked", "model_called", ())
    assert repaired == ResponseRepaired(caller="Guide", repairs=exchange.repairs)


async def test_a_retry_names_only_what_was_not_repaired(protocol: Protocol) -> None:
    with ScriptedEndpoint(in_turn(body(kind="bicycle pump", note="cold"), body())) as endpoint:
        completion = await ask(endpoint, protocol)
    correction = endpoint.requests[1].messages[-1]["content"]
    assert "kind" in correction
    assert "note" not in correction
    assert [exchange.repairs for exchange in completion.exchanges] == [(), ()]


@pytest.mark.parametrize(
    ("text", "thinking"),
    [
        (f"<think>\nBrr.\n</think>\n{body()}", "Brr."),
        (f"<thinking>Brr.</thinking>{body()}", "Brr."),
        (f"<think>Brr.</think>\n<think>Cold.</think>\n{body()}", "Brr.\nCold."),
        (f"```json\n<think>Brr.</think>\n{body()}\n```", "Brr."),
        (f"Brr.</think>\n```json\n{body()}\n```", "Brr."),
        (f"<think>Brr {{cold}}.\n{body()}", "Brr {cold}."),
        (f"<think>Brr.\n```json\n{body()}\n```", "Brr.\n```json"),
    ],
    ids=["tags", "other tag", "two thoughts", "inside a fence", "no opening tag", "no end tag", "no end tag, fence"],
)
async def test_thinking_is_separated(protocol: Protocol, text: str, thinking: str) -> None:
    with ScriptedEndpoint(always(text)) as endpoint:
        completion = await ask(endpoint, protocol)
    assert completion.value.coldest == -25
    assert completion.usage.model_calls == 1
    assert completion.exchanges[0].thinking == thinking


DRAFT = body(coldest=1)
MARKED = [
    f"<THINK>{DRAFT}</THINK>{body()}",
    f"[THINK]{DRAFT}[/THINK]{body()}",
    f"◁think▷{DRAFT}◁/think▷{body()}",
    f"<seed:think>{DRAFT}</seed:think>{body()}",
    f"<reasoning>{DRAFT}</reasoning><answer>{body()}</answer>",
    f"<|think|>{DRAFT}<|/think|>{body()}",
    f"<chain_of_thought>{DRAFT}</chain_of_thought>{body()}",
    f"<inner_monologue>{DRAFT}</inner_monologue>{body()}",
    f"<思考>{DRAFT}</思考>{body()}",
    f"<think>Brr <think>{DRAFT}</think> or {DRAFT}</think>{body()}",
    f"<unused94>thought\n{DRAFT}<unused95>{body()}",
    f"Sure.\n<thought>{DRAFT}</thought>\n{body()}",
    f"<|begin_of_thought|>{DRAFT}<|end_of_thought|><|begin_of_solution|>{body()}<|end_of_solution|>",
    f"<|START_THINKING|>{DRAFT}<|END_THINKING|><|START_RESPONSE|>{body()}<|END_RESPONSE|>",
    f"<|inner_prefix|>{DRAFT}<|inner_suffix|>{body()}",
    f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{body()}<|return|>",
    f"<|channel|>analysis<|message|>Brr<|end|><|start|>assistant<|channel|>commentary to=user<|message|>{DRAFT}<|end|>"
    f"<|start|>assistant<|channel|>final <|constrain|>json<|message|>{body()}",
    f"<|channel>thought\n{DRAFT}<channel|>{body()}",
    f"analysisWe could say {DRAFT}assistantfinal{body()}",
    f"Not {DRAFT}.[/THINK]{body()}",
    f"Perhaps {DRAFT}?\n</reasoning>\n{body()}",
]


@pytest.mark.parametrize("text", MARKED)
async def test_a_draft_in_the_thinking_is_no_answer(protocol: Protocol, text: str) -> None:
    with ScriptedEndpoint(always(text)) as endpoint:
        completion = await ask(endpoint, protocol)
    assert completion.value.coldest == -25
    assert completion.usage.model_calls == 1


@pytest.mark.parametrize("text", ["[THINK]{}[/THINK]The answer is minus 25.", "<think>Perhaps {}</think>"])
async def test_a_draft_without_an_answer_is_no_answer(protocol: Protocol, text: str) -> None:
    with ScriptedEndpoint(in_turn(text.format(DRAFT), body())) as endpoint:
        completion = await ask(endpoint, protocol)
    assert completion.value.coldest == -25
    assert completion.usage.model_calls == 2


async def test_thinking_that_never_ends_is_no_response(protocol: Protocol) -> None:
    endless = Reply(text=f"<think>Perhaps {body()}, or else")
    with ScriptedEndpoint(in_turn(endless, body())) as endpoint:
        completion = await ask(endpoint, protocol)
    assert completion.usage.model_calls == 2
    assert completion.exchanges[0].response == ""


def test_deeply_nested_json_is_not_repaired() -> None:
    assert not repair('{"kind": ' + "[" * 5_000 + "]" * 5_000 + "}", Pump).valid


def test_text_that_is_still_being_written_is_read_in_linear_time() -> None:
    started = time.process_time()
    for text in ("<think>" + "Is it a pump? " * 50_000, "Is it a pump? " * 50_000):
        partial_answer(text)
    assert time.process_time() - started < 0.04, "before, 0.13 s for each part of a stream"
