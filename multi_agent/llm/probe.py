"""Finds out whether an endpoint can do what a run needs, and what to do if not, for ``candor doctor``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from multi_agent.errors import LLMError, LLMTimeout
from multi_agent.llm.factory import client_of
from multi_agent.llm.llm import Message
from multi_agent.llm.ollama_native import OllamaNative
from multi_agent.llm.openai_compatible import OpenAICompatible
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.typed import TypedLLM
from vectorstore.models import FrozenModel

_LISTING_TIMEOUT_S = 5.0
_NAMES_SHOWN = 12


class Check(FrozenModel):
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str = Field(description="what was found")
    remedy: str = Field(default="", description="what to do; empty if all is well")


class _Colour(BaseModel):
    """The colour of something."""

    colour: Literal["red", "green", "blue"]
    certain: bool


async def check(settings: EndpointSettings) -> list[Check]:
    """Look at the endpoint, the model, its context window, and whether it keeps to a schema.

    Ends at the first thing that makes the next ones pointless. The last one asks the model for real.
    """
    client = client_of(settings.model_copy(update={"timeout_s": min(settings.timeout_s, _LISTING_TIMEOUT_S)}))
    try:
        offered = await client.models()
    except LLMTimeout:
        remedy = f"It takes connections and does not answer within {_LISTING_TIMEOUT_S:g} s. Start it anew."
        return [Check(name=f"{settings.place} endpoint", ok=False, detail=settings.base_url, remedy=remedy)]
    except LLMError as error:
        return [Check(name=f"{settings.place} endpoint", ok=False, detail=settings.base_url, remedy=str(error))]
    checks = [
        Check(name=f"{settings.place} endpoint", ok=True, detail=f"{settings.base_url} answers"),
        _model_is_there(settings, list(offered)),
    ]
    if checks[-1].ok:
        checks.append(await _window_fits(settings, client, offered[settings.model]))
        checks.append(await _keeps_to_schema(settings))
    return checks


def _model_is_there(settings: EndpointSettings, offered: list[str]) -> Check:
    if settings.model in offered:
        return Check(name=f"{settings.place} model", ok=True, detail=f"{settings.model!r} is there")
    known = ", ".join(offered[:_NAMES_SHOWN]) + (", …" if len(offered) > _NAMES_SHOWN else "")
    get = f"Get it with `ollama pull {settings.model}`, or name" if settings.provider == "ollama" else "Name"
    return Check(
        name=f"{settings.place} model",
        ok=False,
        detail=f"{settings.model!r} is not there; the endpoint has: {known or 'none'}",
        remedy=f"{get} another in {settings.setting('model')}.",
    )


async def _window_fits(
    settings: EndpointSettings, client: OllamaNative | OpenAICompatible, listed: int | None
) -> Check:
    try:
        longest = await client.context_length() if isinstance(client, OllamaNative) else listed
    except LLMError as error:
        return Check(
            name=f"{settings.place} context window",
            ok=False,
            detail=f"{settings.context_window} tokens",
            remedy=str(error),
        )
    if longest is None:
        detail = f"{settings.context_window} tokens by the settings; the endpoint does not tell the model's own"
        return Check(name=f"{settings.place} context window", ok=True, detail=detail)
    fits = settings.context_window <= longest
    return Check(
        name=f"{settings.place} context window",
        ok=fits,
        detail=f"{settings.context_window} tokens of the model's {longest}",
        remedy="" if fits else f"Set {settings.setting('context_window')} to {longest} at most.",
    )


async def _keeps_to_schema(settings: EndpointSettings) -> Check:
    llm = TypedLLM(client_of(settings), settings.model_copy(update={"response_retries": 0}))
    question = Message.user("What colour is fresh grass, and are you certain?")
    pieces: list[str] = []

    async def hear(text: str) -> None:
        pieces.append(text)

    try:
        completion = await llm.complete([question], _Colour, hear=hear)
    except LLMError as error:
        return Check(
            name=f"{settings.place} structured output",
            ok=False,
            detail="a response by a JSON schema",
            remedy=str(error),
        )
    streamed = "streamed" if pieces else "not streamed, by the settings"
    detail = f"a valid response by a JSON schema in {completion.usage.seconds:.1f} s, {streamed}"
    return Check(name=f"{settings.place} structured output", ok=True, detail=detail)
