"""Research in a child process of the service, and what happens when either of the two ends."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import pytest
from sqlalchemy.exc import OperationalError

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.errors import HomeError, WorkerUnavailable
from api.http.middleware.metrics import Metrics
from api.jobs import service_worker
from api.jobs.assembly import _cancel
from api.jobs.locks import research_lock
from api.jobs.models import Job
from api.jobs.queue import JobQueue
from api.jobs.runner import Jobs
from api.problems import problem_of
from api.settings import ServiceSettings
from base.rpc import Channel
from multi_agent.settings.research import ResearchSettings
from multi_agent.values.events import Event, RevisionDeclined
from support.panel import SYNTHESIS, Panel, role_of
from support.processes import live_children
from support.replies import Reply, Request
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, RunningService, ServiceProcess, follow
from support.waiting import LIMIT_S, until

SEPARATE = ServiceSettings(research_process=True)


class Model:
    """Plays the panel. It leaves the last request of each run unanswered until ``answer_last`` is set."""

    def __init__(self) -> None:
        self.answer_last = False
        self.hanging = 0
        self.answered: Counter[str] = Counter()
        self._panel = Panel("-25 °C")

    def __call__(self, request: Request) -> Reply | str:
        if role_of(request) == SYNTHESIS and not self.answer_last:
            self.hanging += 1
            return Reply(hang=True)
        self.answered[request.prompt] += 1
        return self._panel(request)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def endpoint(model: Model) -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(model) as started:
        yield started


@pytest.fixture
def candor(make_candor: Callable[..., Candor], endpoint: ScriptedEndpoint, folder: Path) -> Candor:
    candor = make_candor(llm=endpoint.settings("openai"), service=SEPARATE)
    run_ingest(candor, [folder], "papers", progress=False)
    return candor


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        until(child_processes)  # on a busy machine, the service answers first
        yield client


def ask(http: httpx.Client, question: str = QUESTION) -> str:
    """Start a run and return its id."""
    return str(http.post("/v1/research", json={"question": question, "wait": False}).json()["run_id"])


def child_processes(service: int | None = None, module: str = "api.jobs.assembly") -> list[psutil.Process]:
    """Return the live children of a process (default: this one) that run a module."""
    return live_children(module, service)


def count(events: list[Event], kind: str) -> int:
    return sum(event.body.type == kind for event in events)


def test_a_child_process_of_lower_priority_researches(http: httpx.Client, candor: Candor, model: Model) -> None:
    [process] = child_processes()
    until(lambda: process.nice() > psutil.Process().nice())
    run_id = ask(http)
    until(lambda: model.hanging == 1)
    asked = [each.raddr.port for each in process.net_connections() if each.raddr and each.status == "ESTABLISHED"]
    assert httpx.URL(candor.settings.llm.base_url or "").port in asked
    assert "candor_research_process_resident_memory_bytes" in http.get("/metrics").text
    model.answer_last = True
    http.post(f"/v1/runs/{run_id}/cancel")


@pytest.mark.parametrize("error", [OperationalError("UPDATE", {}, Exception("disk full")), HomeError("disk full")])
async def test_a_cancel_that_meets_a_full_disk_is_answered_with_503(error: Exception) -> None:
    """The worker reported errors of the database as a defect, status 500."""

    class Full(Jobs):
        def __init__(self) -> None: ...

        async def cancel(self, job_id: str) -> Job:
            raise error

    here, there = socket.socketpair()
    service, worker = await Channel.over(here), await Channel.over(there)
    await _cancel(worker, Full(), "run_1")
    news = service_worker.News.model_validate_json((await service.read())[0])
    assert news.failure
    problem = problem_of(news.failure.to_exception())
    assert (problem.status, "disk full" in problem.detail) == (503, True)
    service.close()
    worker.close()


def test_research_in_process_gives_the_same_run(
    make_candor: Callable[..., Candor], endpoint: ScriptedEndpoint, folder: Path, model: Model
) -> None:
    model.answer_last = True
    prompts, events = [], []
    for separate in (True, False):
        candor = make_candor(
            llm=endpoint.settings("openai"), service=ServiceSettings(research_process=separate),
            research=ResearchSettings(remember_plans=False),
        )  # fmt: skip
        run_ingest(candor, [folder], "papers", progress=False)
        before = len(endpoint.requests)
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
            assert len(child_processes()) == separate
            events.append([event["body"]["type"] for event in follow(http, ask(http))])
        prompts.append([request.prompt for request in endpoint.requests[before:]])
    assert events[0] == events[1]
    assert sorted(prompts[0]) == sorted(prompts[1])


def test_a_run_resumes_after_the_process_is_killed(
    http: httpx.Client, candor: Candor, model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    run_id = ask(http)
    with ThreadPoolExecutor() as threads:
        following = threads.submit(follow, http, run_id)
        until(lambda: model.hanging == 1)
        stored = candor.trace.events(run_id)
        unpublished = RevisionDeclined(reason="Stored before the process was killed, but not published.")
        candor.trace.record(stored[-1].model_copy(update={"number": len(stored) + 1, "body": unpublished}))
        model.answer_last = True
        [killed] = child_processes()
        killed.kill()
        followed = following.result()

    events = candor.trace.events(run_id)
    assert [event["number"] for event in followed] == list(range(1, len(events) + 1))
    assert unpublished.reason in [event["body"].get("reason") for event in followed]
    assert (count(events, "run_resumed"), count(events, "run_finished")) == (1, 1)
    assert candor.trace.answer(run_id).status == "answered"
    assert set(model.answered.values()) == {1}, "no finished model call was repeated"
    assert f"The research process {killed.pid} ended (SIGKILL)" in caplog.text


def test_a_failing_listener_does_not_end_the_run(
    candor: Candor, model: Model, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> None:
        raise ValueError("The metrics are broken.")

    monkeypatch.setattr(Metrics, "count_event", fail)
    model.answer_last = True
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        run_id = ask(http)
        until(lambda: candor.trace.run(run_id).ended)
    assert candor.trace.answer(run_id).status == "answered"
    assert f"A listener failed on event 1 of run {run_id}." in caplog.text


async def test_a_cancel_says_that_no_process_can_be_started(candor: Candor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_worker, "_CANCEL_S", 0.1)
    worker = service_worker.ServiceWorker(candor.settings, JobQueue(candor.settings))
    here, there = socket.socketpair()
    with there:
        worker._channel = await Channel.over(here)
        worker.failure = "The research process 7 ended (exit status 1)."
        with pytest.raises(WorkerUnavailable, match="process 7 ended"):
            await worker.cancel("run_1")
        worker._channel.close()


def test_a_run_fails_when_its_process_ends_twice(http: httpx.Client, candor: Candor, model: Model) -> None:
    run_id = ask(http)
    for times in (1, 2):
        until(lambda times=times: model.hanging == times)
        [process] = child_processes()
        process.kill()
    answer = http.get(f"/v1/runs/{run_id}").json()["answer"] if follow(http, run_id) else {}
    assert answer["status"] == "failed"
    assert "and so did the next one" in answer["reasoning"]
    until(lambda: http.get(f"/v1/jobs/{run_id}").json()["status"] == "failed")  # a moment after its run
    assert http.get(f"/v1/jobs/{run_id}").json()["error"] == answer["reasoning"]

    model.answer_last = True
    assert follow(http, ask(http))[-1]["body"]["status"] == "answered"


def test_only_the_run_that_ends_its_process_fails(http: httpx.Client, model: Model) -> None:
    runs = {ask(http), ask(http)}
    until(lambda: model.hanging == 2)
    [process] = child_processes()
    process.kill()
    until(lambda: model.hanging == 3)
    jobs = {run: http.get(f"/v1/jobs/{run}").json() for run in runs}
    [cause] = [run for run, job in jobs.items() if job["status"] == "running"]
    [other] = runs - {cause}
    assert jobs[other]["waits_for"].startswith("another job that ran when the research process ended")
    model.answer_last = True
    [process] = child_processes()
    process.kill()
    assert {run: follow(http, run)[-1]["body"]["status"] for run in runs} == {cause: "failed", other: "answered"}


def test_an_evaluation_resumes_in_the_next_process(http: httpx.Client, candor: Candor, model: Model) -> None:
    question = {"id": "cold", "question": QUESTION, "accepted": ["-25 °C"]}
    asked = {"collection": "papers", "questions": [question], "configuration": {"label": "high", "mode": "high"}}
    job = http.post("/v1/evaluations", json=asked).json()
    until(lambda: model.hanging == 1)
    model.answer_last = True
    [process] = child_processes()
    process.kill()
    until(lambda: http.get(f"/v1/jobs/{job['id']}").json()["status"] not in ("waiting", "running"))
    assert http.get(f"/v1/jobs/{job['id']}").json()["result"]["state"] == "finished"
    [row] = http.get(f"/v1/evaluations/{job['id']}").json()["result"]["rows"]
    assert row["status"] == "answered"
    assert count(candor.trace.events(row["run_id"]), "run_resumed") == 1
    assert set(model.answered.values()) == {1}


def test_a_cancelled_run_ends_in_the_process(
    http: httpx.Client, candor: Candor, endpoint: ScriptedEndpoint, model: Model
) -> None:
    run_id = ask(http)
    until(lambda: model.hanging == 1)
    with ThreadPoolExecutor() as threads:  # two people at once
        for cancelled in [threads.submit(http.post, f"/v1/runs/{run_id}/cancel") for _ in range(2)]:
            assert cancelled.result().status_code == 200
    assert follow(http, run_id)[-1]["body"]["reason"] == "The run was cancelled."
    assert count(candor.trace.events(run_id), "run_finished") == 1
    until(lambda: endpoint.requests[-1].abandoned)


def test_a_waiting_run_is_cancelled(
    make_candor: Callable[..., Candor], endpoint: ScriptedEndpoint, folder: Path, model: Model
) -> None:
    service = ServiceSettings(research_process=True, concurrent_runs=1)
    candor = make_candor(llm=endpoint.settings("openai"), service=service)
    run_ingest(candor, [folder], "papers", progress=False)
    with RunningService(candor) as running, httpx.Client(base_url=running.url, timeout=LIMIT_S) as http:
        ask(http)
        until(lambda: model.hanging == 1)
        waiting = ask(http, "Does it wait?")
        with ThreadPoolExecutor() as threads:
            following = threads.submit(follow, http, waiting)
            assert http.post(f"/v1/jobs/{waiting}/cancel").json()["status"] == "cancelled"
            [end] = following.result()
    assert end["body"]["reason"] == "The run was cancelled before it started."
    assert model.hanging == 1


def test_a_run_is_cancelled_although_its_process_does_not_react(
    http: httpx.Client, candor: Candor, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = ask(http)
    until(lambda: model.hanging == 1)
    monkeypatch.setattr(service_worker, "_CANCEL_S", 0.5)
    [process] = child_processes()
    process.suspend()
    assert http.post(f"/v1/jobs/{run_id}/cancel").json()["status"] == "cancelled"
    assert not process.is_running()
    assert candor.trace.answer(run_id).status == "cancelled"


def test_a_service_stops_although_its_research_process_does_not_react(
    candor: Candor, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_worker, "_STOP_S", 0.5)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        run_id = ask(http)
        until(lambda: model.hanging == 1)
        [process] = child_processes()
        process.suspend()
    assert not process.is_running()
    assert candor.trace.run(run_id).status == "running"

    model.answer_last = True
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        assert follow(http, run_id)[-1]["body"]["status"] == "answered"


def test_a_service_without_a_run_stops_although_its_research_process_hangs(
    candor: Candor, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.answer_last = True
    monkeypatch.setattr(service_worker, "_STOP_S", 0.5)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        assert follow(http, ask(http))[-1]["body"]["status"] == "answered"
        [process] = child_processes()
        process.suspend()
    assert not process.is_running()


def test_an_error_of_the_store_fails_the_run(make_candor: Callable[..., Candor], folder: Path) -> None:
    """The collection is deleted while the run waits for the model."""
    panel, asked, deleted = Panel("-25 °C"), threading.Event(), threading.Event()

    def deleting_model(request: Request) -> Reply | str:
        asked.set()
        deleted.wait(LIMIT_S)
        return panel(request)

    with ScriptedEndpoint(deleting_model) as endpoint:
        candor = make_candor(llm=endpoint.settings("openai"), service=SEPARATE)
        run_ingest(candor, [folder], "papers", progress=False)
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
            run_id = ask(http)
            asked.wait()
            assert http.delete("/v1/collections/papers?now=true").json() == {"dropped": "papers"}
            deleted.set()
            end = follow(http, run_id)[-1]["body"]
    assert end["status"] == "failed"
    assert "closed" in end["reason"]


def test_no_process_outlives_a_killed_service(candor: Candor, model: Model) -> None:
    with ServiceProcess(candor.settings.home, **endpoint_environment(candor)) as service:
        [process] = child_processes(service.process.pid)
        ask(service.http)
        until(lambda: model.hanging == 1)
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C may do to the whole service
        os.kill(process.pid, signal.SIGTERM)
        assert process.is_running()
        [searches] = child_processes(service.process.pid, "vectorstore.remote.process")
        service.kill()
        process.wait(timeout=LIMIT_S)
        searches.wait(timeout=LIMIT_S)


def test_a_service_waits_for_the_previous_research_process(candor: Candor, model: Model) -> None:
    model.answer_last = True
    with research_lock(candor.settings.home):  # held by the previous process
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
            run_id = ask(http)
            assert http.get(f"/v1/jobs/{run_id}").json()["status"] == "waiting"
            assert candor.trace.events(run_id) == []
        assert candor.trace.run(run_id).status == "waiting", "ending the service does not wait for the run"
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        assert follow(http, run_id)[-1]["body"]["status"] == "answered"


def test_readiness_reports_a_process_that_failed_to_start(candor: Candor) -> None:
    with ExitStack() as held:
        held.enter_context(research_lock(candor.settings.home))  # the process waits for it and is not ready
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
            [process] = child_processes()
            assert http.get("/readyz").json()["checks"][-1]["detail"] == f"in process {process.pid}"
            process.kill()
            until(lambda: http.get("/readyz").status_code == 503)
            [failed] = [check for check in http.get("/readyz").json()["checks"] if not check["ok"]]
            assert failed["name"] == "research"
            assert f"process {process.pid} ended (SIGKILL)" in failed["detail"]

            held.close()
            until(lambda: http.get("/readyz").status_code == 200)


def endpoint_environment(candor: Candor) -> dict[str, str]:
    """Return the environment that sets the model endpoint of a service process."""
    llm = candor.settings.llm
    return {
        "CANDOR_LLM__PROVIDER": "openai",
        "CANDOR_LLM__BASE_URL": llm.base_url or "",
        "CANDOR_LLM__MODEL": llm.model,
    }
