"""The service as programs use it: over HTTP, against the real server, with a scripted model."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.http.sse import DescribedEvent
from api.services.doctor import Doctor
from multi_agent.llm.settings import EndpointSettings
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Status
from multi_agent.values.events import Event, RevisionDeclined
from multi_agent.values.request import Request
from support.service import HELD, NEVER, QUESTION, SCRIPT, SLOWLY, RunningService, follow, model, status
from support.waiting import LIMIT_S, until


def test_a_question_is_asked_and_its_answer_waited_for(http: httpx.Client) -> None:
    response = http.post("/v1/research", json={"question": QUESTION, "collection": "papers"})
    answer = response.json()
    assert (response.status_code, answer["status"]) == (200, "answered")
    [quote] = answer["evidence"]
    assert quote["quote"] == "The Borea 12 works down to -25 °C."

    text = http.get(f"/v1/documents/{quote['document_id']}/text", params={"collection": "papers"}).json()["text"]
    assert text[quote["start"] : quote["end"]] == quote["quote"]
    kept = http.get(f"/v1/runs/{answer['run_id']}").json()
    assert (kept["answer"], kept["run"]["status"]) == (answer, "answered")
    assert answer["run_id"] in [run["run_id"] for run in http.get("/v1/runs").json()]
    calls = http.get(f"/v1/runs/{answer['run_id']}/journal").json()
    assert len(calls) == answer["usage"]["model_calls"]
    assert QUESTION in calls[0]["messages"][1]["content"]


def test_a_part_that_does_not_answer_blocks_one_thread(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    thawed, calls = threading.Event(), list[None]()

    def check_parts(_: Doctor) -> tuple[()]:
        calls.append(None)
        thawed.wait(LIMIT_S)
        return ()

    monkeypatch.setattr("api.http.routes.health._LIMIT_S", 0.1)
    monkeypatch.setattr(Doctor, "check_parts", check_parts)
    try:
        assert [http.get("/readyz").status_code for _ in range(3)] == [503] * 3
    finally:
        thawed.set()
    assert len(calls) == 1
    until(lambda: http.get("/readyz").status_code == 200)


def test_a_run_in_the_background_is_followed_to_its_end(
    http: httpx.Client, ask: Callable[..., str], service_candor: Candor
) -> None:
    run_id = ask(SLOWLY)
    events = follow(http, run_id)
    answer = http.get(f"/v1/runs/{run_id}").json()["answer"]
    assert answer["status"] == "answered", "the answer is there when the stream ends"
    assert [event["number"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["body"]["type"], events[-1]["body"]["type"]) == ("run_started", "run_finished")
    stored = [DescribedEvent.of(each).model_dump(mode="json") for each in service_candor.trace.events(run_id)]
    assert events == stored
    assert http.get(f"/v1/runs/{run_id}/events", params={"follow": False}).json() == stored
    assert http.get(f"/v1/runs/{run_id}/events", params={"follow": False, "after": 3}).json() == stored[3:]
    assert follow(http, run_id) == stored, "also when it has long ended"
    after_the_last = http.get(f"/v1/runs/{run_id}/events", headers={"Last-Event-ID": str(len(stored))})
    assert after_the_last.status_code == 204, "which tells a browser not to come back"


def test_whoever_reconnects_gets_every_event_exactly_once(
    http: httpx.Client, ask: Callable[..., str], service_candor: Candor, resume: threading.Event
) -> None:
    run_id = ask(HELD)
    seen: list[dict[str, Any]] = []
    for _ in range(2):
        seen += follow(http, run_id, last=len(seen), limit=4)
    assert status(http, run_id) == "running", "it was cut off in the middle of the run"
    resume.set()
    while seen[-1]["body"]["type"] != "run_finished":
        seen += follow(http, run_id, last=len(seen), limit=4)
    assert seen == [DescribedEvent.of(each).model_dump(mode="json") for each in service_candor.trace.events(run_id)]


def test_many_follow_one_run_each_from_another_place(
    service_url: str, ask: Callable[..., str], service_candor: Candor
) -> None:
    run_id = ask(SLOWLY)
    followed: dict[int, list[dict[str, Any]]] = {}

    def watch(after: int) -> None:
        with httpx.Client(base_url=service_url, timeout=LIMIT_S) as client:
            followed[after] = follow(client, run_id, last=after)

    watchers = [threading.Thread(target=watch, args=(after,)) for after in range(12)]
    for watcher in watchers:
        watcher.start()
        time.sleep(0.05)
    for watcher in watchers:
        watcher.join()
    stored = [DescribedEvent.of(each).model_dump(mode="json") for each in service_candor.trace.events(run_id)]
    assert followed == {after: stored[after:] for after in range(12)}


def test_a_run_that_another_process_works_on_is_followed_too(http: httpx.Client, service_candor: Candor) -> None:
    """Such as one of ``candor ask`` over a collection of its own; here its events come by another way."""
    service_candor.trace.start("run_elsewhere", Request(question=QUESTION), "other", "scripted")
    first = Event(
        run_id="run_elsewhere", number=1, at="2026-01-01T00:00:00Z", body=RevisionDeclined(reason="to have one")
    )
    service_candor.trace.record(first)
    refused = http.post("/v1/runs/run_elsewhere/cancel")
    assert refused.status_code == 409
    assert "belongs to a service or to a command with another data folder" in refused.json()["detail"]
    later = threading.Timer(0.3, lambda: service_candor.trace.abort("run_elsewhere", Status.FAILED, "Away."))
    later.start()
    assert [event["body"]["type"] for event in follow(http, "run_elsewhere")] == ["revision_declined", "run_finished"]


def test_a_client_that_goes_away_does_not_stop_its_run(http: httpx.Client, resume: threading.Event) -> None:
    def running() -> list[str]:
        runs = http.get("/v1/runs", params={"status": "running"}).json()
        return [run["run_id"] for run in runs if run["question"] == HELD]

    body = json.dumps({"question": HELD, "collection": "papers"}).encode()
    host, port = http.base_url.host, http.base_url.port
    with socket.create_connection((host, port)) as goes_away:
        head = f"Host: {host}:{port}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        goes_away.sendall(f"POST /v1/research HTTP/1.1\r\n{head}\r\n\r\n".encode() + body)
        until(running)
    [run_id] = running()
    resume.set()
    until(lambda: status(http, run_id) != "running")
    assert status(http, run_id) == "answered"


def test_a_run_is_cancelled_and_stored_as_such(http: httpx.Client, ask: Callable[..., str]) -> None:
    run_id = ask(NEVER)
    follow(http, run_id, limit=1)
    cancelled = http.post(f"/v1/runs/{run_id}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert http.get(f"/v1/runs/{run_id}").json()["answer"]["status"] == "cancelled"
    assert follow(http, run_id)[-1]["body"]["status"] == "cancelled"
    again = http.post(f"/v1/runs/{run_id}/cancel")
    assert (again.status_code, again.json()["status"]) == (200, "cancelled")


def test_two_run_at_once_and_the_others_wait_their_turn(http: httpx.Client, ask: Callable[..., str]) -> None:
    first, second = ask(NEVER), ask(NEVER)
    until(lambda: [status(http, first), status(http, second)] == ["running", "running"])
    third, fourth, fifth = ask(NEVER), ask(NEVER), ask(QUESTION)
    assert {status(http, third), status(http, fourth), status(http, fifth)} == {"waiting"}
    assert http.get(f"/v1/runs/{third}").json()["answer"] is None

    assert http.post(f"/v1/runs/{third}/cancel").json()["status"] == "cancelled"
    [only] = follow(http, third)
    assert (only["number"], only["body"]["reason"]) == (1, "The run was cancelled before it started.")
    http.post(f"/v1/runs/{first}/cancel")
    until(lambda: status(http, fourth) == "running")
    assert status(http, fifth) == "waiting", "first come, first served"
    http.post(f"/v1/runs/{second}/cancel")
    assert follow(http, fifth)[-1]["body"]["status"] == "answered", "one that waits can be followed from the start"


def test_search_finds_passages_while_a_run_has_the_collection_open(http: httpx.Client, ask: Callable[..., str]) -> None:
    follow(http, ask(NEVER), limit=1)
    found = http.post("/v1/search", json={"query": "cold weather operation", "collection": "papers", "limit": 2}).json()
    assert found[0]["name"] == "pumps.md"
    assert len(found) == 2
    assert found[0]["score"] > found[1]["score"]
    where = {"filter": {"where": {"language": "de"}}}
    german = http.post("/v1/search", json={"query": "cold weather operation", "collection": "papers", **where})
    assert (german.status_code, "Values in the collection: en." in german.text) == (422, True)


def test_a_search_by_words_keeps_phrases_and_excludes_words(http: httpx.Client) -> None:
    def found(query: str, mode: str = "words") -> list[str]:
        body = {"query": query, "collection": "papers", "mode": mode}
        return [hit["text"] for hit in http.post("/v1/search", json=body).json()]

    assert found("zzz") == []
    assert len(found("zzz", "meaning")) > 1
    assert all("cold weather" in " ".join(text.casefold().split()) for text in found('"cold weather"', "hybrid"))
    assert found('"weather cold"', "hybrid") == []
    assert not any("cold" in text.casefold().split() for text in found("weather -cold", "hybrid"))
    refused = http.post("/v1/search", json={"query": "-cold", "collection": "papers"})
    assert refused.status_code == 422
    assert "only excludes words" in refused.text


def test_markup_in_a_document_is_json_and_never_a_page(http: httpx.Client) -> None:
    [evil] = [each for each in http.get("/v1/documents?collection=papers").json() if each["name"] == "evil.txt"]
    for response in (
        http.get(f"/v1/documents/{evil['id']}/text?collection=papers"),
        http.post("/v1/search", json={"query": "loud heat pumps", "collection": "papers"}),
        http.get("/v1/documents", params={"collection": SCRIPT}),
    ):
        assert response.headers["content-type"] in ("application/json", "application/problem+json")
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in response.headers["content-security-policy"]
        assert SCRIPT in json.dumps(response.json())


def test_a_document_is_taken_out_while_the_service_has_the_collection_open(
    http: httpx.Client, service_candor: Candor, tmp_path: Path
) -> None:
    passing = tmp_path / "passing.txt"
    passing.write_text("The zephyr turbine hums.\n")
    run_ingest(service_candor, [passing], "passing", progress=False)

    def names() -> list[str]:
        found = http.post("/v1/search", json={"query": "zephyr turbine", "collection": "passing"}).json()
        return [hit["name"] for hit in found]

    assert names() == ["passing.txt"]
    [known] = http.get("/v1/documents", params={"collection": "passing"}).json()
    removed = http.delete(f"/v1/documents/{known['id']}", params={"collection": "passing"}).json()
    assert removed == {"removed": known["id"], "name": "passing.txt", "chunks": 1}
    assert names() == []
    [gone] = http.get("/v1/documents", params={"collection": "passing", "state": "removed"}).json()
    assert gone["id"] == known["id"]


def test_no_event_is_lost_while_a_slow_database_is_read(
    make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path
) -> None:
    class SlowTrace(Trace):
        def events(self, run_id: str, after: int = 0) -> list[Event]:
            found = super().events(run_id, after)
            time.sleep(0.4)  # in which the run goes on
            return found

    candor = make_candor(llm=serve(model))
    run_ingest(candor, [folder], "papers", progress=False)
    candor.trace = SlowTrace(candor.engine)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        run_id = http.post("/v1/research", json={"question": SLOWLY, "wait": False}).json()["run_id"]
        numbers = [event["number"] for event in follow(http, run_id)]
        assert numbers == [event.number for event in candor.trace.events(run_id)]
