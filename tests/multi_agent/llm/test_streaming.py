"""Streamed responses, through OpenAI's and through Ollama's protocol."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from multi_agent.errors import InvalidResponse, LLMError, LLMRateLimited, LLMRefused, LLMTimeout, LLMUnavailable
from multi_agent.llm.endpoints.memory import FORMS
from multi_agent.llm.models import build_llm
from multi_agent.llm.probe import check
from multi_agent.llm.wrappers.journal import RecordedJournal, RunCalls, RunLLM
from multi_agent.model import Completion, Message
from support import replies
from support.replies import PROTOCOLS, Ending, Protocol, Reply, Request, always, in_pieces, in_turn, say
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S, advance_clock, wait_for

PUMP = '{"kind": "heat pump", "coldest": -25}'
QUESTION = [Message.system("You know pumps."), Message.user("Which pump works below -20 °C?")]


class Pump(BaseModel):
    """A pump."""

    kind: Literal["heat pump", "well pump"]
    coldest: int


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    value: Protocol = request.param
    return value


class Collector:
    """Collects the streamed texts, in a new list whenever the response starts over."""

    def __init__(self) -> None:
        self.attempts: list[list[str]] = []
        self.received = asyncio.Event()

    async def on_text(self, text: str) -> None:
        if not self.attempts or len(text) < len(self.attempts[-1][-1]):
            self.attempts.append([])
        self.attempts[-1].append(text)
        if text:
            self.received.set()

    @property
    def last(self) -> str:
        return self.attempts[-1][-1]


async def stream(endpoint: ScriptedEndpoint, protocol: Protocol, **settings: Any) -> tuple[Collector, Completion[Pump]]:
    collector = Collector()
    llm = build_llm(endpoint.settings(protocol, **settings))
    return collector, await llm.complete(QUESTION, Pump, on_text=collector.on_text)


async def fault(reply: Reply, protocol: Protocol, **settings: Any) -> tuple[LLMError, Collector]:
    collector = Collector()
    with ScriptedEndpoint(always(reply)) as endpoint, pytest.raises(LLMError) as caught:
        await build_llm(endpoint.settings(protocol, **{"retries": 0, **settings})).complete(
            QUESTION, Pump, on_text=collector.on_text
        )
    return caught.value, collector


async def test_every_call_gets_the_whole_text_so_far(protocol: Protocol) -> None:
    with ScriptedEndpoint(always(in_pieces(PUMP, 10))) as endpoint:
        collector, completion = await stream(endpoint, protocol)
    assert collector.attempts == [["", PUMP[:10], PUMP[:20], PUMP[:30], PUMP]]
    assert completion.value == Pump(kind="heat pump", coldest=-25)
    assert completion.exchanges[0].response == PUMP


async def test_text_arrives_before_the_response_ends(protocol: Protocol) -> None:
    collector = Collector()
    with ScriptedEndpoint(always(in_pieces(PUMP, 10, ending="silent"))) as endpoint:
        llm = build_llm(endpoint.settings(protocol))
        call = asyncio.create_task(llm.complete(QUESTION, Pump, on_text=collector.on_text))
        async with asyncio.timeout(LIMIT_S):
            await collector.received.wait()
        assert not call.done()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await wait_for(lambda: endpoint.requests[0].abandoned)


async def test_request_and_usage_are_the_same_without_streaming(protocol: Protocol) -> None:
    with ScriptedEndpoint(always(say(PUMP, prompt_tokens=2_000, completion_tokens=500))) as endpoint:
        settings = endpoint.settings(protocol, prompt_price=1.0, completion_price=4.0)
        silent = await build_llm(settings).complete(QUESTION, Pump)
        heard = await build_llm(settings).complete(QUESTION, Pump, on_text=Collector().on_text)
    assert heard.usage.model_copy(update={"seconds": 0}) == silent.usage.model_copy(update={"seconds": 0})
    assert heard.usage.cost == pytest.approx(0.004)
    first, second = (request.body for request in endpoint.requests)
    assert {name for name in second if second.get(name) != first.get(name)} <= {"stream", "stream_options"}
    assert second["stream"] is True


@pytest.mark.parametrize(
    "reply",
    [replies.think_aloud(PUMP, "Brr {cold}."), say(PUMP, thinking="Brr {cold}."), replies.fence(PUMP)],
    ids=["thinking tags", "thinking field", "Markdown fence"],
)
async def test_thinking_and_fences_are_not_streamed(protocol: Protocol, reply: Reply) -> None:
    pieces = in_pieces(reply.text, 3)
    with ScriptedEndpoint(always(Reply(text=pieces.text, cut=3, thinking=reply.thinking))) as endpoint:
        collector, completion = await stream(endpoint, protocol)
    assert all(PUMP.startswith(text.rstrip("`\n")) for text in collector.attempts[-1] if text.startswith("{"))
    assert collector.last.startswith(PUMP)
    thought = completion.exchanges[0].thinking
    assert thought == ("" if "`" in reply.text else "Brr {cold}.")


async def test_a_retry_starts_the_text_over(protocol: Protocol) -> None:
    wrong = PUMP.replace("heat pump", "bicycle pump")
    with ScriptedEndpoint(in_turn(in_pieces(wrong, 10), in_pieces(PUMP, 10))) as endpoint:
        collector, completion = await stream(endpoint, protocol)
    assert [texts[-1] for texts in collector.attempts] == [wrong, PUMP]
    assert len(completion.exchanges) == 2
    assert completion.usage.model_calls == 2


async def test_an_empty_stream_is_an_error(protocol: Protocol) -> None:
    kind = "text/event-stream" if protocol == "openai" else "application/x-ndjson"
    error, _ = await fault(replies.raw("", kind), protocol)
    assert type(error) is LLMUnavailable


@pytest.mark.parametrize("ending", ["early", "dropped", "failed"])
async def test_an_interrupted_stream_is_retried(protocol: Protocol, ending: Ending) -> None:
    broken = in_pieces(PUMP, 10, keep=0.5, ending=ending)
    with ScriptedEndpoint(in_turn(broken, in_pieces(PUMP, 10))) as endpoint:
        collector, completion = await stream(endpoint, protocol)
    assert [texts[-1] for texts in collector.attempts] == [broken.text, PUMP]
    assert completion.value.coldest == -25
    error, _ = await fault(broken, protocol)
    assert type(error) is LLMUnavailable
    assert "scripted" in str(error)


async def test_a_malformed_part_is_not_retried(protocol: Protocol) -> None:
    error, collector = await fault(in_pieces(PUMP, 10, keep=0.6, ending="garbled"), protocol, retries=3)
    assert type(error) is LLMRefused
    assert "does not use the protocol" in str(error)
    assert len(collector.attempts) == 1


@pytest.mark.parametrize(
    "chunk",
    [
        "[]",
        "{}",
        '{"choices": "none"}',
        '{"choices": ["text"]}',
        '{"choices": [{"delta": "text"}]}',
        '{"choices": [{"delta": {"content": 5}}]}',
        '{"choices": [{"delta": {"tool_calls": [{"function": "call"}]}}]}',
        '{"choices": [], "usage": {"prompt_tokens": "many"}}',
    ],
)
async def test_a_chunk_with_wrong_types_is_an_error(chunk: str) -> None:
    error, _ = await fault(replies.raw(f"data: {chunk}\n\n", "text/event-stream"), "openai")
    assert type(error) is LLMRefused
    assert "does not use the protocol" in str(error)


async def test_a_last_choice_may_have_no_delta() -> None:
    chunks = (
        {"choices": [{"delta": {"content": PUMP}}]},
        {"choices": [{"finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}},
    )
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    with ScriptedEndpoint(always(replies.raw(body, "text/event-stream"))) as endpoint:
        _, completion = await stream(endpoint, "openai")
    assert completion.value.coldest == -25


async def test_streams_share_a_connection(protocol: Protocol) -> None:
    with ScriptedEndpoint(always(in_pieces(PUMP, 10))) as endpoint:
        llm = build_llm(endpoint.settings(protocol))
        for _ in range(3):
            await llm.complete(QUESTION, Pump, on_text=Collector().on_text)
    assert len(endpoint.requests) == 3
    assert len(endpoint.connections) == 1


async def test_a_response_that_does_not_end_after_its_last_event_costs_only_its_connection() -> None:
    with ScriptedEndpoint(always(in_pieces(PUMP, 10, ending="endless"))) as endpoint:
        llm = build_llm(endpoint.settings("openai"))
        for _ in range(2):
            completion = await llm.complete(QUESTION, Pump, on_text=Collector().on_text)
            assert completion.value.coldest == -25
    assert len(endpoint.connections) == 2


async def test_a_silent_stream_times_out(protocol: Protocol) -> None:
    collector = Collector()
    with ScriptedEndpoint(always(in_pieces(PUMP, 10, ending="silent"))) as endpoint:
        llm = build_llm(endpoint.settings(protocol, retries=0, timeout_s=300))
        call = asyncio.create_task(llm.complete(QUESTION, Pump, on_text=collector.on_text))
        await wait_for(lambda: collector.attempts and PUMP in collector.attempts[-1])
        advance_clock(300)
        with pytest.raises(LLMTimeout):
            await call


async def test_text_starts_the_time_limit_again(protocol: Protocol) -> None:
    collector, loop = Collector(), asyncio.get_running_loop()
    measure, waited = loop.time, [0.0]
    loop.time = lambda: measure() + sum(waited)  # type: ignore[method-assign]

    async def on_text(text: str) -> None:
        await collector.on_text(text)
        waited.append(LIMIT_S / 2)

    with ScriptedEndpoint(always(in_pieces(PUMP, 4, pause=0.01))) as endpoint:
        llm = build_llm(endpoint.settings(protocol, timeout_s=LIMIT_S, retries=0))
        await llm.complete(QUESTION, Pump, on_text=on_text)
    assert len(collector.attempts[-1]) > 3, "together, the pieces take longer than the limit"
    error, collector = await fault(in_pieces(PUMP, 4, pause=0.3), protocol, timeout_s=LIMIT_S, total_timeout_s=1)
    assert type(error) is LLMTimeout
    assert "CANDOR_LLM__TOTAL_TIMEOUT_S" in str(error)
    assert PUMP.startswith(collector.last)


async def test_the_output_limit_is_an_error(protocol: Protocol) -> None:
    error, collector = await fault(replies.truncate(PUMP), protocol)
    assert type(error) is InvalidResponse
    assert "CANDOR_LLM__MAX_OUTPUT_TOKENS" in str(error)
    assert error.exchanges[0].response == collector.last == PUMP[: len(PUMP) // 2]


@pytest.mark.parametrize(
    ("reply", "kind", "named"),
    [
        (replies.unauthorised(), LLMRefused, "CANDOR_LLM__API_KEY"),
        (replies.rate_limited(120), LLMRateLimited, "120 s"),
        (replies.server_error(), LLMUnavailable, "the runner has terminated"),
        (replies.drop(), LLMUnavailable, "broke before the response was complete"),
    ],
    ids=["wrong key", "rate limit", "server error", "dropped"],
)
async def test_an_error_before_the_stream_is_the_same_without_one(
    protocol: Protocol, reply: Reply, kind: type[LLMError], named: str
) -> None:
    error, collector = await fault(reply, protocol)
    assert type(error) is kind
    assert named in str(error)
    assert collector.attempts == [[""]]


async def test_a_refusal_is_streamed() -> None:
    error, collector = await fault(replies.refuse("I would rather not."), "openai", response_retries=0)
    assert type(error) is InvalidResponse
    assert collector.last == error.exchanges[0].response == "I would rather not."


async def test_a_web_page_instead_of_a_stream_is_an_error(protocol: Protocol) -> None:
    error, _ = await fault(replies.raw("<html>Welcome!</html>"), protocol)
    assert type(error) is LLMRefused
    assert "does not use the protocol" in str(error)
    assert "CANDOR_LLM__BASE_URL" in str(error)


class TestEndpointWithoutStreaming:
    """The error names the setting that turns streaming off."""

    def refuses_streams(self, request: Request) -> Reply | str:
        return replies.fail(400, "stream_options is not supported") if request.body.get("stream") else PUMP

    @pytest.mark.parametrize("reply", ["refused", "uncounted", "whole"])
    async def test_error_names_the_setting(self, reply: str) -> None:
        whole = replies.raw(
            '{"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]}', "application/json"
        )
        by_name = {"uncounted": in_pieces(PUMP, ending="uncounted"), "whole": whole}
        responder = always(by_name[reply]) if reply in by_name else self.refuses_streams
        with ScriptedEndpoint(responder) as endpoint, pytest.raises(LLMRefused, match=r"CANDOR_LLM__STREAM .* false"):
            await stream(endpoint, "openai")
        assert len(endpoint.requests) == (len(FORMS) if reply == "refused" else 1), "another form of the schema may do"

    async def test_the_setting_requests_whole_responses(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(self.refuses_streams) as endpoint:
            collector, completion = await stream(endpoint, protocol, stream=False)
        assert completion.value.coldest == -25
        assert collector.attempts == []
        assert not endpoint.requests[0].body.get("stream")

    async def test_the_doctor_finds_it(self) -> None:
        colour = '{"colour": "green", "certain": true}'
        with ScriptedEndpoint(
            lambda request: self.refuses_streams(request) if request.body.get("stream") else colour
        ) as endpoint:
            refused = (await check(endpoint.settings("openai")))[-1]
            whole = (await check(endpoint.settings("openai", stream=False)))[-3]
        assert not refused.ok
        assert "CANDOR_LLM__STREAM" in refused.remedy
        assert whole.ok
        assert whole.detail.endswith("not streamed (setting)")


async def test_a_journaled_response_is_not_streamed(tmp_path: Path) -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(always(in_pieces(PUMP, 10))) as endpoint:
        llm = build_llm(endpoint.settings("openai"))
        first, again = Collector(), Collector()
        await RunLLM(llm, RunCalls(journal)).complete(QUESTION, Pump, on_text=first.on_text)
        replayed = await RunLLM(llm, RunCalls(journal)).complete(QUESTION, Pump, on_text=again.on_text)
    assert first.last == PUMP
    assert replayed.replayed
    assert again.attempts == []
    assert journal.entries[0].exchanges[0].response == PUMP
    assert len(endpoint.requests) == 1
