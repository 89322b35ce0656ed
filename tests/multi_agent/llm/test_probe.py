"""The endpoint checks of `candor doctor`, in both protocols."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel

from multi_agent.errors import LLMRefused
from multi_agent.llm import probe as probing
from multi_agent.llm.endpoints.memory import FORMS
from multi_agent.llm.models import build_llm
from multi_agent.llm.probe import Check, check
from multi_agent.llm.settings import EndpointSettings, ResponseForm
from multi_agent.model import Message
from support import replies
from support.replies import PROTOCOLS, Protocol, Reply, always, in_pieces
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S

GREEN = '{"colour": "green", "certain": true}'


class Colour(BaseModel):
    """A colour."""

    colour: Literal["red", "green", "blue"]


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    value: Protocol = request.param
    return value


@pytest.fixture(autouse=True)
def _no_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "_LISTING_TIMEOUT_S", 60)


def failed(checks: list[Check]) -> Check:
    (bad,) = [check for check in checks if not check.ok]
    return bad


async def test_all_checks_pass(protocol: Protocol) -> None:
    with ScriptedEndpoint(always(GREEN)) as endpoint:
        checks = await check(endpoint.settings(protocol))
    assert [(check.name, check.ok, check.remedy) for check in checks] == [
        ("llm endpoint", True, ""),
        ("llm model", True, ""),
        ("llm context window", True, ""),
        ("llm structured output", True, ""),
        ("llm speed", True, ""),
        ("llm pictures", True, ""),
    ]


async def test_an_unreachable_endpoint_fails(protocol: Protocol) -> None:
    url = "http://127.0.0.1:9" + ("/v1" if protocol == "openai" else "")
    checks = await check(EndpointSettings(provider=protocol, base_url=url))
    assert failed(checks).name == "llm endpoint"
    assert "No server answers" in failed(checks).remedy
    assert len(checks) == 1


async def test_a_hanging_endpoint_fails(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "_LISTING_TIMEOUT_S", 0.2)
    with ScriptedEndpoint(always(GREEN), listing_hangs=True) as endpoint:
        checks = await probing.check(endpoint.settings(protocol, timeout_s=LIMIT_S))
    assert failed(checks).name == "llm endpoint"
    assert "does not respond" in failed(checks).remedy


async def test_a_wrong_key_fails(protocol: Protocol) -> None:
    with ScriptedEndpoint(always(GREEN), api_key="right") as endpoint:
        checks = await check(endpoint.settings(protocol, api_key="wrong"))
    assert "CANDOR_LLM__API_KEY" in failed(checks).remedy


async def test_a_missing_model_fails(protocol: Protocol) -> None:
    with ScriptedEndpoint(always(GREEN), models=("llama3:8b", "gemma:2b")) as endpoint:
        checks = await check(endpoint.settings(protocol, model="qwen3:8b"))
    assert failed(checks).name == "llm model"
    assert "llama3:8b, " in failed(checks).detail
    assert ("ollama pull qwen3:8b" in failed(checks).remedy) == (protocol == "ollama")
    assert endpoint.requests == []


@pytest.mark.parametrize("server", ["Ollama", "llama.cpp", "vLLM"])
async def test_a_context_window_over_the_limit_fails(server: str) -> None:
    accepts: ResponseForm | None = "json_schema" if server == "vLLM" else None
    with ScriptedEndpoint(always(GREEN), context_length=8_192, accepts=accepts) as endpoint:
        settings = endpoint.settings("ollama" if server == "Ollama" else "openai", context_window=16_384)
        checks = await check(settings)
    assert failed(checks).name == "llm context window"
    assert "CANDOR_LLM__CONTEXT_WINDOW" in failed(checks).remedy
    assert "8192" in failed(checks).remedy


async def test_a_model_that_ignores_the_schema_fails(protocol: Protocol) -> None:
    with ScriptedEndpoint(always(replies.nonsense())) as endpoint:
        checks = await check(endpoint.settings(protocol))
    assert failed(checks).name == "llm structured output"
    assert "CANDOR_LLM__MODEL" in failed(checks).remedy
    assert len(endpoint.requests) == (len(FORMS) + 1 if protocol == "openai" else 1)


class TestResponseForm:
    """Which form of the schema an endpoint is found to follow, and what is remembered of it."""

    @pytest.mark.parametrize("form", FORMS)
    async def test_is_found_and_remembered(self, form: ResponseForm, tmp_path: Path) -> None:
        with ScriptedEndpoint(always(in_pieces(GREEN, 8)), accepts=form) as endpoint:
            settings = endpoint.settings("openai")
            checks = await check(settings, tmp_path)
            asked = len(endpoint.requests)
            await check(settings, tmp_path)
            checked = len(endpoint.requests)
            reply = await build_llm(settings, tmp_path).complete([Message.user("Which colour?")], Colour)
        assert [each.ok for each in checks] == [True] * 6
        assert f"({form}" in checks[-3].detail
        assert [f"{other} rejected" in checks[-3].detail for other in FORMS[: FORMS.index(form)]] == [
            True
        ] * FORMS.index(form)
        assert [request.form for request in endpoint.requests[asked - 4 : asked - 2]] == [form, form]
        assert reply.value.colour == "green"
        assert [request.form for request in endpoint.requests[checked:]] == [form], "one request for the question"

    async def test_a_form_that_is_ignored_is_not_used(self, tmp_path: Path) -> None:
        """The endpoint accepts every form, but enforces the schema only with ``tools``."""
        with ScriptedEndpoint(lambda request: GREEN if request.form == "tools" else "It is green.") as endpoint:
            checks = await check(endpoint.settings("openai"), tmp_path)
        assert "(tools; json_schema not followed; guided_json not followed)" in checks[-3].detail

    async def test_a_changed_endpoint_is_asked_again(self, tmp_path: Path) -> None:
        with ScriptedEndpoint(always(GREEN), accepts="guided_json") as endpoint:
            settings = endpoint.settings("openai")
            await build_llm(settings, tmp_path).complete([Message.user("Which colour?")], Colour)
            assert [request.form for request in endpoint.requests] == ["json_schema", "guided_json"]
            endpoint.accept("tools")
            llm = build_llm(settings, tmp_path)
            for _ in range(2):
                await llm.complete([Message.user("Which colour?")], Colour)
        assert [request.form for request in endpoint.requests[2:]] == ["guided_json", "json_schema", "tools", "tools"]

    async def test_the_setting_forces_a_form(self, tmp_path: Path) -> None:
        with ScriptedEndpoint(always(GREEN), accepts="json_schema") as endpoint:
            settings = endpoint.settings("openai", response_format="guided_json")
            with pytest.raises(LLMRefused, match="extra inputs"):
                await build_llm(settings, tmp_path).complete([Message.user("Which colour?")], Colour)
        assert [request.form for request in endpoint.requests] == ["guided_json"]

    async def test_another_error_tries_no_other_form(self) -> None:
        with ScriptedEndpoint(always(replies.model_missing())) as endpoint, pytest.raises(LLMRefused):
            await build_llm(endpoint.settings("openai")).complete([Message.user("Which colour?")], Colour)
        assert len(endpoint.requests) == 1


async def test_the_speed_is_measured_without_the_cached_tokens(protocol: Protocol) -> None:
    slow = Reply(text=GREEN, cut=9, pause=0.1, delay=0.5, prompt_tokens=600, completion_tokens=30)
    with ScriptedEndpoint(always(slow)) as endpoint:
        speed = (await check(endpoint.settings(protocol)))[-2]
    found = re.fullmatch(
        r"([\d.]+) prompt and ([\d.]+) completion tokens per second; a question in mode fast takes about ([\d.]+) s",
        speed.detail,
    )
    assert found
    prompt, completion, seconds = map(float, found.groups())
    assert prompt <= 600 / 0.5
    assert completion <= 30 / 0.3
    assert seconds == pytest.approx(3_000 / prompt + 130 / completion, rel=0.2)


async def test_a_local_model_is_loaded_and_measured(tmp_path: Path) -> None:
    missing = await check(EndpointSettings(provider="local", model=str(tmp_path / "model.gguf")))
    assert failed(missing).name == "llm model"
    assert "There is no file" in failed(missing).remedy
