"""How both endpoints speak HTTP: the options of their client, and what its faults mean.

The foreign errors of ``httpx`` and every HTTP status become errors of ours here and nowhere else.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from multi_agent.errors import LLMError, LLMRateLimited, LLMRefused, LLMTimeout, LLMUnavailable, LLMUnreachable
from multi_agent.llm.settings import EndpointSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

_EXCERPT = 300


def client_options(settings: EndpointSettings) -> dict[str, Any]:
    """Options for the ``httpx.AsyncClient`` of an endpoint."""
    import httpx

    return {
        "timeout": httpx.Timeout(settings.timeout_s, connect=settings.connect_timeout_s),
        "limits": httpx.Limits(max_connections=None),  # limiting.py bounds the requests; a second bound would hide it
        "follow_redirects": True,
        # A proxy set for the whole machine cannot reach a model that runs on this one.
        "trust_env": not _is_loopback(settings.base_url),
    }


@asynccontextmanager
async def speaking_to(settings: EndpointSettings) -> AsyncIterator[None]:
    """Bound a request in time, and translate the faults of its transport."""
    import httpx

    try:
        async with asyncio.timeout(settings.timeout_s):
            yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise unreachable(settings) from error
    except (TimeoutError, httpx.TimeoutException) as error:
        raise LLMTimeout(
            f"The {settings.name} did not finish its answer within {settings.timeout_s:g} s. Give it more time with "
            f"{settings.setting('timeout_s')}, or take a faster model with {settings.setting('model')}."
        ) from error
    except httpx.TransportError as error:
        raise LLMUnavailable(
            f"The connection to the {settings.name} broke before the answer was there ({type(error).__name__}: "
            f"{error}). Look into the endpoint's own log: it may have run out of memory."
        ) from error


def unreachable(settings: EndpointSettings) -> LLMUnreachable:
    """Nothing listens there."""
    start = "Start Ollama with `ollama serve`" if settings.provider == "ollama" else "Start the endpoint"
    return LLMUnreachable(f"Nothing answers at {settings.base_url}. {start}, or set {settings.setting('base_url')}.")


def broken_off(settings: EndpointSettings, said: str) -> LLMUnavailable:
    """It began a stream, and did not end it."""
    return LLMUnavailable(
        f"The {settings.name} broke off in the middle of its answer ({_excerpt(said)}). Look into the endpoint's own "
        "log: it may have run out of memory."
    )


def no_stream(settings: EndpointSettings, lack: str) -> LLMRefused:
    """It was asked to stream, and what came is not what was asked for."""
    return LLMRefused(
        f"The {settings.name} was asked to stream its answer, and {lack}. If it cannot do better, set "
        f"{settings.setting('stream')} to false: answers are then seen when they are complete."
    )


def foreign(settings: EndpointSettings, said: str) -> LLMRefused:
    """It answers, but not in the protocol."""
    other = "openai" if settings.provider == "ollama" else "ollama"
    path = ", with its path, mostly /v1" if settings.provider == "openai" else ""
    return LLMRefused(
        f"What answers at {settings.base_url} does not speak the protocol of {settings.provider!r}; it said: "
        f"{_excerpt(said)!r}. Correct {settings.setting('base_url')}{path}, or set {settings.setting('provider')} to "
        f"{other!r}."
    )


def status_fault(
    settings: EndpointSettings, status: int, body: str, headers: Mapping[str, str], *, streaming: bool = False
) -> LLMError:
    """The error that an HTTP status of 4xx or 5xx means, in reply to a request to stream or to one of another kind."""
    said = f"HTTP {status}: {_message_in(body)}"
    if status == 429:
        wait = _retry_after(headers)
        asked = f" It asks to wait {wait:.0f} s." if wait else ""
        return LLMRateLimited(
            f"The {settings.name} refuses for load ({said}).{asked} Wait a while, or lower "
            f"{settings.setting('parallel')}.",
            retry_after=wait,
        )
    if status >= 500:
        return LLMUnavailable(
            f"The {settings.name} failed on its side ({said}). Look into the endpoint's own log, or try again later.",
            retry_after=_retry_after(headers),
        )
    return LLMRefused(f"The {settings.name} refused the request ({said}). {_remedy(settings, status, streaming)}")


def _remedy(settings: EndpointSettings, status: int, streaming: bool) -> str:
    model = settings.setting("model")
    if status in (401, 403):
        return f"Check the key in {settings.setting('api_key')}, and its rights."
    if status == 404 and settings.provider == "ollama":
        return f"Get the model with `ollama pull {settings.model}`, or name another in {model}."
    if status == 404:
        return f"Name a model that it has in {model}, or correct {settings.setting('base_url')}: most end in /v1."
    check = f"Check that it can answer by a JSON schema, and the settings of its model, such as {model}."
    stream = settings.setting("stream")
    return f"{check} If it cannot stream, or not with its tokens, set {stream} to false." if streaming else check


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from either form of the header: a number, or a date."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _message_in(body: str) -> str:
    """The message of an error body: OpenAI nests it, Ollama does not, proxies send what they like."""
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return _excerpt(body)
    return _excerpt(str(error.get("message", error)) if isinstance(error, dict) else str(error))


def _excerpt(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= _EXCERPT else folded[:_EXCERPT] + "…"


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
