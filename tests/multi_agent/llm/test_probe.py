"""The endpoint checks of `candor doctor`, in both protocols."""

from __future__ import annotations

import pytest

from multi_agent.llm import probe as probing
from multi_agent.llm.probe import Check, check
from multi_agent.llm.settings import EndpointSettings
from support import scripted_endpoint as scripted
from support.scripted_endpoint import PROTOCOLS, Protocol, ScriptedEndpoint, always

GREEN = '{"colour": "green", "certain": true}'


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    value: Protocol = request.param
    return value


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
        checks = await probing.check(endpoint.settings(protocol, timeout_s=60))
    assert failed(checks).name == "llm endpoint"
    assert "does not answer" in failed(checks).remedy


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


async def test_a_context_window_over_the_limit_fails() -> None:
    with ScriptedEndpoint(always(GREEN), context_length=8_192) as endpoint:
        checks = await check(endpoint.settings("ollama", context_window=16_384))
    assert failed(checks).name == "llm context window"
    assert "CANDOR_LLM__CONTEXT_WINDOW" in failed(checks).remedy
    assert "8192" in failed(checks).remedy


async def test_a_model_that_ignores_the_schema_fails(protocol: Protocol) -> None:
    with ScriptedEndpoint(always(scripted.nonsense())) as endpoint:
        checks = await check(endpoint.settings(protocol))
    assert failed(checks).name == "llm structured output"
    assert "CANDOR_LLM__MODEL" in failed(checks).remedy
    assert len(endpoint.requests) == 1
