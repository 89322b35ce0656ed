"""The service is killed several times (SIGKILL) while it answers questions.

Every run ends exactly once, and finished model calls are not repeated. The client retries each request, with its
idempotency key, until it gets a response.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.values.events import Event, RunFinished, RunResumed
from support.panel import Panel, role_of
from support.ports import free_port
from support.replies import Reply, Request
from support.scripted_endpoint import ScriptedEndpoint
from support.service import ServiceProcess
from support.waiting import LIMIT_S, until

KILLS, QUESTIONS, CONCURRENT = 3, 9, 4
MAX_CALLS = 8  # model calls before a kill
CALL_S = 0.15

pytestmark = pytest.mark.timeout(1800)


class Client(threading.Thread):
    """Asks all questions, one after the other; ``runs`` are the ids of their runs."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.runs: list[str] = []
        self._url = url

    def run(self) -> None:
        for number in range(QUESTIONS):
            self.runs.append(self._ask(number))
            time.sleep(random.uniform(0, 0.5))

    def _ask(self, number: int) -> str:
        asked = {"question": f"Question <{number}>: how cold may it be?", "wait": False}
        while True:
            try:
                response = httpx.post(
                    f"{self._url}/v1/research", json=asked, headers={"Idempotency-Key": str(number)}, timeout=LIMIT_S
                )
            except httpx.HTTPError:  # the service is down, or was killed before it responded
                time.sleep(0.05)
            else:
                if response.status_code == 202:
                    return str(response.json()["run_id"])


def test_kills_lose_no_run_and_repeat_no_model_call(make_candor: Callable[..., Candor], folder: Path) -> None:
    panel, port = Panel("-25 °C"), free_port()
    asked_at: dict[tuple[str, str], list[float]] = {}

    def model(request: Request) -> Reply:
        asked_at.setdefault((question_in(request.prompt), role_of(request)), []).append(time.time())
        played = panel(request)
        assert isinstance(played, str)
        return Reply(text=played, delay=CALL_S)

    with ScriptedEndpoint(model) as endpoint:
        candor = make_candor(llm=endpoint.settings("openai"))
        run_ingest(candor, [folder], "papers", progress=False)
        llm = candor.settings.llm
        service = ServiceProcess(
            candor.settings.home, port,
            CANDOR_LLM__PROVIDER="openai", CANDOR_LLM__BASE_URL=llm.base_url or "", CANDOR_LLM__MODEL=llm.model,
            CANDOR_SERVICE__CONCURRENT_RUNS=str(CONCURRENT),
        )  # fmt: skip
        client = Client(f"http://127.0.0.1:{port}")
        client.start()
        for _ in range(KILLS):
            service.start()
            enough = len(endpoint.requests) + random.randint(0, MAX_CALLS)
            until(lambda enough=enough: len(endpoint.requests) >= enough)
            time.sleep(random.uniform(0, CALL_S))
            service.kill()
        with service:
            client.join(timeout=LIMIT_S)
            assert len(set(client.runs)) == QUESTIONS, "each question became one run"
            wait_for_all(service.http)
            assert service.stop() == 0
            assert service.errors == ""

    trace, resumed = candor.trace, 0
    assert {run.run_id for run in trace.runs()} == set(client.runs), "no other run exists"
    for run_id in client.runs:
        events, journal = trace.events(run_id), trace.journal_entries(run_id)
        assert trace.answer(run_id).status == "answered"
        assert [event.number for event in events] == list(range(1, len(events) + 1))
        assert count(events, RunFinished) == 1
        assert asked_again(journal, asked_at) == []
        assert trace.answer(run_id).usage.model_calls == len(journal), "no call is counted twice"
        resumed += count(events, RunResumed)
    print(f"{KILLS} kills, {QUESTIONS} runs, resumed {resumed} times, {len(endpoint.requests)} requests")
    assert resumed > 0, "some kills interrupted a run"


def wait_for_all(http: httpx.Client) -> None:
    """Wait until every job is done."""
    latest = time.monotonic() + LIMIT_S
    while statuses(http) != {"done": QUESTIONS}:
        assert time.monotonic() < latest, f"not all jobs ended: {statuses(http)}"
        time.sleep(0.2)


def statuses(http: httpx.Client) -> Counter[str]:
    return Counter(job["status"] for job in http.get("/v1/jobs", params={"limit": 1000}).json())


def count(events: list[Event], body: type) -> int:
    return sum(isinstance(event.body, body) for event in events)


def asked_again(journal: list[JournalEntry], asked_at: dict[tuple[str, str], list[float]]) -> list[str]:
    """Return the model requests made after the journal had their response. A run makes one of each kind."""
    assert len({entry.response_model for entry in journal}) == len(journal)
    found = []
    for entry in journal:
        asked = asked_at[question_in(entry.messages[-1].content), entry.response_model]
        found += [entry.response_model for at in asked if at > entry.recorded_at.timestamp()]
    return found


def question_in(prompt: str) -> str:
    """Return the number of the question, which every prompt of its run contains."""
    return re.findall(r"Question <(\d+)>", prompt)[-1]
