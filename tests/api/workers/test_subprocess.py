"""Research goes on in a process beside the service's: nobody notices, whatever becomes of either of the two."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import ServiceSettings
from api.workers.panel import only_researcher
from multi_agent.events import Event, RevisionDeclined
from multi_agent.settings import ResearchSettings
from support.panel import SYNTHESIS, Panel, role_of
from support.scripted_endpoint import Reply, Request, ScriptedEndpoint
from support.service import QUESTION, RunningService, ServiceProcess, follow, until


class Model:
    """Plays the panel, and does not answer the last request of a run until it is told to."""

    def __init__(self) -> None:
        self.last_answered = False
        self.hanging = 0
        self.answered: Counter[str] = Counter()
        self._panel = Panel("-25 °C")

    def __call__(self, request: Request) -> Reply | str:
        if role_of(request) == SYNTHESIS and not self.last_answered:
            self.hanging += 1
            return Reply(hang=True)
        self.answered[request.prompt] += 1
        return self._panel(request)


@pytest.fixture
def paused() -> Model:
    """The model of a test."""
    return Model()


@pytest.fixture
def endpoint(paused: Model) -> Iterator[ScriptedEndpoint]:
    """Where it is asked."""
    with ScriptedEndpoint(paused) as started:
        yield started


@pytest.fixture
def candor(make_candor: Callable[..., Candor], endpoint: ScriptedEndpoint, folder: Path) -> Candor:
    """What the service is over."""
    made = make_candor(llm=endpoint.settings("openai"))
    run_ingest(made, [folder], "papers", progress=False)
    return made


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    """A client of the service."""
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=60) as client:
        yield client


def ask(http: httpx.Client, question: str = QUESTION) -> str:
    """Begin a run; gives its id."""
    return str(http.post("/v1/research", json={"question": question, "wait": False}).json()["run_id"])


def researching(service: int | None = None, module: str = "api.workers.child") -> list[psutil.Process]:
    """The processes that research for a service; for the one in this process, if none is named."""
    return [
        child for child in psutil.Process(service).children()
        if child.status() != psutil.STATUS_ZOMBIE and module in " ".join(child.cmdline())
    ]  # fmt: skip


def count(events: list[Event], kind: str) -> int:
    """How many events are of the kind."""
    return sum(event.body.type == kind for event in events)


def test_another_process_researches_and_is_polite_to_who_searches(
    http: httpx.Client, candor: Candor, paused: Model
) -> None:
    [process] = researching()
    until(lambda: process.nice() > psutil.Process().nice())
    run_id = ask(http)
    until(lambda: paused.hanging == 1)
    asked = [each.raddr.port for each in process.net_connections() if each.raddr and each.status == "ESTABLISHED"]
    assert httpx.URL(candor.settings.llm.base_url or "").port in asked
    assert "candor_research_process_resident_memory_bytes" in http.get("/metrics").text
    paused.last_answered = True
    http.post(f"/v1/runs/{run_id}/cancel")


def test_without_it_the_service_researches_itself(
    make_candor: Callable[..., Candor], endpoint: ScriptedEndpoint, folder: Path, paused: Model
) -> None:
    """And finds the same, tells the same, and asks the model the same."""
    paused.last_answered = True
    asked, told = [], []
    for apart in (True, False):
        candor = make_candor(
            llm=endpoint.settings("openai"), service=ServiceSettings(research_process=apart),
            research=ResearchSettings(remember_plans=False),
        )  # fmt: skip
        run_ingest(candor, [folder], "papers", progress=False)
        before = len(endpoint.requests)
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=60) as http:
            assert len(researching()) == apart
            told.append([event["body"]["type"] for event in follow(http, ask(http))])
        asked.append([request.prompt for request in endpoint.requests[before:]])
    assert told[0] == told[1]
    assert sorted(asked[0]) == sorted(asked[1])


def test_a_run_goes_on_when_the_process_is_killed_and_its_followers_miss_nothing(
    http: httpx.Client, candor: Candor, paused: Model, caplog: pytest.LogCaptureFixture
) -> None:
    run_id = ask(http)
    with ThreadPoolExecutor() as threads:
        following = threads.submit(follow, http, run_id)
        until(lambda: paused.hanging == 1)
        stored = candor.trace.events(run_id)
        untold = RevisionDeclined(reason="It was stored, and the process killed before it had told of it.")
        asyncio.run(candor.trace.record(stored[-1].model_copy(update={"number": len(stored) + 1, "body": untold})))
        paused.last_answered = True
        [killed] = researching()
        killed.kill()
        told = following.result()

    events = candor.trace.events(run_id)
    assert [event["number"] for event in told] == list(range(1, len(events) + 1))
    assert untold.reason in [event["body"].get("reason") for event in told]
    assert (count(events, "run_resumed"), count(events, "run_finished")) == (1, 1)
    assert candor.trace.answer(run_id).status == "answered"
    assert set(paused.answered.values()) == {1}, "no finished call of the model was made again"
    assert f"The research process {killed.pid} ended (SIGKILL)" in caplog.text


def test_a_run_in_which_the_process_ends_twice_fails_and_others_are_researched(
    http: httpx.Client, candor: Candor, paused: Model
) -> None:
    run_id = ask(http)
    for times in (1, 2):
        until(lambda times=times: paused.hanging == times)
        [process] = researching()
        process.kill()
    answer = http.get(f"/v1/runs/{run_id}").json()["answer"] if follow(http, run_id) else {}
    assert answer["status"] == "failed"
    assert "second one to end" in answer["reasoning"]
    until(lambda: http.get(f"/v1/jobs/{run_id}").json()["status"] == "failed")  # a moment after its run
    assert http.get(f"/v1/jobs/{run_id}").json()["error"] == answer["reasoning"]

    paused.last_answered = True
    assert follow(http, ask(http))[-1]["body"]["status"] == "answered"


def test_an_evaluation_goes_on_in_the_next_process(http: httpx.Client, candor: Candor, paused: Model) -> None:
    question = {"id": "cold", "question": QUESTION, "accepted": ["-25 °C"]}
    asked = {"collection": "papers", "questions": [question], "configuration": {"label": "high", "mode": "high"}}
    job = http.post("/v1/evaluations", json=asked).json()
    until(lambda: paused.hanging == 1)
    paused.last_answered = True
    [process] = researching()
    process.kill()
    until(lambda: http.get(f"/v1/jobs/{job['id']}").json()["status"] != "running")
    assert http.get(f"/v1/jobs/{job['id']}").json()["result"]["state"] == "finished"
    [row] = http.get(f"/v1/evaluations/{job['id']}").json()["result"]["rows"]
    assert row["status"] == "answered"
    assert count(candor.trace.events(row["run_id"]), "run_resumed") == 1
    assert set(paused.answered.values()) == {1}


def test_a_cancelled_run_is_ended_there(
    http: httpx.Client, candor: Candor, endpoint: ScriptedEndpoint, paused: Model
) -> None:
    run_id = ask(http)
    until(lambda: paused.hanging == 1)
    with ThreadPoolExecutor() as threads:  # two people at once
        for cancelled in [threads.submit(http.post, f"/v1/runs/{run_id}/cancel") for _ in range(2)]:
            assert cancelled.result().status_code == 200
    assert follow(http, run_id)[-1]["body"]["reason"] == "The run was cancelled."
    assert count(candor.trace.events(run_id), "run_finished") == 1
    until(lambda: endpoint.requests[-1].abandoned)


def test_what_goes_wrong_in_the_store_is_told_as_ever(make_candor: Callable[..., Candor], folder: Path) -> None:
    """The collection is deleted while the run, in the other process, waits for the model."""
    panel, asked, deleted = Panel("-25 °C"), threading.Event(), threading.Event()

    def model(request: Request) -> Reply | str:
        asked.set()
        deleted.wait(30)
        return panel(request)

    with ScriptedEndpoint(model) as endpoint:
        candor = make_candor(llm=endpoint.settings("openai"))
        run_ingest(candor, [folder], "papers", progress=False)
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=60) as http:
            run_id = ask(http)
            asked.wait()
            assert http.delete("/v1/collections/papers").json() == {"dropped": "papers"}
            deleted.set()
            end = follow(http, run_id)[-1]["body"]
    assert end["status"] == "failed"
    assert "closed" in end["reason"]


def test_no_process_is_left_when_the_service_was_killed(candor: Candor, paused: Model) -> None:
    with ServiceProcess(candor.settings.home, **where(candor)) as service:
        [process] = researching(service.process.pid)
        ask(service.http)
        until(lambda: paused.hanging == 1)
        os.killpg(process.pid, signal.SIGINT)  # which Ctrl-C sends to others than the service alone
        os.kill(process.pid, signal.SIGTERM)
        assert process.is_running()
        [embedding] = researching(service.process.pid, "vectorstore.embedding.minilm_process")
        service.kill()
        process.wait(timeout=30)
        embedding.wait(timeout=30)


def test_the_next_service_waits_for_the_process_of_the_one_before(candor: Candor, paused: Model) -> None:
    paused.last_answered = True
    with only_researcher(candor.settings.home):  # as a process does that has not ended yet
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=60) as http:
            run_id = ask(http)
            until(lambda: http.get(f"/v1/jobs/{run_id}").json()["status"] == "running")
            assert candor.trace.events(run_id) == []
        assert candor.trace.run(run_id).status == "waiting", "the service was ended, and did not wait for it"
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=60) as http:
        assert follow(http, run_id)[-1]["body"]["status"] == "answered"


def test_a_process_that_ends_before_it_begins_is_told_until_another_one_is_tried(candor: Candor) -> None:
    with (
        only_researcher(candor.settings.home),  # so that it does not begin before it is killed
        RunningService(candor) as service,
        httpx.Client(base_url=service.url, timeout=60) as http,
    ):
        [process] = researching()
        assert http.get("/readyz").json()["checks"][-1]["detail"] == f"in process {process.pid}"
        process.kill()
        until(lambda: http.get("/readyz").status_code == 503)
        [failed] = [check for check in http.get("/readyz").json()["checks"] if not check["ok"]]
        assert failed["name"] == "research"
        assert f"process {process.pid} ended (SIGKILL)" in failed["detail"]

        ask(http)
        until(lambda: http.get("/readyz").status_code == 200)


def where(candor: Candor) -> dict[str, str]:
    """The endpoint, for a service in a process of its own."""
    llm = candor.settings.llm
    return {
        "CANDOR_LLM__PROVIDER": "openai",
        "CANDOR_LLM__BASE_URL": llm.base_url or "",
        "CANDOR_LLM__MODEL": llm.model,
    }
