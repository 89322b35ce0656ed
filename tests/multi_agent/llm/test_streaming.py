"""A response that is heard while it is written, through OpenAI's protocol and through Ollama's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from multi_agent.errors import InvalidResponse, LLMError, LLMRateLimited, LLMRefused, LLMTimeout, LLMUnavailable
from multi_agent.llm.factory import build_llm
from multi_agent.llm.journal import JournalingLLM, RecordedJournal
from multi_agent.llm.llm import Completion, Message
from multi_agent.llm.probe import check
from support import scripted_endpoint as scripted
from support.scripted_endpoint import (
    PROTOCOLS,
    Ending,
    Protocol,
    Reply,
    Request,
    ScriptedEndpoint,
    always,
    in_pieces,
    in_turn,
    say,
)

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


class Listener:
    """Keeps what it is told, each time that the text begins anew in a list of its own."""

    def __init__(self) -> None:
        self.tries: list[list[str]] = []
        self.heard = asyncio.Event()

    async def on_text(self, text: str) -> None:
        if not self.tries or len(text) < len(self.tries[-1][-1]):
            self.tries.append([])
        self.tries[-1].append(text)
        if text:
            self.heard.set()

    @property
    def last(self) -> str:
        return self.tries[-1][-1]


async def listen(endpoint: ScriptedEndpoint, protocol: Protocol, **settings: Any) -> tuple[Listener, Completion[Pump]]:
    listener = Listener()
    llm = build_llm(endpoint.settings(protocol, **settings))
    return listener, await llm.complete(QUESTION, Pump, on_text=listener.on_text)


async def fault(reply: Reply, protocol: Protocol, **settings: Any) -> tuple[LLMError, Listener]:
    listener = Listener()
    with ScriptedEndpoint(always(reply)) as endpoint, pytest.raises(LLMError) as caught:
        await build_llm(endpoint.settings(protocol, **{"retries": 0, **settings})).complete(
            QUESTION, Pump, on_text=listener.on_text
        )
    return caught.value, listener


async def test_each_time_the_text_is_told_as_far_as_it_goes(protocol: Protocol) -> None:
    with ScriptedEndpoint(always(in_pieces(PUMP, 10))) as endpoint:
        listener, completion = await listen(endpoint, protocol)
    assert listener.tries == [["", PUMP[:10], PUMP[:20], PUMP[:30], PUMP]]
    assert completion.value == Pump(kind="heat pump", coldest=-25)
    assert completion.exchanges[0].response == PUMP


async def test_it_is_told_before_the_response_has_ended(protocol: Protocol) -> None:
    listener = Listener()
    with ScriptedEndpoint(always(in_pieces(PUMP, 10, ending="silent"))) as endpoint:
        llm = build_llm(endpoint.settings(protocol))
        call = asyncio.create_task(llm.complete(QUESTION, Pump, on_text=listener.on_text))
        async with asyncio.timeout(30):
            await listener.heard.wait()
        assert not call.done()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        while not endpoint.requests[0].abandoned:  # noqa: ASYNC110 - it is told in the server's thread
            await asyncio.sleep(0.01)


async def test_the_same_is_asked_as_without_it_and_counted_the_same(protocol: Protocol) -> None:
    with ScriptedEndpoint(always(say(PUMP, prompt_tokens=2_000, completion_tokens=500))) as endpoint:
        settings = endpoint.settings(protocol, prompt_price=1.0, completion_price=4.0)
        silent = await build_llm(settings).complete(QUESTION, Pump)
        heard = await build_llm(settings).complete(QUESTION, Pump, on_text=Listener().on_text)
    assert heard.usage.model_copy(update={"seconds": 0}) == silent.usage.model_copy(update={"seconds": 0})
    assert heard.usage.cost == pytest.approx(0.004)
    first, second = (request.body for request in endpoint.requests)
    assert {name for name in second if second.get(name) != first.get(name)} <= {"stream", "stream_options"}
    assert second["stream"] is True


@pytest.mark.parametrize(
    "reply",
    [scripted.think_aloud(PUMP, "Brr {cold}."), say(PUMP, thinking="Brr {cold}."), scripted.fence(PUMP)],
    ids=["thinking between marks", "thinking in a field of its own", "a Markdown fence"],
)
async def test_what_is_no_part_of_the_answer_is_not_told(protocol: Protocol, reply: Reply) -> None:
    pieces = in_pieces(reply.text, 3)
    with ScriptedEndpoint(always(Reply(text=pieces.text, cut=3, thinking=reply.thinking))) as endpoint:
        listener, completion = await listen(endpoint, protocol)
    assert all(PUMP.startswith(text.rstrip("`\n")) for text in listener.tries[-1] if text.startswith("{"))
    assert listener.last.startswith(PUMP)
    thought = completion.exchanges[0].thinking
    assert thought == ("" if "`" in reply.text else "Brr {cold}.")


async def test_a_response_that_is_not_accepted_is_followed_by_one_from_the_beginning(protocol: Protocol) -> None:
    wrong = PUMP.replace("heat pump", "bicycle pump")
    with ScriptedEndpoint(in_turn(in_pieces(wrong, 10), in_pieces(PUMP, 10))) as endpoint:
        listener, completion = await listen(endpoint, protocol)
    assert [texts[-1] for texts in listener.tries] == [wrong, PUMP]
    assert len(completion.exchanges) == 2
    assert completion.usage.model_calls == 2


async def test_a_stream_of_nothing_broke_off(protocol: Protocol) -> None:
    kind = "text/event-stream" if protocol == "openai" else "application/x-ndjson"
    error, _ = await fault(scripted.raw("", kind), protocol)
    assert type(error) is LLMUnavailable


@pytest.mark.parametrize("ending", ["early", "dropped", "failed"])
async def test_a_stream_that_breaks_off_is_asked_for_again(protocol: Protocol, ending: Ending) -> None:
    broken = in_pieces(PUMP, 10, keep=0.5, ending=ending)
    with ScriptedEndpoint(in_turn(broken, in_pieces(PUMP, 10))) as endpoint:
        listener, completion = await listen(endpoint, protocol)
    assert [texts[-1] for texts in listener.tries] == [broken.text, PUMP]
    assert completion.value.coldest == -25
    error, _ = await fault(broken, protocol)
    assert type(error) is LLMUnavailable
    assert "scripted" in str(error)


async def test_a_malformed_piece_is_named_and_not_asked_for_again(protocol: Protocol) -> None:
    error, listener = await fault(in_pieces(PUMP, 10, keep=0.6, ending="garbled"), protocol, retries=3)
    assert type(error) is LLMRefused
    assert "does not speak the protocol" in str(error)
    assert len(listener.tries) == 1


async def test_a_stream_that_falls_silent_takes_no_longer_than_any_other_request(protocol: Protocol) -> None:
    error, listener = await fault(in_pieces(PUMP, 10, ending="silent"), protocol, timeout_s=0.5)
    assert type(error) is LLMTimeout
    assert listener.last == PUMP


async def test_a_response_cut_at_the_output_limit_is_an_error_as_ever(protocol: Protocol) -> None:
    error, listener = await fault(scripted.truncate(PUMP), protocol)
    assert type(error) is InvalidResponse
    assert "CANDOR_LLM__MAX_OUTPUT_TOKENS" in str(error)
    assert error.exchanges[0].response == listener.last == PUMP[: len(PUMP) // 2]


@pytest.mark.parametrize(
    ("reply", "kind", "named"),
    [
        (scripted.unauthorised(), LLMRefused, "CANDOR_LLM__API_KEY"),
        (scripted.rate_limited(120), LLMRateLimited, "120 s"),
        (scripted.server_error(), LLMUnavailable, "the runner has terminated"),
        (scripted.drop(), LLMUnavailable, "broke before the response was complete"),
    ],
    ids=["wrong key", "too many requests", "server error", "no word at all"],
)
async def test_a_fault_before_the_stream_is_what_it_is_without_one(
    protocol: Protocol, reply: Reply, kind: type[LLMError], named: str
) -> None:
    error, listener = await fault(reply, protocol)
    assert type(error) is kind
    assert named in str(error)
    assert listener.tries == [[""]]


async def test_a_model_that_declines_is_heard() -> None:
    error, listener = await fault(scripted.refuse("I would rather not."), "openai", response_retries=0)
    assert type(error) is InvalidResponse
    assert listener.last == error.exchanges[0].response == "I would rather not."


async def test_a_page_in_place_of_a_stream_is_named(protocol: Protocol) -> None:
    error, _ = await fault(scripted.raw("<html>Welcome!</html>"), protocol)
    assert type(error) is LLMRefused
    assert "does not speak the protocol" in str(error)
    assert "CANDOR_LLM__BASE_URL" in str(error)


class TestAnEndpointThatCannotStreamAsIsNeeded:
    """The setting that helps is named; nothing is done without it."""

    def refuses_streams(self, request: Request) -> Reply | str:
        return scripted.fail(400, "stream_options is not supported") if request.body.get("stream") else PUMP

    @pytest.mark.parametrize("reply", ["refused", "uncounted", "whole"])
    async def test_is_told_of_with_the_setting(self, reply: str) -> None:
        whole = scripted.raw(
            '{"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]}', "application/json"
        )
        replies = {"uncounted": in_pieces(PUMP, ending="uncounted"), "whole": whole}
        responder = always(replies[reply]) if reply in replies else self.refuses_streams
        with ScriptedEndpoint(responder) as endpoint, pytest.raises(LLMRefused, match=r"CANDOR_LLM__STREAM .* false"):
            await listen(endpoint, "openai")
        assert len(endpoint.requests) == 1

    async def test_is_asked_for_whole_responses_by_that_setting(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(self.refuses_streams) as endpoint:
            listener, completion = await listen(endpoint, protocol, stream=False)
        assert completion.value.coldest == -25
        assert listener.tries == []
        assert not endpoint.requests[0].body.get("stream")

    async def test_is_found_by_the_doctor(self) -> None:
        colour = '{"colour": "green", "certain": true}'
        with ScriptedEndpoint(
            lambda request: self.refuses_streams(request) if request.body.get("stream") else colour
        ) as endpoint:
            refused = (await check(endpoint.settings("openai")))[-1]
            whole = (await check(endpoint.settings("openai", stream=False)))[-1]
        assert not refused.ok
        assert "CANDOR_LLM__STREAM" in refused.remedy
        assert whole.ok
        assert whole.detail.endswith("not streamed, by the settings")


async def test_a_response_of_the_journal_is_told_nothing_of(tmp_path: Path) -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(always(in_pieces(PUMP, 10))) as endpoint:
        llm = build_llm(endpoint.settings("openai"))
        first, again = Listener(), Listener()
        await JournalingLLM(llm, journal).complete(QUESTION, Pump, on_text=first.on_text)
        replayed = await JournalingLLM(llm, journal).complete(QUESTION, Pump, on_text=again.on_text)
    assert first.last == PUMP
    assert replayed.replayed
    assert again.tries == []
    assert journal.entries[0].exchanges[0].response == PUMP
    assert len(endpoint.requests) == 1
