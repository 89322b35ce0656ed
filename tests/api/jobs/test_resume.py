"""A run resumes after the service was stopped or killed, without repeating finished model calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.values.events import Event, RunFinished, RunResumed, StepStarted
from support.panel import SYNTHESIS, Panel, role_of
from support.replies import Reply, Request
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, ServiceProcess, follow
from support.waiting import until


class Model:
    """Plays the panel, but does not answer the last request of a run until ``last_answered`` is set."""

    def __init__(self) -> None:
        self.last_answered = False
        self.answered: Counter[str] = Counter()
        self._panel = Panel("-25 °C")

    def __call__(self, request: Request) -> Reply | str:
        if role_of(request) == SYNTHESIS and not self.last_answered:
            return Reply(hang=True)
        self.answered[request.prompt] += 1
        return self._panel(request)


@pytest.fixture
def paused() -> Model:
    """A model that withholds the last response."""
    return Model()


def waits_for_its_last_call(http: httpx.Client, run_id: str) -> bool:
    """Return whether only the last model call of the run is missing."""
    events = http.get(f"/v1/runs/{run_id}/events", params={"follow": False}).json()
    return bool(events) and events[-1]["step"] == "answer"


def test_a_run_resumes_after_a_kill_and_after_a_stop(
    make_candor: Callable[..., Candor], folder: Path, paused: Model
) -> None:
    with ScriptedEndpoint(paused) as endpoint:
        candor = make_candor(llm=endpoint.settings("openai"))
        run_ingest(candor, [folder], "papers", progress=False)
        where = {"CANDOR_LLM__BASE_URL": endpoint.url("openai"), "CANDOR_LLM__MODEL": candor.settings.llm.model}
        with ServiceProcess(candor.settings.home, **where, CANDOR_LLM__PROVIDER="openai") as service:
            run_id = service.http.post("/v1/research", json={"question": QUESTION, "wait": False}).json()["run_id"]
            until(lambda: waits_for_its_last_call(service.http, run_id))
            service.kill()
            assert candor.trace.run(run_id).status == "running", "the killed service could not update it"

            service.start()
            with ThreadPoolExecutor() as threads:
                following = threads.submit(follow, service.http, run_id)
                until(lambda: len(candor.trace.events(run_id)) and resumed(candor.trace.events(run_id)) == 1)
                until(lambda: waits_for_its_last_call(service.http, run_id))
                assert service.stop() == 0
                seen = following.result()
            assert seen[-1]["body"]["type"] != "run_finished", "the run is paused: the stream ends, the run does not"
            assert candor.trace.run(run_id).status == "running"
            assert service.errors == ""

            paused.last_answered = True
            service.start()
            later = follow(service.http, run_id, last=len(seen))
            answer = service.http.get(f"/v1/runs/{run_id}").json()["answer"]

        events = candor.trace.events(run_id)
        assert [event["number"] for event in (*seen, *later)] == list(range(1, len(events) + 1))
        assert (resumed(events), finished(events)) == (2, 1)
        assert answer["status"] == "answered"
        assert set(paused.answered.values()) == {1}, "no finished model call is repeated"
        assert answer["usage"]["model_calls"] == sum(paused.answered.values()), "no call is counted twice"
        steps = [event.body.agent for event in events if isinstance(event.body, StepStarted)]
        assert steps.count("QueryPlanner") == 3, "each attempt of the step is recorded"


def resumed(events: list[Event]) -> int:
    """Return how often the run was resumed."""
    return sum(isinstance(event.body, RunResumed) for event in events)


def finished(events: list[Event]) -> int:
    """Return how often the run ended."""
    return sum(isinstance(event.body, RunFinished) for event in events)
