"""A service follows a run of another process through the database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sql

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.http.sse import DescribedEvent
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Usage
from multi_agent.storage.trace import RUNNING, Trace
from multi_agent.values.answer import Answer, Status
from multi_agent.values.events import Event, RunFinished, StepStarted
from multi_agent.values.request import Request
from support.postgres import PostgresServer
from support.service import QUESTION, RunningService, model
from support.waiting import LIMIT_S, until

EVENTS = 6
STEP = StepStarted(agent="Checker", instruction="Check it.", reads=())


class OtherProcess:
    """Stores a run as another process does, through its own connections."""

    def __init__(self, url: str, run_id: str) -> None:
        self._trace, self._run_id, self._number = Trace(sql.create_engine(url, pool_pre_ping=True)), run_id, 0
        self._trace.start(run_id, Request(question="How?"), "papers", "model")

    def record(self) -> None:
        """Store the next event."""
        self._trace.record(self._event(STEP))

    def finish(self) -> None:
        """Store the answer with the last event."""
        answer = Answer(run_id=self._run_id, status=Status.ANSWERED, mode="", question="How?", usage=Usage())
        self._trace.finish(answer, self._event(RunFinished(status="answered", reason="", usage=Usage())))

    def _event(self, body: StepStarted | RunFinished) -> Event:
        self._number += 1
        return Event(run_id=self._run_id, number=self._number, at=datetime.now(UTC), body=body)


def follow(http: httpx.Client, run_id: str, other: OtherProcess, after: int = 0) -> Iterator[Event]:
    """Let the other process store an event whenever the one before has arrived, then the end."""
    with http.stream("GET", f"/v1/runs/{run_id}/events", headers={"Last-Event-ID": str(after)}) as response:
        for line in response.iter_lines():
            if line.startswith("data: "):
                event = DescribedEvent.model_validate(json.loads(line.removeprefix("data: ")))
                yield event
                if event.number < EVENTS:
                    other.record()
                elif event.number == EVENTS:
                    other.finish()


def test_events_of_another_process_arrive_in_order(
    postgres_server: PostgresServer, make_candor: Callable[..., Candor]
) -> None:
    candor = make_candor(database_url=postgres_server.url)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        other = OtherProcess(postgres_server.url, "run_other")
        other.record()
        numbers = [event.number for event in follow(http, "run_other", other)]
    assert numbers == list(range(1, EVENTS + 2))


def test_a_restart_of_postgres_loses_no_event(
    postgres_server: PostgresServer, make_candor: Callable[..., Candor]
) -> None:
    candor = make_candor(database_url=postgres_server.url)
    numbers: list[int] = []
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        other = OtherProcess(postgres_server.url, "run_restarted")
        other.record()
        while len(numbers) <= EVENTS:
            with suppress(httpx.RemoteProtocolError):  # a read during the restart ends the stream; clients reconnect
                for event in follow(http, "run_restarted", other, after=len(numbers)):
                    numbers.append(event.number)
                    if event.number == EVENTS // 2:
                        postgres_server.stop()
                        postgres_server.start()
    assert numbers == list(range(1, EVENTS + 2))


def test_two_processes_add_a_run_at_the_same_moment(postgres: str, make_candor: Callable[..., Candor]) -> None:
    """The service that accepted a question and the worker that runs it both add the run."""
    engine = make_candor(database_url=postgres).engine
    worker, first = Trace(sql.create_engine(postgres)), True

    def add_first(connection: object, cursor: object, statement: str, *_: object) -> None:
        nonlocal first
        if statement.startswith("INSERT INTO runs") and first:
            first = False
            worker.create("run_both", Request(question="How?"), "papers", "worker's")

    sql.event.listen(engine, "before_cursor_execute", add_first)
    Trace(engine).create("run_both", Request(question="How?"), "papers", "service's")
    assert not first
    assert worker.run("run_both").model == "worker's"


def test_a_run_that_ends_while_a_process_starts_keeps_its_answer(
    make_candor: Callable[..., Candor],
    folder: Path,
    serve: Callable[..., EndpointSettings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The process that starts lists the run as running; before it looks at the job, another process ends both."""
    candor = make_candor(llm=serve(model))
    run_ingest(candor, [folder], "papers", progress=False)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        run_id = http.post("/v1/research", json={"question": QUESTION, "collection": "papers"}).json()["run_id"]
        until(lambda: http.get(f"/v1/jobs/{run_id}").json()["status"] == "done")
    listed = candor.trace.run(run_id).model_copy(update={"status": RUNNING})
    monkeypatch.setattr(Trace, "unfinished", lambda _: [listed])
    with RunningService(make_candor(llm=candor.settings.llm)):
        assert candor.trace.run(run_id).status == "answered"
