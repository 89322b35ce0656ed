"""A revoked key receives no further events, over server-sent events and over a web socket."""

from __future__ import annotations

import threading
from collections.abc import Callable

import httpx
import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from api.auth.keys import KeyRequest
from api.auth.permissions import Right
from api.bootstrap import Candor
from api.http.middleware import stream_guard
from support.service import HELD, status
from support.waiting import LIMIT_S, until

Ask = Callable[[str], str]


@pytest.fixture
def key(service_candor: Candor, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, str]]:
    """The id of a key that may read, and its header. Streams check it before each message."""
    monkeypatch.setattr(stream_guard, "_RECHECK_S", 0)
    made = service_candor.keys.add(KeyRequest(name="Reader", rights={"papers": Right.READ}))
    return made.key.id, {"Authorization": f"Bearer {made.secret}"}


def test_the_stream_of_a_revoked_key_ends(
    http: httpx.Client, service_candor: Candor, key: tuple[str, dict[str, str]], ask: Ask, resume: threading.Event
) -> None:
    run_id = ask(HELD)
    with http.stream("GET", f"/v1/runs/{run_id}/events", headers=key[1]) as response:
        lines = response.iter_lines()
        assert next(lines).startswith("id: ")
        service_candor.keys.revoke(key[0])
        resume.set()
        assert "run_finished" not in "".join(lines)
    until(lambda: status(http, run_id) == "answered")


def test_the_web_socket_of_a_revoked_key_is_closed(
    http: httpx.Client, service_candor: Candor, key: tuple[str, dict[str, str]], ask: Ask, resume: threading.Event
) -> None:
    run_id = ask(HELD)
    url = f"{str(http.base_url).rstrip('/')}/v1/runs/{run_id}/ws".replace("http", "ws", 1)
    with connect(url, additional_headers=key[1], open_timeout=LIMIT_S) as socket:
        assert socket.recv(timeout=LIMIT_S)
        service_candor.keys.revoke(key[0])
        resume.set()
        heard: list[str] = []
        with pytest.raises(ConnectionClosedError, match="no longer valid"):
            heard.extend(map(str, iter(lambda: socket.recv(timeout=LIMIT_S), None)))
        assert "run_finished" not in "".join(heard)
    until(lambda: status(http, run_id) == "answered")
