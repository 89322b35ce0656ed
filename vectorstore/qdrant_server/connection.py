"""The connection to a Qdrant server or cluster. It retries requests while no node can answer."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from itertools import count, cycle
from typing import TYPE_CHECKING, TypeVar

import tenacity

from vectorstore.qdrant_server.errors import explain, is_transient, require_version
from vectorstore.settings import without_password

if TYPE_CHECKING:
    import httpx
    from qdrant_client import QdrantClient

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
