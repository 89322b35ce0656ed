"""The endpoint of an embedding model or a reranker: options of its HTTP client, retries and errors.

``multi_agent/llm/endpoints/`` has the same for language models, which stream.
"""

from __future__ import annotations

import importlib
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import SecretStr

from base.http import error_message, excerpt, is_loopback, retry_after
from vectorstore.errors import EmbeddingModelError, EndpointError
from vectorstore.settings import ModelSettings, without_password

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0  # a longer Retry-After is an error at once
_LOSES_BODY = (301, 302, 303)  # clients go on with GET
_MAY_BE_TOO_LONG = (400, 413, 422, 500)  # not 429, "rate limit exceeded"
_TOO_LONG = ("too large", "too long", "exceed", "context length")  # llama.cpp says so with 500


class Endpoint:
    """One server. ``table`` is the name of its settings, for messages. Raises EmbeddingModelError for a bad key."""

    def __init__(self, settings: ModelSettings, url: str, table: str) -> None:
        self._settings, self.url, self._table = settings, url, f"`[{table}]`"
        self._address = without_password(url)
        self.key = settings.api_key.get_secret_value().strip() if settings.api_key else ""
        if not (self.key.isascii() and self.key.isprintable()):
            raise EmbeddingModelError(
                f"`api_key` in {self._table} has a line break or a character outside ASCII, which no request can send. "
                "Copy the key again."
            )

    def client_options(self) -> dict[str, Any]:
        """Return the options for an ``httpx.Client`` whose responses of 4xx and 5xx raise EndpointError."""
        import httpx

        limit = self._settings.timeout_s
        return {
            "headers": {"Authorization": f"Bearer {self.key}"} if self.key else {},
            "timeout": httpx.Timeout(limit, connect=min(10.0, limit)),
            "limits": httpx.Limits(max_connections=None, keepalive_expiry=4.0),
            "follow_redirects": True,
            "trust_env": not is_loopback(self.url),
            "event_hooks": {"response": [self._check_status]},
        }

    def request(self, send: Callable[[], T]) -> T:
        """Return ``send()``, repeated while the endpoint is away or overloaded. Raises EndpointError."""
        attempt = 0
        while True:
            try:
                return self._translated(send)
            except EndpointError as error:
                pause = error.retry_after or _FIRST_PAUSE_S * 2**attempt * random.uniform(0.5, 1)
                if not error.away or attempt == self._settings.retries or pause > _LONGEST_PAUSE_S:
                    raise
            time.sleep(pause)
            attempt += 1

    def _translated(self, send: Callable[[], T]) -> T:
        import httpx

        try:
            return send()
        except (httpx.ConnectError, httpx.ConnectTimeout, ConnectionError) as error:
            problem = f"No server answers at {self._address}. Start it, or correct `base_url` in {self._table}."
            raise EndpointError(problem, away=True) from error
        except httpx.TimeoutException as error:
            problem = f"The endpoint at {self._address} did not answer in time. Raise `timeout_s` in {self._table}."
            raise EndpointError(problem, away=True) from error
        except httpx.TransportError as error:
            problem = f"The connection to {self._address} broke ({error!r}). Check the log of the endpoint."
            raise EndpointError(problem, away=True) from error
        except (ValueError, TypeError, RecursionError, httpx.RequestError, httpx.InvalidURL) as error:
            # not JSON, not the fields of the protocol, endless redirects, or a body in another encoding than it says
            raise EndpointError(
                f"The endpoint at {self._address} does not answer as its provider does ({excerpt(str(error), 300)}). "
                f"Check `provider` and `base_url` (most end in /v1) in {self._table}."
            ) from error

    def _check_status(self, response: httpx.Response) -> None:
        if response.status_code in _LOSES_BODY:
            to = without_password(excerpt(response.headers.get("location", "nowhere"), 300))
            raise EndpointError(
                f"The endpoint at {self._address} redirects to {to} (HTTP {response.status_code}), and the content of "
                f"a request would be lost on the way. Correct `base_url` in {self._table}."
            )
        if not response.is_error:
            return
        response.read()
        status, details = response.status_code, error_message(response.text)
        if status in _MAY_BE_TOO_LONG and any(each in details.casefold() for each in _TOO_LONG):
            status = 413
        away = status == 429 or status >= 500
        raise EndpointError(
            f"The endpoint at {self._address} {'failed' if away else 'rejected the request'} (HTTP "
            f"{response.status_code}: {details}). {self._remedy(status)}",
            status=status, away=away, retry_after=retry_after(response.headers),
        )  # fmt: skip

    def _remedy(self, status: int) -> str:
        match status:
            case 413:
                return f"Its model reads less than it was sent: lower `max_tokens` or `batch_tokens` in {self._table}."
            case 401 | 403:
                return f"Check `api_key` in {self._table}."
            case 404:
                return f"Check `model` and `base_url` in {self._table}; Ollama needs `ollama pull MODEL` first."
            case 429:
                return f"It is overloaded: try again later, or lower `parallel` in {self._table}."
        return "Check the log of the endpoint, or try again later." if status >= 500 else f"Check {self._table}."


def load_class(path: str, arguments: dict[str, Any], base: Any, table: str) -> Any:
    """Return an instance of the class of LlamaIndex with this import path. Raises EmbeddingModelError.

    Whoever writes the settings may name any class, as they may name programs to start as MCP servers.
    """
    module, _, name = path.rpartition(".")
    given = {key: each.get_secret_value() if isinstance(each, SecretStr) else each for key, each in arguments.items()}
    try:
        made = getattr(importlib.import_module(module), name)(**given)
    except Exception as error:  # the class is not Candor's
        raise EmbeddingModelError(
            f"The class {path!r} of `[{table}]` cannot be created: {error}. Install its package, or correct the path "
            "and the `arguments`."
        ) from error
    if not isinstance(made, base):
        raise EmbeddingModelError(f"{path!r} of `[{table}]` is not a {base.__name__} of LlamaIndex.")
    return made
