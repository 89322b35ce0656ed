"""A run while it happens: in the answer to the question itself, and through a web socket."""

from __future__ import annotations

import json
import socket as sockets
from collections.abc import Callable
from itertools import islice
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from api.bootstrap import Candor
from api.http.sse import DescribedEvent
from support.service import QUESTION, SLOWLY, status
from support.waiting import LIMIT_S

Socket = Callable[..., ClientConnection]


@pytest.fixture
def socket(service_url: str) -> Socket:
    """``socket("/v1/…")`` opens a web socket."""

    def opened(path: str, **options: Any) -> ClientConnection:
        return connect(service_url.replace("http", "ws", 1) + path, open_timeout=LIMIT_S, **options)

    return opened


def test_a_question_is_answered_with_its_events_and_then_with_the_answer(
    http: httpx.Client, service_candor: Candor
) -> None:
    asked = {"question": QUESTION, "collection": "papers", "stream": True}
    with http.stream("POST", "/v1/research", json=asked) as response:
        assert (response.status_code, response.headers["content-type"].split(";")[0]) == (200, "text/event-stream")
        run_id = response.headers["location"].removeprefix("/v1/runs/")
        *events, last = [block.splitlines() for block in response.read().decode().split("\n\n") if block]
    stored = [DescribedEvent.of(each).model_dump(mode="json") for each in service_candor.trace.events(run_id)]
    assert [json.loads(data.removeprefix("data: ")) for _, data in events] == stored
    assert [number for number, _ in events] == [f"id: {event['number']}" for event in stored]
    assert last[0] == "event: answer"
    answer = json.loads(last[1].removeprefix("data: "))
    assert (answer["status"], answer) == ("answered", http.get(f"/v1/runs/{run_id}").json()["answer"])


def test_what_is_refused_is_a_problem_and_no_stream(http: httpx.Client) -> None:
    refused = http.post("/v1/research", json={"question": QUESTION, "collection": "none", "stream": True})
    assert (refused.status_code, refused.headers["content-type"]) == (404, "application/problem+json")
    both = http.post("/v1/research", json={"question": QUESTION, "stream": True, "wait": False})
    assert both.status_code == 422
    assert "cannot be combined" in both.json()["detail"]


def test_a_socket_tells_every_event_once_and_closes_after_the_last(
    socket: Socket, ask: Callable[..., str], http: httpx.Client, service_candor: Candor
) -> None:
    run_id = ask(SLOWLY)
    with socket(f"/v1/runs/{run_id}/ws") as opened:
        heard = [json.loads(message) for message in opened]
    assert opened.close_code == 1000
    assert heard == [DescribedEvent.of(each).model_dump(mode="json") for each in service_candor.trace.events(run_id)]
    assert heard[-1]["body"]["type"] == "run_finished"
    assert status(http, run_id) == "answered", "the answer is there when the socket closes"
    with socket(f"/v1/runs/{run_id}/ws?after=3") as opened:
        assert [json.loads(message) for message in opened] == heard[3:]


def test_whoever_opens_a_socket_again_misses_nothing(
    socket: Socket, ask: Callable[..., str], service_candor: Candor
) -> None:
    run_id = ask(SLOWLY)
    heard: list[dict[str, Any]] = []
    while not heard or heard[-1]["body"]["type"] != "run_finished":
        with socket(f"/v1/runs/{run_id}/ws?after={len(heard)}") as opened:
            heard += [json.loads(message) for message in islice(opened, 4)]
    assert heard == [DescribedEvent.of(each).model_dump(mode="json") for each in service_candor.trace.events(run_id)]


@pytest.mark.parametrize(
    ("path", "headers", "code", "says"),
    [
        ("/v1/runs/run_none/ws", {}, 404, "no run 'run_none'"),
        ("/v1/runs/run_none/ws?after=-1", {}, 422, "query.after"),
        ("/v1/runs/run_none/ws", {"Origin": "https://example.com"}, 403, "Only the service's own pages"),
        ("/v1/none/ws", {}, 403, ""),
    ],
)
def test_a_socket_that_may_not_be_opened_is_a_problem(
    socket: Socket, path: str, headers: dict[str, str], code: int, says: str
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        socket(path, additional_headers=headers)
    response = refused.value.response
    assert response.status_code == code
    if says:
        assert response.headers["content-type"] == "application/problem+json"
        assert says in json.loads(response.body)["detail"]


def test_a_socket_for_another_host_is_refused(service_url: str) -> None:
    """A page whose own name was made to point to this machine could else watch what is researched."""
    there = sockets.create_connection(("127.0.0.1", int(service_url.rpartition(":")[2])))
    with pytest.raises(InvalidStatus) as refused:
        connect("ws://candor.example.com/v1/runs/run_none/ws", sock=there, open_timeout=LIMIT_S)
    assert refused.value.response.status_code == 421
