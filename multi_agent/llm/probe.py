"""Checks whether an endpoint meets the needs of a run, and how to fix it if not. Used by ``candor doctor``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from multi_agent.errors import LLMError, LLMTimeout
from multi_agent.llm.endpoints.ollama_native import OllamaNative
from multi_agent.llm.endpoints.openai_compatible import OpenAICompatible
from multi_agent.llm.factory import build_client
from multi_agent.llm.llm import Message
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.typed import TypedLLM
from vectorstore.models import FrozenModel

_LISTING_TIMEOUT_S = 5.0
_NAMES_SHOWN = 12


class Check(FrozenModel):
    """The result of one check."""

    name: str
    ok: bool
    detail: str = Field(description="what was found")
    remedy: str = Field(default="", description="how to fix it; empty if the check passed")


class _Colour(BaseModel):
    """The colour of something."""

    colour: Literal["red", "green", "blue"]
    certain: bool


async def check(settings: EndpointSettings) -> list[Check]:
    """Check the endpoint, the model, its context window, and structured output.

    Stops at the first check that makes the others pointless. The last check sends a request to the model.
    """
    client = build_client(settings.model_copy(update={"timeout_s": min(settings.timeout_s, _LISTING_TIMEOUT_S)}))
    try:
        offered = await client.models()
    except LLMTimeout:
        remedy = f"The endpoint accepts connections but does not answer within {_LISTING_TIMEOUT_S:g} s. Restart it."
        return [Check(name=f"{settings.table} endpoint", ok=False, detail=settings.base_url, remedy=remedy)]
    except LLMError as error:
        return [Check(name=f"{settings.table} endpoint", ok=False, detail=settings.base_url, remedy=str(error))]
    checks = [
        Check(name=f"{settings.table} endpoint", ok=True, detail=f"{settings.base_url} answers"),
        _check_model(settings, list(offered)),
    ]
    if checks[-1].ok:
        checks.append(await _check_context_window(settings, client, offered[settings.model]))
        checks.append(await _check_structured_output(settings))
    return checks


def _check_model(settings: EndpointSettings, offered: list[str]) -> Check:
    name = f"{settings.table} model"
    if settings.model in offered:
        return Check(name=name, ok=True, detail=f"{settings.model!r} is available")
    known = ", ".join(offered[:_NAMES_SHOWN]) + (", …" if len(offered) > _NAMES_SHOWN else "")
    pull = f"Pull it with `ollama pull {settings.model}`, or choose" if settings.provider == "ollama" else "Choose"
    return Check(
        name=name,
        ok=False,
        detail=f"{settings.model!r} is not available; models of the endpoint: {known or 'none'}",
        remedy=f"{pull} another model with {settings.setting('model')}.",
    )


async def _check_context_window(
    settings: EndpointSettings, client: OllamaNative | OpenAICompatible, listed: int | None
) -> Check:
    name = f"{settings.table} context window"
    try:
        longest = await client.context_length() if isinstance(client, OllamaNative) else listed
    except LLMError as error:
        return Check(name=name, ok=False, detail=f"{settings.context_window} tokens", remedy=str(error))
    if longest is None:
        detail = f"{settings.context_window} tokens in the settings; the endpoint does not report the model's limit"
        return Check(name=name, ok=True, detail=detail)
    fits = settings.context_window <= longest
    return Check(
        name=name,
        ok=fits,
        detail=f"{settings.context_window} tokens of the model's {longest}",
        remedy="" if fits else f"Set {settings.setting('context_window')} to {longest} or less.",
    )


async def _check_structured_output(settings: EndpointSettings) -> Check:
    name = f"{settings.table} structured output"
    llm = TypedLLM(build_client(settings), settings.model_copy(update={"response_retries": 0}))
    question = Message.user("What colour is fresh grass, and are you certain?")
    received: list[str] = []

    async def on_text(text: str) -> None:
        received.append(text)

    try:
        completion = await llm.complete([question], _Colour, on_text=on_text)
    except LLMError as error:
        return Check(name=name, ok=False, detail="a response that follows a JSON schema", remedy=str(error))
    streamed = "streamed" if received else "not streamed, by the settings"
    detail = f"a valid response that follows a JSON schema in {completion.usage.seconds:.1f} s, {streamed}"
    return Check(name=name, ok=True, detail=detail)
