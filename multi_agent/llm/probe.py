"""Checks whether an endpoint meets the requirements of a run and how fast it is. A failed check has a remedy.

Used by ``candor doctor`` and the set-up card of the web page.
"""

import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from base.models import FrozenModel
from multi_agent.errors import LLMError, LLMRefused, LLMTimeout
from multi_agent.llm.endpoint import EndpointRequest
from multi_agent.llm.endpoints.local.endpoint import LocalModel
from multi_agent.llm.endpoints.memory import ENFORCED
from multi_agent.llm.endpoints.ollama_native import OllamaNative
from multi_agent.llm.endpoints.openai_compatible import OpenAICompatible
from multi_agent.llm.models import build_client
from multi_agent.llm.responses.repair import repair
from multi_agent.llm.responses.schema import schema_of
from multi_agent.llm.responses.typed import TypedLLM, with_schema
from multi_agent.llm.settings import EndpointSettings, ResponseForm
from multi_agent.llm.vision import Vision
from multi_agent.model import LLM, Message, OnText

_LISTING_TIMEOUT_S = 5.0
_NAMES_SHOWN = 12
# Tokens of a typical question in mode `fast`, over all calls: measured by benchmarks/local_model with the 1.5B model.
_QUESTION_PROMPT_TOKENS, _QUESTION_COMPLETION_TOKENS = 3_000, 130
_OUTPUT_LIMIT = 1_000  # tokens of a response, including thinking; the answers are short
_FEWEST_PARTS = 2  # parts of a stream needed to separate the time to read the prompt from the time to write
_QUESTION = Message.user("What colour is fresh grass, and are you certain?")

Trial = Callable[[LLM], Awaitable["Check"]]
"""A further check of a model, which sends it requests."""
Client = OllamaNative | OpenAICompatible | LocalModel


class Check(FrozenModel):
    """The result of one check."""

    name: str
    ok: bool
    detail: str = Field(description="what was found")
    remedy: str = Field(default="", description="remedy for a failed check; empty if the check passed")


class _Colour(BaseModel):
    """The colour of something."""

    colour: Literal["red", "green", "blue"]
    certain: bool


class _Stations(BaseModel):
    """The stations of pumps."""

    stations: list[int] = Field(min_length=12, max_length=12)  # about 40 tokens


async def check(settings: EndpointSettings, folder: Path | None = None, trial: Trial | None = None) -> list[Check]:
    """Check the endpoint, the model, its context window, structured output, speed, pictures, and ``trial``.

    Stops after a failed check on which the others depend. The last four checks send requests to the model. ``folder``
    caches findings about the endpoint.
    """
    limited = min(settings.max_output_tokens, _OUTPUT_LIMIT)
    client = build_client(settings.model_copy(update={"max_output_tokens": limited}), folder)
    try:
        if isinstance(client, LocalModel):
            checks, longest = await _check_local(settings, client, load=True)
        else:
            checks, longest = await _check_server(settings, client)
        if all(each.ok for each in checks):
            checks.append(_check_context_window(settings, longest))
            checks.append(await _check_structured_output(settings, client))
            if checks[-1].ok:
                checks.append(await _check_speed(settings, client))
                checks.append(await _check_vision(settings, folder))
                checks += [await trial(TypedLLM(client, settings))] if trial else []
        return checks
    finally:
        if isinstance(client, LocalModel):
            client.close()


async def check_offered(settings: EndpointSettings, folder: Path | None = None) -> list[Check]:
    """Check that the endpoint responds and offers the model, or that the file of a local model can be read.

    Does not load a model or send a request to it.
    """
    client = build_client(settings, folder)
    if not isinstance(client, LocalModel):
        return (await _check_server(settings, client))[0]
    try:
        return (await _check_local(settings, client, load=False))[0]
    finally:
        client.close()


async def require_reachable(settings: EndpointSettings, folder: Path | None = None) -> None:
    """Raise a subclass of LLMError if the endpoint does not respond, or the file of a local model is invalid.

    Sends no request to the model. A server that responds but cannot list its models counts as reachable.
    """
    quick = settings.model_copy(update={"timeout_s": min(settings.timeout_s, _LISTING_TIMEOUT_S)})
    client = build_client(quick, folder)
    if isinstance(client, LocalModel):
        client.header()
        return
    try:
        await client.models()
    except LLMRefused as error:
        if getattr(error.__cause__, "status_code", None) != HTTPStatus.NOT_FOUND:
            raise


async def _check_local(settings: EndpointSettings, client: LocalModel, *, load: bool) -> tuple[list[Check], int | None]:
    """Read the header of the model, and ``load`` it. Return the checks and the context length of the model."""
    name = f"{settings.table} model"
    started = time.monotonic()
    try:
        header = client.header()
        engine = await client.engine() if load else ""
    except LLMError as error:
        return [Check(name=name, ok=False, detail=settings.model, remedy=str(error))], None
    loaded = f", loaded by {engine} in {time.monotonic() - started:.0f} s" if load else ""
    detail = f"{settings.model} ({header.architecture}){loaded}"
    return [Check(name=name, ok=True, detail=detail)], header.context_length


