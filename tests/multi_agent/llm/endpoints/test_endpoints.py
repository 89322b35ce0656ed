"""The contract of an LLM: every test runs through OpenAI's and through Ollama's protocol."""

from __future__ import annotations

import asyncio
import socket
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from multi_agent.errors import (
    InvalidResponse,
    LLMError,
    LLMRateLimited,
    LLMRefused,
    LLMTimeout,
    LLMUnavailable,
    LLMUnreachable,
    PromptTooLong,
)
from multi_agent.llm.endpoint import EndpointRequest
from multi_agent.llm.endpoints.memory import EndpointMemory
from multi_agent.llm.endpoints.ollama_native import OllamaNative
from multi_agent.llm.models import build_client, build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.wrappers.journal import RunCalls, RunLLM
from multi_agent.llm.wrappers.requests import RetryingEndpoint
from multi_agent.model import LLM, Message
from support import replies
from support.replies import PROTOCOLS, Protocol, Reply, Request, always, in_turn, say
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import advance_clock, wait_for
from vectorstore.settings import DEFAULT_URLS

PUMP = '{"kind": "heat pump", "coldest": -25}'
QUESTION = [Message.system("You know pumps."), Message.user("Which pump works below -20 °C?")]


class Pump(BaseModel):
    """A pump."""

    kind: Literal["heat pump", "well pump"]
    coldest: int = Field(description="lowest temperature it works at, in °C")


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    value: Protocol = request.param
    return value


async def ask(endpoint: ScriptedEndpoint, protocol: Protocol, **settings: Any) -> Pump:
    return (await build_llm(endpoint.settings(protocol, **settings)).complete(QUESTION, Pump)).value


async def fault(endpoint: ScriptedEndpoint, protocol: Protocol, **settings: Any) -> LLMError:
    with pytest.raises(LLMError) as caught:
        await ask(endpoint, protocol, **settings)
    return caught.value


class TestResponse:
    async def test_has_the_requested_type(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(PUMP)) as endpoint:
            pump = await ask(endpoint, protocol)
        assert pump == Pump(kind="heat pump", coldest=-25)
        assert type(pump) is Pump

    async def test_has_usage_and_cost(self, protocol: Protocol) -> None:
        reply = replies.delayed(say(PUMP, prompt_tokens=2_000, completion_tokens=500), 0.1)
        with ScriptedEndpoint(always(reply)) as endpoint:
            settings = endpoint.settings(protocol, prompt_price=1.0, completion_price=4.0)
            usage = (await build_llm(settings).complete(QUESTION, Pump)).usage
        assert (usage.model_calls, usage.prompt_tokens, usage.completion_tokens) == (1, 2_000, 500)
        assert usage.cost == pytest.approx(0.004)
        assert usage.seconds >= 0.1

    @pytest.mark.parametrize("in_timings", [False, True], ids=["usage", "timings of llama.cpp"])
    @pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
    async def test_has_the_tokens_from_the_cache(self, in_timings: bool, streamed: bool) -> None:
        async def on_text(_: str) -> None:
            pass

        reply = Reply(text=PUMP, prompt_tokens=400, cached_tokens=300, cached_in_timings=in_timings)
        with ScriptedEndpoint(always(reply)) as endpoint:
            llm = build_llm(endpoint.settings("openai"))
            usage = (await llm.complete(QUESTION, Pump, on_text=on_text if streamed else None)).usage
        assert usage.cached_tokens == 300
        assert (usage + usage).describe_tokens() == "820 tokens (75% of the prompts from cache)"

    async def test_may_be_in_a_markdown_fence(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(replies.fence(PUMP))) as endpoint:
            assert (await ask(endpoint, protocol, response_retries=0)).coldest == -25

    @pytest.mark.parametrize(
        "reply",
        [
            replies.think_aloud(PUMP, "Brr, cold."),
            say(PUMP, thinking="Brr, cold."),
            say(f"Brr, cold.\n</think>\n{PUMP}"),
        ],
        ids=["between tags", "separate field", "missing opening tag"],
    )
    async def test_thinking_is_separated(self, protocol: Protocol, reply: Reply) -> None:
        with ScriptedEndpoint(always(reply)) as endpoint:
            completion = await build_llm(endpoint.settings(protocol, response_retries=0)).complete(QUESTION, Pump)
        assert completion.value.coldest == -25
        assert completion.exchanges[0].thinking == "Brr, cold."
        assert completion.exchanges[0].response == PUMP

    async def test_a_number_may_be_a_string(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always('{"kind": "heat pump", "coldest": "-25"}')) as endpoint:
            assert (await ask(endpoint, protocol, response_retries=0)).coldest == -25

    async def test_text_may_contain_thinking_tags(self, protocol: Protocol) -> None:
        class Quote(BaseModel):
            words: str

        with ScriptedEndpoint(always('{"words": "write </think> at the end"}')) as endpoint:
            completion = await build_llm(endpoint.settings(protocol)).complete(QUESTION, Quote)
        assert completion.value.words == "write </think> at the end"


