"""HTTP client options for both endpoints, and the translation of HTTP errors.

Only this module translates ``httpx`` errors and HTTP status codes into subclasses of LLMError.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from base.http import error_message, excerpt, is_loopback, retry_after
from multi_agent.errors import LLMError, LLMRateLimited, LLMRefused, LLMTimeout, LLMUnavailable, LLMUnreachable
from multi_agent.llm.settings import EndpointSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_excerpt = partial(excerpt, most=300)


def client_options(settings: EndpointSettings) -> dict[str, Any]:
    """Return the options for the ``httpx.AsyncClient`` of an endpoint."""
    import httpx

    return {
        "timeout": httpx.Timeout(None, connect=settings.connect_timeout_s),  # transport_errors limits the rest
        # RequestLimit limits the requests. uvicorn and llama.cpp close idle connections after 5 s; a request that
        # is sent at that moment fails.
        "limits": httpx.Limits(max_connections=None, keepalive_expiry=4.0),
        "follow_redirects": True,
        # A proxy cannot reach a model on localhost.
        "trust_env": not is_loopback(settings.base_url),
    }


@asynccontextmanager
async def transport_errors(settings: EndpointSettings) -> AsyncIterator[Callable[[], None]]:
    """Limit the time of a request and translate its transport errors.

    Yields a function to call for each new text of a stream, which restarts ``timeout_s``.
    """
    import httpx

    key = settings.api_key.get_secret_value() if settings.api_key else ""
    if not (key.isascii() and key.isprintable()):
        raise LLMRefused(
            f"The key in {settings.setting('api_key')} has a line break or a character outside ASCII, which no request "
            "can send. Copy the key again."
        )
    now = asyncio.get_running_loop().time
    total = asyncio.timeout(settings.total_timeout_s)
    try:
        async with total, asyncio.timeout(settings.timeout_s) as silence:
            yield lambda: silence.reschedule(now() + settings.timeout_s)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise endpoint_unreachable(settings) from error
    except (TimeoutError, httpx.TimeoutException) as error:
        raise timed_out(settings, "total_timeout_s" if total.expired() else "timeout_s") from error
    except httpx.TransportError as error:
        raise LLMUnavailable(
            f"The connection to the {settings.name} broke before the response was complete ({type(error).__name__}: "
            f"{error}). Check the log of the endpoint. It may have run out of memory."
        ) from error
    except httpx.RequestError as error:  # endless redirects, or a body in another encoding than it says
        raise wrong_protocol(settings, str(error)) from error


def timed_out(settings: EndpointSettings, limit: Literal["timeout_s", "total_timeout_s"]) -> LLMTimeout:
    """Return the error for a request that reached this limit."""
    silent = limit == "timeout_s" and settings.stream
    return LLMTimeout(
        f"The {settings.name} did not {'write any text' if silent else 'finish its response'} within "
        f"{getattr(settings, limit):g} s. Raise {settings.setting(limit)}, or choose a faster model with "
        f"{settings.setting('model')}."
    )


def endpoint_unreachable(settings: EndpointSettings) -> LLMUnreachable:
    """Return the error for an address where no server listens."""
    start = "Start Ollama with `ollama serve`" if settings.provider == "ollama" else "Start the endpoint"
    return LLMUnreachable(f"No server answers at {settings.address}. {start}, or set {settings.setting('base_url')}.")


def stream_interrupted(settings: EndpointSettings, details: str) -> LLMUnavailable:
    """Return the error for a stream that ended early."""
    return LLMUnavailable(
        f"The stream from the {settings.name} ended before the response was complete ({_excerpt(details)}). Check the "
        "log of the endpoint. It may have run out of memory."
    )


def streaming_unsupported(settings: EndpointSettings, problem: str) -> LLMRefused:
    """Return the error for an endpoint that does not stream as required."""
    return LLMRefused(
        f"The {settings.name} does not support streaming as required: {problem}. Set {settings.setting('stream')} to "
        "false. Responses then appear when they are complete."
    )


def wrong_protocol(settings: EndpointSettings, response: str) -> LLMRefused:
    """Return the error for a server that does not use the protocol."""
    other = "openai" if settings.provider == "ollama" else "ollama"
    path = " (with its path, usually /v1)" if settings.provider == "openai" else ""
    return LLMRefused(
        f"The server at {settings.address} does not use the protocol of {settings.provider!r}. It responded with "
        f"{_excerpt(response)!r}. Correct {settings.setting('base_url')}{path}, or set {settings.setting('provider')} "
        f"to {other!r}."
    )


def error_for_status(
    settings: EndpointSettings, status: int, body: str, headers: Mapping[str, str], *, streaming: bool = False
) -> LLMError:
    """Return the error for an HTTP status of 4xx or 5xx. ``streaming`` is whether the request asked for a stream."""
    details = f"HTTP {status}: {error_message(body)}"
    if status == 429:
        wait = retry_after(headers)
        pause = f" The endpoint asks to wait {wait:.0f} s." if wait else ""
        return LLMRateLimited(
            f"The {settings.name} is overloaded ({details}).{pause} Try again later, or lower "
            f"{settings.setting('parallel')}.",
            retry_after=wait,
        )
    if status >= 500:
        return LLMUnavailable(
            f"The {settings.name} failed ({details}). Check the log of the endpoint, or try again later.",
            retry_after=retry_after(headers),
        )
    return LLMRefused(f"The {settings.name} rejected the request ({details}). {_remedy(settings, status, streaming)}")


def _remedy(settings: EndpointSettings, status: int, streaming: bool) -> str:
    model = settings.setting("model")
    if status in (401, 403):
        return f"Check the key in {settings.setting('api_key')} and its permissions."
    if status == 404 and settings.provider == "ollama":
        return f"Pull the model with `ollama pull {settings.model}`, or choose another one with {model}."
    if status == 404:
        return (
            f"Choose a model of the endpoint with {model}, or correct {settings.setting('base_url')} (most end in /v1)."
        )
    check = f"Check that the model supports JSON schemas, and its settings, such as {model}."
    stream = settings.setting("stream")
    return f"{check} If it cannot stream, or not with token counts, set {stream} to false." if streaming else check
