"""Errors of a Qdrant server, translated to errors of the store with a remedy."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import httpx

from vectorstore.errors import CollectionMismatch, CollectionNotFound, StoreError, StoreUnavailable

OLDEST = (1, 16)
"""The first version of Qdrant that stores metadata of collections."""

_START = (
    "Start it (`docker run -p 6333:6333 qdrant/qdrant`) or correct `store.url`. Without `store.url`, collections are "
    "stored in the local data folder."
)
_TRANSIENT = (408, 429, 500, 502, 503, 504)
_MISSING = re.compile(r"Collection `(.+?)` doesn't exist")
_NOISE = re.compile(r", details: \[\], metadata: MetadataMap \{ headers: \{.*?\} \}")
_LONGEST = 500
"""Characters of a server's message that are repeated."""


class _Known(NamedTuple):
    """A message of Qdrant: a pattern for it, the error, and what to do."""

    pattern: str
    kind: type[StoreError]
    happened: str
    remedy: str
    transient: bool = True


_KNOWN = (
    _Known("no space left|out of disk|available disk space", StoreUnavailable, "A Qdrant node has no free disk space.",
           "Enlarge its volume or delete collections, then retry. Stored data is kept.", transient=False),
    _Known("out of memory", StoreUnavailable, "A Qdrant node has too little memory.",
           "Add memory, or create the collection again with `store.on_disk` and `store.quantization`.",
           transient=False),
    _Known("vector dimension error", CollectionMismatch, "The collection on the server has another dimension.",
           "Use the embedding model that it was created with, or delete it and ingest again.", transient=False),
    _Known("collection `.*` already exists", CollectionMismatch, "The collection exists with other settings.",
           "Choose another name, or delete the collection and ingest again.", transient=False),
    _Known("consensus", StoreUnavailable, "The Qdrant cluster cannot change its collections.",
           "More than half of its nodes must run and reach each other. Start the missing nodes, then retry."),
    _Known("active replica|write consistency|transport error|failed to connect|tcp connect error|status: unavailable",
           StoreUnavailable, "A Qdrant node with a part of the collection cannot be reached.",
           "Start the node. Collections with `store.replicas = 2` can be used while one node is down."),
    _Known("timeout|timed out|deadline", StoreUnavailable, "The Qdrant server did not complete a request in time.",
           "Retry when it is less busy, or raise `store.timeout_s`."),
)  # fmt: skip


def is_transient(error: BaseException) -> bool:
    """Return whether the request may succeed later or on another node."""
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, ResponseHandlingException):
        return isinstance(error.source, httpx.TransportError)
    if isinstance(error, UnexpectedResponse):
        known = _find_known(_message(error))
        return error.status_code in _TRANSIENT and (known is None or known.transient)
    return isinstance(error, ResourceExhaustedResponse)


def explain(error: Exception, address: str) -> StoreError | None:
    """Return the error of the store for an error of the client. None if it is another exception, which is a bug."""
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, ResponseHandlingException):
        return StoreUnavailable(_no_response(error.source, address))
    if isinstance(error, json.JSONDecodeError):
        return StoreUnavailable(_no_response(error, address))
    if isinstance(error, UnexpectedResponse):
        return _explain_response(error.status_code or 0, _message(error))
    if isinstance(error, ResourceExhaustedResponse):
        return StoreUnavailable(
            f"The Qdrant server limits requests: {error}. Send fewer at once, or raise its limit (strict mode)."
        )
    return None


def require_version(version: str, address: str) -> None:
    """Raise StoreUnavailable if the server is older than ``OLDEST``."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST:
        raise StoreUnavailable(
            f"The Qdrant server at {address} has version {version}, but Candor needs {'.'.join(map(str, OLDEST))} or "
            "later, which stores metadata of collections. Upgrade the server, one minor version after the other."
        )


def _no_response(source: Exception, address: str) -> str:
    if isinstance(source, httpx.TimeoutException):
        return (
            f"The Qdrant server at {address} did not answer in time. Retry when it is less busy, raise "
            f"`store.timeout_s`, or correct `store.url`."
        )
    if isinstance(source, httpx.TransportError):
        return f"The Qdrant server at {address} does not respond: {source}. {_START}"
    return f"The server at {address} does not answer as Qdrant does: {str(source)[:_LONGEST]}. Correct `store.url`."


def _explain_response(status: int, message: str) -> StoreError:
    if status in (401, 403):
        return StoreUnavailable(
            "The Qdrant server rejects the API key. Set `store.api_key` to a key with write permission."
        )
    if status == 404 and (missing := _MISSING.search(message)):
        return CollectionNotFound(missing[1])
    if known := _find_known(message):
        return known.kind(f"{known.happened} {known.remedy} The server reports: {message}")
    if status in (408, 504):
        return _explain_response(0, f"timeout (status {status}) {message}".strip())
    if status == 413:
        return StoreUnavailable(
            "The Qdrant server or a proxy rejects a request because of its size. Raise the limit "
            "(`service.max_request_size_mb` in Qdrant's settings)."
        )
    return StoreUnavailable(f"The Qdrant server rejected a request (status {status}): {message}. See its log.")


def _find_known(message: str) -> _Known | None:
    return next((known for known in _KNOWN if re.search(known.pattern, message, re.IGNORECASE)), None)


def _message(error: object) -> str:
    """Return the message in the body of a response, or the body if it is not of the usual form."""
    body = getattr(error, "content", b"").decode(errors="replace")
    try:
        text = str(json.loads(body)["status"]["error"])
    except (ValueError, KeyError, TypeError):
        text = body
    return " ".join(_NOISE.sub("", text).split())[:_LONGEST]