class TestRequest:
    async def test_has_the_schema_as_constraint_and_in_the_prompt(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(PUMP)) as endpoint:
            await ask(endpoint, protocol)
        (request,) = endpoint.requests
        assert request.schema == Pump.model_json_schema()
        assert "lowest temperature it works at, in °C" in request.messages[0]["content"]
        assert request.messages[0]["content"].startswith("You know pumps.")
        assert request.messages[1] == {"role": "user", "content": "Which pump works below -20 °C?"}

    async def test_has_model_temperature_limit_and_key(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(PUMP), api_key="open sesame") as endpoint:
            await ask(endpoint, protocol, api_key="open sesame", temperature=0.25, max_output_tokens=777)
        (request,) = endpoint.requests
        assert (request.model, request.temperature, request.max_tokens) == ("scripted", 0.25, 777)

    async def test_openai_gets_max_completion_tokens(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with ScriptedEndpoint(always(PUMP)) as endpoint:
            monkeypatch.setitem(DEFAULT_URLS, "openai", endpoint.url("openai"))
            await ask(endpoint, "openai", max_output_tokens=777)
        assert endpoint.requests[0].body["max_completion_tokens"] == 777
        assert "max_tokens" not in endpoint.requests[0].body

    async def test_to_localhost_bypasses_proxies(self, protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        with ScriptedEndpoint(always(PUMP)) as endpoint:
            assert (await ask(endpoint, protocol)).coldest == -25

    async def test_omits_a_temperature_of_none(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(PUMP)) as endpoint:
            await ask(endpoint, protocol, temperature=None)
        assert endpoint.requests[0].temperature is None

    async def test_for_a_sample_uses_the_sampling_temperature(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(in_turn(replies.nonsense(), PUMP)) as endpoint:
            llm = build_llm(endpoint.settings(protocol, temperature=0.0, sampling_temperature=0.9))
            await llm.complete(QUESTION, Pump, varied=True)
            await RunLLM(llm, RunCalls(), "Guide", varied=True).complete(QUESTION, Pump)
            await llm.complete(QUESTION, Pump)
        assert [request.temperature for request in endpoint.requests] == [0.9, 0.9, 0.9, 0.0], "including the retry"

    async def test_to_ollama_always_has_num_ctx(self) -> None:
        with ScriptedEndpoint(in_turn(replies.nonsense(), replies.server_error(), PUMP)) as endpoint:
            await ask(endpoint, "ollama", context_window=9_000)
        assert [request.body["options"]["num_ctx"] for request in endpoint.requests] == [9_000] * 3

    async def test_that_is_too_long_is_not_sent(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(PUMP)) as endpoint:
            llm = build_llm(endpoint.settings(protocol, context_window=2_000, max_output_tokens=500))
            with pytest.raises(PromptTooLong, match=r"2000 tokens.*CANDOR_LLM__CONTEXT_WINDOW"):
                await llm.complete([Message.user("cold " * 3_000)], Pump)
        assert endpoint.requests == []

    async def test_for_a_correction_is_checked_for_length_too(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(" ".join(f"no JSON {at}" for at in range(300)))) as endpoint:
            error = await fault(endpoint, protocol, context_window=1_200, max_output_tokens=400)
        assert isinstance(error, PromptTooLong)
        assert len(endpoint.requests) == 1

    async def test_that_is_cancelled_closes_the_connection(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(replies.hang())) as endpoint:
            task = asyncio.create_task(ask(endpoint, protocol))
            await wait_for(lambda: endpoint.requests)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await wait_for(lambda: endpoint.requests[0].abandoned)


class TestInvalidResponse:
    @pytest.mark.parametrize(
        ("bad", "hint"),
        [
            (replies.nonsense(), "Invalid JSON"),
            (replies.empty(), "Invalid JSON"),
            (replies.break_off(PUMP), "Invalid JSON"),
            (say('{"kind": "bicycle pump", "coldest": 3}'), "kind"),
            (say('{"kind": "heat pump"}'), "coldest"),
            (Reply(text="<think>I never stop thinking"), "Invalid JSON"),
        ],
        ids=["nonsense", "empty", "broken off", "no such choice", "missing field", "only thinking"],
    )
    async def test_is_sent_back_with_its_error(self, protocol: Protocol, bad: Reply, hint: str) -> None:
        with ScriptedEndpoint(in_turn(bad, PUMP)) as endpoint:
            completion = await build_llm(endpoint.settings(protocol)).complete(QUESTION, Pump)
        assert completion.value.coldest == -25
        first, second = endpoint.requests
        assert second.messages[: len(first.messages)] == first.messages
        response, correction = second.messages[len(first.messages) :]
        assert (response["role"], correction["role"]) == ("assistant", "user")
        assert hint in correction["content"]
        assert [bool(exchange.fault) for exchange in completion.exchanges] == [True, False]
        assert hint in completion.exchanges[0].fault
        assert (completion.usage.model_calls, completion.usage.prompt_tokens) == (2, 200)

    async def test_error_names_model_error_and_remedy(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always('{"kind": "bicycle pump", "coldest": 3}')) as endpoint:
            error = await fault(endpoint, protocol, response_retries=2)
        assert isinstance(error, InvalidResponse)
        assert len(endpoint.requests) == 3
        for part in ("scripted", "3 attempts", "bicycle pump", "kind: Input should be", "CANDOR_LLM__MODEL"):
            assert part in str(error)
        assert error.usage.model_calls == 3
        assert len(error.exchanges) == 3

    async def test_is_final_without_retries(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(replies.nonsense())) as endpoint:
            assert isinstance(await fault(endpoint, protocol, response_retries=0), InvalidResponse)
        assert len(endpoint.requests) == 1

    async def test_error_quotes_a_refusal_of_the_model(self) -> None:
        with ScriptedEndpoint(always(replies.refuse("I cannot talk about pumps."))) as endpoint:
            error = await fault(endpoint, "openai")
        assert isinstance(error, InvalidResponse)
        assert "I cannot talk about pumps." in str(error)

    async def test_error_names_the_output_limit(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(replies.truncate(PUMP))) as endpoint:
            error = await fault(endpoint, protocol, max_output_tokens=640)
        assert isinstance(error, InvalidResponse)
        assert "CANDOR_LLM__MAX_OUTPUT_TOKENS" in str(error)
        assert "640" in str(error)
        assert error.exchanges[0].fault
        assert len(endpoint.requests) == 2, "one retry, for a shorter response"

    async def test_is_not_logged(self, protocol: Protocol, caplog: pytest.LogCaptureFixture) -> None:
        with ScriptedEndpoint(in_turn(replies.nonsense(), replies.unauthorised())) as endpoint:
            await fault(endpoint, protocol)
        assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


class TestTransportError:
    @pytest.mark.parametrize("passing", [replies.server_error(500), replies.server_error(503), replies.drop()])
    async def test_is_retried_if_transient(self, protocol: Protocol, passing: Reply) -> None:
        with ScriptedEndpoint(in_turn(passing, PUMP)) as endpoint:
            assert (await ask(endpoint, protocol)).coldest == -25
        assert len(endpoint.requests) == 2

    async def test_during_a_correction_keeps_the_conversation(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(in_turn(replies.nonsense(), replies.server_error(), PUMP)) as endpoint:
            completion = await build_llm(endpoint.settings(protocol)).complete(QUESTION, Pump)
        assert completion.usage.model_calls == 2
        assert [exchange.response for exchange in completion.exchanges] == ["purple monkey dishwasher", PUMP]
        assert endpoint.requests[1].messages == endpoint.requests[2].messages

    async def test_after_all_retries_quotes_the_endpoint(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(replies.server_error())) as endpoint:
            error = await fault(endpoint, protocol, retries=1)
        assert type(error) is LLMUnavailable
        assert "HTTP 500: the runner has terminated" in str(error)
        assert len(endpoint.requests) == 2

    async def test_names_a_broken_connection(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(replies.drop())) as endpoint:
            error = await fault(endpoint, protocol, retries=0)
        assert type(error) is LLMUnavailable
        assert "broke" in str(error)

    @pytest.mark.parametrize("form", ["seconds", "date"])
    async def test_rate_limit_waits_for_retry_after(self, protocol: Protocol, form: str) -> None:
        def limit_once(request: Request) -> Reply | str:
            # A date has whole seconds only: two seconds ahead may be little more than one.
            pause = "0.5" if form == "seconds" else formatdate(time.time() + 2, usegmt=True)
            return replies.rate_limited(pause) if request.number == 1 else PUMP

        with ScriptedEndpoint(limit_once) as endpoint:
            await ask(endpoint, protocol)
        first, second = endpoint.requests
        assert second.at - first.at >= 0.5

    async def test_rate_limit_of_an_hour_is_final(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(replies.rate_limited(3_600))) as endpoint:
            error = await fault(endpoint, protocol)
        assert isinstance(error, LLMRateLimited)
        assert "3600 s" in str(error)
        assert "CANDOR_LLM__PARALLEL" in str(error)
        assert len(endpoint.requests) == 1

    async def test_is_retried_with_growing_pauses(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(replies.server_error())) as endpoint:
            retrying = RetryingEndpoint(build_client(endpoint.settings(protocol)), 3, first_pause_s=0.1)
            with pytest.raises(LLMUnavailable):
                await retrying.send(EndpointRequest(tuple(QUESTION), Pump.model_json_schema(), None))
        at = [request.at for request in endpoint.requests]
        assert len(at) == 4
        assert at[1] - at[0] >= 0.05
        assert at[3] - at[2] >= 0.2

    @pytest.mark.parametrize("never", [replies.hang(), replies.drip()], ids=["silent", "dripping"])
    async def test_a_hanging_endpoint_times_out(self, protocol: Protocol, never: Reply) -> None:
        with ScriptedEndpoint(always(never)) as endpoint:
            failing = asyncio.create_task(fault(endpoint, protocol, timeout_s=300))
            for attempt in (1, 2):
                await wait_for(lambda attempt=attempt: len(endpoint.requests) == attempt)
                advance_clock(300)
            error = await failing
        assert isinstance(error, LLMTimeout)
        assert "300 s" in str(error)
        assert "CANDOR_LLM__TIMEOUT_S" in str(error)
        assert len(endpoint.requests) == 2, "one retry, regardless of the setting"

    async def test_an_unreachable_endpoint_is_named(self, protocol: Protocol) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            path = "/v1" if protocol == "openai" else ""
            url = f"http://127.0.0.1:{unused.getsockname()[1]}{path}"
            with pytest.raises(LLMUnreachable, match="No server answers at") as caught:
                await build_llm(EndpointSettings(provider=protocol, base_url=url)).complete(QUESTION, Pump)
        assert url in str(caught.value)
        assert "CANDOR_LLM__BASE_URL" in str(caught.value)
        assert ("ollama serve" in str(caught.value)) == (protocol == "ollama")

    async def test_names_a_wrong_protocol(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(replies.raw("<html>Welcome to nginx!</html>"))) as endpoint:
            error = await fault(endpoint, protocol)
        assert isinstance(error, LLMRefused)
        assert "does not use the protocol" in str(error)
        assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        '{"choices": []}',
        '{"choices": {"message": {"content": "{}"}}}',
        '{"choices": [null]}',
        '{"choices": [{}]}',
        '{"choices": [{"message": null}]}',
        '{"choices": [{"message": {"content": ["{}"]}}]}',
        '{"choices": [{"message": {"content": "{}"}}], "usage": "unknown"}',
    ],
)
async def test_a_response_with_wrong_types_is_an_error(body: str) -> None:
    with ScriptedEndpoint(always(replies.raw(body, "application/json"))) as endpoint:
        error = await fault(endpoint, "openai", stream=False)
    assert type(error) is LLMRefused
    assert "does not use the protocol" in str(error)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("body", ["null", "[]", '{"error": {"code": 3}}', '{"data": null, "models": null}', '"up"'])
async def test_other_json_is_no_response_and_no_list_of_models(protocol: Protocol, body: str) -> None:
    with ScriptedEndpoint(always(replies.raw(body, "application/json")), listing=body) as endpoint:
        errors = [await fault(endpoint, protocol, stream=stream) for stream in (False, True)]
        with pytest.raises(LLMRefused, match="does not use the protocol"):
            await build_client(endpoint.settings(protocol)).models()
    assert {type(error) for error in errors} <= {LLMRefused, LLMUnavailable}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "reply",
    [
        Reply(raw="", kind="text/html", status=307, headers={"Location": "?again"}),
        Reply(raw="plain", kind="application/json", headers={"Content-Encoding": "gzip"}),
    ],
    ids=["redirects", "gzip"],
)
async def test_endless_redirects_and_a_damaged_body_name_the_address(
    protocol: Protocol, reply: Reply, stream: bool
) -> None:
    with ScriptedEndpoint(always(reply)) as endpoint:
        error = await fault(endpoint, protocol, stream=stream)
    assert isinstance(error, LLMRefused)
    assert "CANDOR_LLM__BASE_URL" in str(error)


class TestRejection:
    async def test_of_the_key_names_its_setting(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(PUMP), api_key="right") as endpoint:
            error = await fault(endpoint, protocol, api_key="wrong")
        assert isinstance(error, LLMRefused)
        assert "invalid api key" in str(error)
        assert "CANDOR_LLM__API_KEY" in str(error)
        assert "wrong" not in str(error)

    async def test_of_a_key_with_other_characters_names_its_setting(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(PUMP), api_key="open sesame") as endpoint:
            await ask(endpoint, protocol, api_key=" open sesame\n")
            errors = [
                await fault(endpoint, protocol, api_key=key) for key in ("ses\u200bame", "sésame", "open\nsesame")
            ]
        assert {type(error) for error in errors} == {LLMRefused}
        assert all("CANDOR_LLM__API_KEY" in str(error) and "same" not in str(error) for error in errors)

    async def test_of_the_model_says_how_to_pull_it(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(replies.model_missing())) as endpoint:
            error = await fault(endpoint, protocol)
        assert isinstance(error, LLMRefused)
        assert "CANDOR_LLM__MODEL" in str(error)
        assert ("ollama pull scripted" in str(error)) == (protocol == "ollama")
        assert len(endpoint.requests) == 1

    async def test_quotes_the_endpoint(self, protocol: Protocol) -> None:
        with ScriptedEndpoint(always(replies.fail(400, "schemas are not my thing"))) as endpoint:
            error = await fault(endpoint, protocol)
        assert isinstance(error, LLMRefused)
        assert "schemas are not my thing" in str(error)


def test_the_llm_has_the_name_of_its_model() -> None:
    llm: LLM = build_llm(EndpointSettings(model="qwen3:4b"))
    assert llm.model == "qwen3:4b"


@pytest.mark.parametrize("content", ["", "[]", '{"http', "null"])
def test_a_damaged_file_of_findings_is_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "findings.json").write_text(content)
    memory = EndpointMemory(EndpointSettings(), tmp_path, "findings.json")
    assert memory.recall() is None
    memory.keep(True)
    assert memory.recall() is True


async def test_ollama_lists_its_models_with_and_without_the_tag_latest() -> None:
    with ScriptedEndpoint(always("unused"), models=("qwen3:8b", "small")) as server:
        listed = await OllamaNative(server.settings("ollama")).models()
    assert list(listed) == ["qwen3:8b", "small:latest", "small"]
