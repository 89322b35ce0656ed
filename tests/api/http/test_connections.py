"""Clients that hold connections open cannot stop the service."""

from __future__ import annotations

import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from api.bootstrap import Candor
from api.settings import ServiceSettings
from support.service import RunningService, ServiceProcess
from support.waiting import LIMIT_S, until

FILES = 256
BODY = "POST /v1/search HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"


@contextmanager
def connections(url: str, number: int) -> Iterator[list[socket.socket]]:
    """Open connections that send nothing."""
    address = httpx.URL(url)
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection((address.host, address.port or 80))) for _ in range(number)]


def ended(connection: socket.socket) -> bool:
    """Return whether the service has closed the connection."""
    connection.setblocking(False)
    try:
        return connection.recv(4096) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def is_up(url: str) -> bool:
    try:
        return httpx.get(f"{url.rstrip('/')}/healthz", timeout=LIMIT_S).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.parametrize("per_address", ["200", "100000"])
def test_idle_connections_beyond_the_file_limit_do_not_stop_the_service(tmp_path: Path, per_address: str) -> None:
    service = ServiceProcess(
        tmp_path / "home",
        CANDOR_SERVICE__HEADER_TIMEOUT_S="5",
        CANDOR_SERVICE__CONNECTIONS_PER_ADDRESS=per_address,
        CANDOR_SERVICE__CONNECTIONS="100000",
    )
    own = resource.getrlimit(resource.RLIMIT_NOFILE)
    service.before = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    with service:
        resource.setrlimit(resource.RLIMIT_NOFILE, (own[1], own[1]))
        try:
            with connections(service.url, 3 * FILES) as idle:
                until(lambda: all(map(ended, idle)))  # refused, or timed out
                until(lambda: is_up(service.url))
                assert service.process.poll() is None
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, own)


@pytest.fixture
def start(make_candor: Callable[..., Candor]) -> Callable[..., RunningService]:
    """Return a function that makes a service with these settings."""
    return lambda **service: RunningService(make_candor(service=ServiceSettings(**service)))


def test_a_connection_over_the_limit_of_its_address_is_refused(start: Callable[..., RunningService]) -> None:
    with start(connections_per_address=3) as service, connections(service.url, 3):
        with connections(service.url, 1) as [refused]:
            refused.settimeout(LIMIT_S)
            assert refused.recv(4096).startswith(b"HTTP/1.1 503")
        assert not is_up(service.url)
    # The limit counts open connections, not all that there were.


def test_closed_connections_count_no_longer(start: Callable[..., RunningService]) -> None:
    with start(connections_per_address=2) as service:
        for _ in range(10):
            with connections(service.url, 1):
                pass
        until(lambda: is_up(service.url))
        for _ in range(3):  # web sockets leave the protocol of HTTP
            with pytest.raises(InvalidStatus, match="404"):
                connect(f"{service.url.replace('http', 'ws', 1)}/v1/runs/none/ws", open_timeout=LIMIT_S)
            until(lambda: is_up(service.url))


@pytest.mark.parametrize("sent", ["", "GET /healthz HTTP/1.1\r\nHo", BODY])
def test_a_request_that_stops_half_way_is_closed(
    start: Callable[..., RunningService], sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("header_timeout_s", "stall_timeout_s"):
        monkeypatch.setattr(ServiceSettings, name, 1)
    with start() as service, connections(service.url, 1) as [slow]:
        slow.sendall(sent.format(httpx.URL(service.url).netloc.decode()).encode())
        until(lambda: ended(slow))


def test_a_slow_but_steady_request_is_answered(
    start: Callable[..., RunningService], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("header_timeout_s", "stall_timeout_s"):
        monkeypatch.setattr(ServiceSettings, name, LIMIT_S)
    with start() as service, connections(service.url, 1) as [slow]:
        for part in ("GET /hea", "lthz HTTP/1.1\r\n", f"Host: {httpx.URL(service.url).netloc.decode()}\r\n", "\r\n"):
            slow.sendall(part.encode())
        slow.settimeout(LIMIT_S)
        assert slow.recv(4096).startswith(b"HTTP/1.1 200")
