"""Limits the number of connections, and the time in which a client must send a request.

uvicorn limits requests but not connections. Without a limit, idle connections use up the process's file descriptors.
"""

import asyncio
import resource
from collections import Counter
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.settings import ServiceSettings

BACKLOG = 64
"""Connections that asyncio accepts before it runs their protocols, which may refuse them."""
_RESERVED = 256
"""File descriptors reserved for everything else: accepted connections, database, collections, workers, uploads."""
_MOST_FILES = 65_536
"""The limit on open files if the system sets none."""
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n\r\nToo many connections. Try again in a few seconds.\n"
)


class ConnectionLimits:
    """Counts the open connections of a service, in total and by address."""

    def __init__(self, service: ServiceSettings) -> None:
        self.header_timeout_s, self.stall_timeout_s = service.header_timeout_s, service.stall_timeout_s
        files = _raise_file_limit()
        self._most = min(service.connections, max(files - _RESERVED, files // 4))
        self._most_each = service.connections_per_address
        self._open: Counter[str] = Counter()

    def admit(self, address: str) -> bool:
        """Count a new connection unless a limit is reached. Return whether it was counted."""
        if self._open.total() >= self._most or self._open[address] >= self._most_each:
            return False
        self._open[address] += 1
        return True

    def release(self, address: str) -> None:
        """Remove a connection from the counts."""
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]


def make_protocol(limits: ConnectionLimits) -> type[H11Protocol]:
    """Return uvicorn's HTTP protocol with these limits."""

    class LimitedProtocol(H11Protocol):
        """Refuses connections over the limits. Closes connections that do not send a complete request in time."""

        _admitted: str | None = None
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            address = self.client[0] if self.client else ""
            self.app_state = {**self.app_state, "peer": address}  # uvicorn replaces the client of proxied requests
            if limits.admit(address):
                self._admitted = address
                self._start_timer(limits.header_timeout_s)
                return
            transport.write(_REFUSAL)
            transport.close()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            if self._admitted is not None:
                limits.release(self._admitted)
            super().connection_lost(exc)

        def handle_websocket_upgrade(self, event: h11.Request) -> None:
            super().handle_websocket_upgrade(event)
            upgraded: Any = self.transport.get_protocol()  # from now on, only it is told that the connection is lost
            lost, address = upgraded.connection_lost, self._admitted or ""

            def release(exc: Exception | None) -> None:
                limits.release(address)
                lost(exc)

            upgraded.connection_lost = release

        def data_received(self, data: bytes) -> None:
            if self._admitted is None:
                return
            super().data_received(data)
            if self.conn.their_state is h11.SEND_BODY:
                self._stop_timer()  # each part of a body restarts the time
                self._start_timer(limits.stall_timeout_s)
            elif self.conn.their_state is not h11.IDLE:
                self._stop_timer()  # the request is complete
            elif self._timer is None:
                self._start_timer(limits.header_timeout_s)

        def _start_timer(self, seconds: float) -> None:
            self._timer = self.loop.call_later(seconds, self._give_up, seconds)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self, seconds: float) -> None:
            self._timer = None
            if self.flow.read_paused:  # the service reads slowly, not the client
                self._start_timer(seconds)
            else:
                self.transport.abort()

    return LimitedProtocol


def _raise_file_limit() -> int:
    """Raise the soft limit on open files to the hard one, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
