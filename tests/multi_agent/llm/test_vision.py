"""Detection of image support: the answer of the endpoint, the stored answer and the settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from multi_agent.errors import LLMError, LLMRefused
from multi_agent.llm.models import build_llm
from multi_agent.llm.probe import check
from multi_agent.llm.settings import EndpointSettings
from support import replies
from support.pictures import number_in, seeing
from support.replies import PROTOCOLS, Protocol, Reply, Request, always
from support.scripted_endpoint import ScriptedEndpoint

GREEN = '{"colour": "green", "certain": true}'


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    value: Protocol = request.param
    return value


@pytest.mark.parametrize("sees", [True, False])
async def test_the_endpoint_is_asked_once_and_its_answer_is_stored(
    protocol: Protocol, sees: bool, tmp_path: Path
) -> None:
    with ScriptedEndpoint(seeing(), sees=sees) as endpoint:
        settings = endpoint.settings(protocol)
        llm = build_llm(settings, tmp_path)
        assert [await llm.takes_pictures() for _ in range(2)] == [sees, sees]
        asked = len(endpoint.requests)
    assert asked == {"ollama": 0, "openai": 1 if sees else 2}[protocol], "Ollama lists the capabilities of its models"
    assert await build_llm(settings, tmp_path).takes_pictures() is sees, (
        "the answer is stored: the endpoint has stopped"
    )


@pytest.mark.parametrize("blind", ["I see the number 42.", "I cannot see pictures.", ""])
async def test_an_endpoint_that_drops_the_picture_is_not_believed(blind: str, tmp_path: Path) -> None:
    with ScriptedEndpoint(always(blind), sees=True) as endpoint:
        settings = endpoint.settings("openai")
        assert not await build_llm(settings, tmp_path).takes_pictures()
        assert await build_llm(settings.model_copy(update={"vision": "on"}), tmp_path).takes_pictures()
    assert not await build_llm(settings, tmp_path).takes_pictures(), "what 'on' trusts is not stored"


@pytest.mark.parametrize("status", [400, 404, 422, 500])
async def test_any_error_caused_by_the_picture_means_no_support(status: int) -> None:
    with ScriptedEndpoint(always("green"), refusal=status) as endpoint:
        assert not await build_llm(endpoint.settings("openai")).takes_pictures()


@pytest.mark.parametrize("reply", [replies.model_missing(), replies.unauthorised(), replies.server_error()])
async def test_an_error_with_another_cause_is_not_stored(reply: Reply, tmp_path: Path) -> None:
    with ScriptedEndpoint(always(reply), sees=True) as endpoint:
        settings = endpoint.settings("openai")
        with pytest.raises(LLMError):
            await build_llm(settings, tmp_path).takes_pictures()
    with ScriptedEndpoint(seeing(), sees=True) as endpoint:
        same = settings.model_copy(update={"base_url": endpoint.url("openai")})
        assert await build_llm(same, tmp_path).takes_pictures()


async def test_a_transient_server_error_is_retried() -> None:
    def fail_first(request: Request) -> Reply | str:
        return replies.server_error() if request.number == 1 else number_in(request.pictures)

    with ScriptedEndpoint(fail_first, sees=True) as endpoint:
        assert await build_llm(endpoint.settings("openai")).takes_pictures()


async def test_vision_off_sends_no_request(protocol: Protocol) -> None:
    with ScriptedEndpoint(seeing(), sees=True) as endpoint:
        llm = build_llm(endpoint.settings(protocol, vision="off"))
        assert not await llm.takes_pictures()
        await llm.check_settings()
    assert endpoint.requests == []


async def test_vision_on_without_support_is_an_error(protocol: Protocol, tmp_path: Path) -> None:
    with ScriptedEndpoint(seeing()) as endpoint:
        llm = build_llm(endpoint.settings(protocol, vision="on"), tmp_path)
        with pytest.raises(LLMRefused, match=r"CANDOR_LLM__VISION .* is 'on', but the model 'scripted' .* takes no"):
            await llm.check_settings()
        await build_llm(endpoint.settings(protocol, vision="auto"), tmp_path).check_settings()


async def test_vision_on_ignores_a_stored_no(protocol: Protocol, tmp_path: Path) -> None:
    """The name may now belong to another model."""
    with ScriptedEndpoint(seeing()) as endpoint:
        settings = endpoint.settings(protocol)
        assert not await build_llm(settings, tmp_path).takes_pictures()
        endpoint.see()
        assert not await build_llm(settings, tmp_path).takes_pictures()
        assert await build_llm(settings.model_copy(update={"vision": "on"}), tmp_path).takes_pictures()
        assert await build_llm(settings, tmp_path).takes_pictures()


def test_vision_on_is_invalid_for_a_local_model() -> None:
    with pytest.raises(ValidationError, match="a `local` model does not support pictures"):
        EndpointSettings(provider="local", vision="on")


class TestDoctor:
    """The check of ``candor doctor``."""

    @pytest.mark.parametrize(
        ("sees", "vision", "ok", "detail"),
        [
            (True, "auto", True, "the model supports them"),
            (False, "auto", True, "the model does not support them, so pages are read as text only"),
            (True, "off", True, "not sent (setting)"),
            (False, "on", False, "unknown whether the model supports them"),
        ],
    )
    async def test_the_check_shows_the_result(
        self, protocol: Protocol, sees: bool, vision: str, ok: bool, detail: str
    ) -> None:
        with ScriptedEndpoint(seeing(GREEN), sees=sees) as endpoint:
            found = (await check(endpoint.settings(protocol, vision=vision)))[-1]
        assert (found.name, found.ok, found.detail) == ("llm pictures", ok, detail)
        assert ("CANDOR_LLM__MODEL" in found.remedy) is not ok

    async def test_the_check_asks_again_after_a_change_of_the_model(self, protocol: Protocol, tmp_path: Path) -> None:
        with ScriptedEndpoint(seeing(GREEN)) as endpoint:
            settings = endpoint.settings(protocol)
            await check(settings, tmp_path)
            endpoint.see()
            await check(settings, tmp_path)
            assert await build_llm(settings, tmp_path).takes_pictures()


async def test_a_local_model_does_not_accept_images() -> None:
    assert not await build_llm(EndpointSettings(provider="local", model="any.gguf")).takes_pictures()
