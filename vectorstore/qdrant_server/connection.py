"""The connection to a Qdrant server or cluster, its requests, and the translation of its errors.

It retries requests while no node can answer.
"""

from __future__ import annotations

import json
import logging
import math
import re
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from itertools import count, cycle
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import httpx
import tenacity

from vectorstore.errors import CollectionMismatch, CollectionNotFound, StoreError, StoreKeyRejected, StoreUnavailable
from vectorstore.models import ChunkFilter
from vectorstore.qdrant_schema import BM25, DENSE, POSITION, excluded_keywords, required_keywords
from vectorstore.settings import VectorStoreSettings, without_password

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models


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
        return StoreKeyRejected(
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


def properties(dimension: int, settings: VectorStoreSettings) -> dict[str, Any]:
    """Return the properties of a new collection."""
    from qdrant_client import models

    on_disk = "vectors" in settings.on_disk
    int8 = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
    quantized = models.ScalarQuantization(scalar=int8) if settings.quantization == "int8" else None
    dense = models.VectorParams(size=dimension, distance=models.Distance.COSINE, on_disk=on_disk)
    index = models.SparseIndexParams(on_disk=on_disk)
    return {
        "vectors_config": {DENSE: dense.model_copy(update={"quantization_config": quantized})},
        "sparse_vectors_config": {BM25: models.SparseVectorParams(modifier=models.Modifier.IDF, index=index)},
        "on_disk_payload": "payload" in settings.on_disk,
        "shard_number": settings.shards,
        "replication_factor": settings.replicas,
        "write_consistency_factor": settings.write_consistency,
    }


def to_filter(where: ChunkFilter) -> models.Filter:
    """Return the filter in Qdrant's form."""
    from qdrant_client import models

    def match(pairs: list[tuple[str, list[str]]]) -> list[models.Condition]:
        return [models.FieldCondition(key=key, match=models.MatchAny(any=keywords)) for key, keywords in pairs]

    required = match(required_keywords(where))
    if where.positions:
        first, last = where.positions
        required.append(models.FieldCondition(key=POSITION, range=models.Range(gte=first, lte=last)))
    return models.Filter(must=required, must_not=match(excluded_keywords(where)))


T = TypeVar("T")
CONNECT_S = 3.0
"""Maximum seconds to connect. A machine that is switched off does not refuse connections."""
LONGEST_PAUSE_S = 2.0
HASTE_S = 2.0
"""Seconds to wait for a node's answer to a read before the next node is asked."""
_answer_s: ContextVar[float] = ContextVar("answer_s", default=math.inf)

log = logging.getLogger(__name__)


class ServerConnection:
    """The nodes of a server or cluster, by URL. Requests go to the node that answered last."""

    def __init__(self, clients: Mapping[str, QdrantClient], retry_s: float = 0) -> None:
        self._clients, self._retry_s = dict(clients), retry_s
        self._urls = list(clients)
        self._last = 0  # the node that answered last
        self._failing_since = math.inf  # when requests began to fail, if none succeeded since
        self._checked: set[str] = set()  # nodes whose version is known to be supported

    def call(self, request: Callable[[QdrantClient], T], *, retry: bool = True, write: bool = False) -> T:
        """Send an idempotent request and return its result. Raises StoreError.

        Try every node. With ``retry``, try again until one answers, for at most ``retry_s``. After that, later requests
        try each node once until one succeeds. A read is first tried on each node in haste.
        """
        nodes = cycle((*range(self._last, len(self._urls)), *range(self._last)))
        hasty = 0 if write or len(self._urls) == 1 else len(self._urls)
        attempts = count()

        def attempt() -> T:
            node = next(nodes)
            limit = _answer_s.set(HASTE_S if next(attempts) < hasty else math.inf)
            try:
                result = request(self._supported(self._urls[node]))
            finally:
                _answer_s.reset(limit)
            self._last, self._failing_since = node, math.inf
            return result

        try:
            return self._retrying(retry, hasty)(attempt)
        except Exception as error:
            if explained := explain(error, ", ".join(map(without_password, self._urls))):
                raise explained from error
            raise

    def ask_all(self, request: Callable[[QdrantClient], T]) -> dict[str, T]:
        """Send a read to every node of a cluster. Return the results by URL. Raises StoreError.

        A node that does not answer within ``HASTE_S`` is left out. A node reads its own copies if it has them.
        """
        answers: dict[str, T] = {}
        for url in self._urls if len(self._urls) > 1 else ():
            limit = _answer_s.set(HASTE_S)
            try:
                answers[without_password(url)] = request(self._supported(url))
            except Exception as error:
                if not is_transient(error):
                    raise explain(error, without_password(url)) or error from error
            finally:
                _answer_s.reset(limit)
        return answers

    def _supported(self, url: str) -> QdrantClient:
        """Return the client of a node. On its first use, raises StoreUnavailable if the server is too old."""
        client = self._clients[url]
        if url not in self._checked:
            require_version(client.info().version, without_password(url))
            self._checked.add(url)
        return client

    def _retrying(self, retry: bool, hasty: int) -> tenacity.Retrying:
        nodes = len(self._urls)
        pause = tenacity.wait_random_exponential(multiplier=0.1, max=LONGEST_PAUSE_S)

        def stop(state: tenacity.RetryCallState) -> bool:
            return state.attempt_number >= nodes + hasty and (not retry or self._has_failed_long(state))

        def wait(state: tenacity.RetryCallState) -> float:
            return 0 if state.attempt_number % nodes else pause(state)  # no pause before the next node

        def report(state: tenacity.RetryCallState) -> None:
            if state.attempt_number == nodes and state.outcome:
                log.warning("Qdrant cannot answer, retrying for %.0f s: %s", self._retry_s, state.outcome.exception())

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(is_transient),
            stop=stop,
            wait=wait,
            before_sleep=report,
            reraise=True,
        )

    def _has_failed_long(self, state: tenacity.RetryCallState) -> bool:
        """Return whether this request or all requests of the process have failed for ``retry_s``."""
        now = time.monotonic()
        self._failing_since = min(self._failing_since, now)
        return now - min(self._failing_since, state.start_time) >= self._retry_s


def limit_times(request: httpx.Request) -> None:
    """Set the timeouts to connect and to read, which ``QdrantClient`` has no options for."""
    timeout = request.extensions["timeout"]
    timeout["connect"] = min(CONNECT_S, timeout["connect"] or CONNECT_S)
    timeout["read"] = min(_answer_s.get(), timeout["read"])
