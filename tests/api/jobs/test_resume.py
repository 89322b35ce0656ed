"""A run goes on where it was, after the service was ended or killed; what was paid for is not paid for again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.events import Event, RunFinished, RunResumed, StepStarted
from support.panel import SYNTHESIS, Panel, role_of
from support.scripted_endpoint import Reply, Request, ScriptedEndpoint
from support.service import QUESTION, ServiceProcess, follow, until


class Model:
    """Plays the panel, and does not answer the last request of a run until it is told to."""

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
    """The model of a test."""
    return Model()


def waits_for_its_last_call(http: httpx.Client, run_id: str) -> bool:
    """Whether the run has come as far as it can."""
    events = http.get(f"/v1/runs/{run_id}/events", params={"follow": False}).json()
    return bool(events) and events[-1]["step"] == "answer"


def test_a_run_goes_on_after_the_service_was_killed_and_after_it_was_ended(
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
            assert candor.trace.run(run_id).status == "running", "nobody could tell of its end"

            service.start()
            with ThreadPoolExecutor() as threads:
                following = threads.submit(follow, service.http, run_id)
                until(lambda: len(candor.trace.events(run_id)) and resumed(candor.trace.events(run_id)) == 1)
                until(lambda: waits_for_its_last_call(service.http, run_id))
                assert service.stop() == 0
                seen = following.result()
            assert seen[-1]["body"]["type"] != "run_finished", "it rests: the stream ends, and the run does not"
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
        assert set(paused.answered.values()) == {1}, "no finished call of the model was made again"
        assert answer["usage"]["model_calls"] == sum(paused.answered.values()), "nor was one counted twice"
        steps = [event.body.agent for event in events if isinstance(event.body, StepStarted)]
        assert steps.count("QueryPlanner") == 3, "the steps are there as often as they were taken"


def resumed(events: list[Event]) -> int:
    """How often the run went on."""
    return sum(isinstance(event.body, RunResumed) for event in events)


def finished(events: list[Event]) -> int:
    """How often the run ended."""
    return sum(isinstance(event.body, RunFinished) for event in events)