async def _check_server(
    settings: EndpointSettings, client: OllamaNative | OpenAICompatible
) -> tuple[list[Check], int | None]:
    """Ask the server for its models. Return the checks and the context length of the model."""
    name = f"{settings.table} endpoint"
    quick = settings.model_copy(update={"timeout_s": min(settings.timeout_s, _LISTING_TIMEOUT_S)})
    listing = OllamaNative(quick) if isinstance(client, OllamaNative) else OpenAICompatible(quick)
    try:
        offered = await listing.models()
        known = settings.model in offered
        longest = await listing.context_length() if known and isinstance(listing, OllamaNative) else None
    except LLMTimeout:
        remedy = f"The endpoint accepts connections but does not respond within {_LISTING_TIMEOUT_S:g} s. Restart it."
        return [Check(name=name, ok=False, detail=settings.address, remedy=remedy)], None
    except LLMError as error:
        return [Check(name=name, ok=False, detail=settings.address, remedy=str(error))], None
    answers = Check(name=name, ok=True, detail=f"{settings.address} answers")
    return [answers, _check_model(settings, list(offered))], longest or offered.get(settings.model)


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


def _check_context_window(settings: EndpointSettings, longest: int | None) -> Check:
    name = f"{settings.table} context window"
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


async def _check_structured_output(settings: EndpointSettings, client: Client) -> Check:
    name = f"{settings.table} structured output"
    received: list[str] = []

    async def on_text(text: str) -> None:
        received.append(text)

    try:
        form, seconds = await _find_form(settings, client, on_text)
    except LLMError as error:
        return Check(name=name, ok=False, detail="a response that follows a JSON schema", remedy=str(error))
    streamed = "streamed" if received else "not streamed (setting)"
    detail = f"a valid response that follows a JSON schema in {seconds:.1f} s{form}, {streamed}"
    return Check(name=name, ok=True, detail=detail)


async def _find_form(settings: EndpointSettings, client: Client, on_text: OnText) -> tuple[str, float]:
    """Find the strictest form of the schema that the endpoint follows, and cache it.

    A prompt that does not ask for JSON shows whether the endpoint enforces the schema. Returns a description and the
    seconds of the response. Raises a subclass of LLMError.
    """
    notes: list[str] = []
    if isinstance(client, OpenAICompatible):
        for form in client.forms.candidates:
            try:
                reply = await client.send_as(form, _colour_request(form, on_text))
            except LLMRefused:
                notes.append(f"{form} rejected")
                continue
            if repair(reply.text, _Colour).valid:
                client.forms.remember(form)
                return f" ({'; '.join([form, *notes])})", reply.seconds
            notes.append(f"{form} not followed")
    llm = TypedLLM(client, settings.model_copy(update={"response_retries": 0}))
    completion = await llm.complete([_QUESTION], _Colour, on_text=on_text)
    return f" ({'; '.join(notes)})" if notes else "", completion.usage.seconds


def _colour_request(form: ResponseForm, on_text: OnText) -> EndpointRequest:
    messages = [_QUESTION] if form in ENFORCED else with_schema([_QUESTION], _Colour)
    return EndpointRequest(tuple(messages), schema_of(_Colour), 0.0, on_text)


async def _check_vision(settings: EndpointSettings, folder: Path | None) -> Check:
    """Check whether the model supports pictures. Ignores the cache, because the model of this name may have changed."""
    name = f"{settings.table} pictures"
    if settings.vision == "off":
        return Check(name=name, ok=True, detail="not sent (setting)")
    vision = Vision(settings, folder)
    try:
        await vision.ask()
        takes = await vision.available()
    except LLMError as error:
        return Check(name=name, ok=False, detail="unknown whether the model supports them", remedy=str(error))
    detail = "the model supports them" if takes else "the model does not support them, so pages are read as text only"
    return Check(name=name, ok=True, detail=detail)


async def _check_speed(settings: EndpointSettings, client: Client) -> Check:
    """Measure a prompt of about 500 tokens that is not in the prefix cache, and a response of about 40 tokens."""
    name = f"{settings.table} speed"
    arrivals: list[float] = []

    async def on_text(text: str) -> None:
        if text:
            arrivals.append(time.monotonic())

    lines = [f"Report {time.time_ns()}."]
    lines += [f"Pump {n} ran for {40 * n} hours at station {7 * n} and was then serviced." for n in range(1, 26)]
    question = "List the stations of the pumps 1 to 12."
    messages = with_schema([Message.user("\n".join([*lines, question]))], _Stations)
    started = time.monotonic()
    try:
        reply = await client.send(EndpointRequest(tuple(messages), schema_of(_Stations), settings.temperature, on_text))
    except LLMError as error:
        return Check(name=name, ok=False, detail="a question about a short text", remedy=str(error))
    finished = time.monotonic()
    if not (reply.prompt_tokens and reply.completion_tokens):
        return Check(name=name, ok=True, detail="unknown: the endpoint does not report tokens")
    if len(arrivals) < _FEWEST_PARTS:
        detail = f"{reply.prompt_tokens} prompt and {reply.completion_tokens} completion tokens in "
        return Check(name=name, ok=True, detail=f"{detail}{finished - started:.1f} s; the response came in one piece")
    reading, writing = max(arrivals[0] - started, 0.001), max(finished - arrivals[0], 0.001)
    prompt, completion = (reply.prompt_tokens - reply.cached_tokens) / reading, reply.completion_tokens / writing
    seconds = _QUESTION_PROMPT_TOKENS / prompt + _QUESTION_COMPLETION_TOKENS / completion
    return Check(
        name=name,
        ok=True,
        detail=f"{_round(prompt)} prompt and {_round(completion)} completion tokens per second; a question in mode "
        f"fast takes about {_round(seconds)} s",
    )


def _round(value: float) -> str:
    """Return the value with two significant digits."""
    return f"{float(f'{value:.2g}'):g}"
