"""What an answer says about how it was reached: coverage, reasoning, checks and understanding, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from support.panel import PLANNER, TRIAGE, Panel, fast, plan, role_of
from support.replies import Request
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, RunningService
from support.waiting import LIMIT_S

HOW = "Its limit of -25 °C is the lowest temperature at which it works."
STEPS = (("find", "Retriever"), ("look", "DataInspector"), ("extract", "Extractor"), ("answer", "Synthesizer"))


@pytest.fixture
def panel() -> Panel:
    """A panel that scans one of two documents, or answers with the Reader in mode fast."""

    def triage(request: Request) -> str:
        assert role_of(request) == TRIAGE
        return fast(request)

    scan = json.dumps(plan(*STEPS, method="scan", documents=["pumps.md"]))
    return Panel("-25 °C", roles={PLANNER: lambda _: scan, TRIAGE: triage}, explains=HOW)


@pytest.fixture
def candor(panel: Panel, make_candor: Callable[..., Candor], folder: Path) -> Iterator[Candor]:
    with ScriptedEndpoint(panel) as endpoint:
        candor = make_candor(llm=endpoint.settings("openai"))
        run_ingest(candor, [folder], "papers", progress=False)
        yield candor


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def ask(http: httpx.Client, question: str, mode: str = "high") -> dict[str, Any]:
    answer: dict[str, Any] = http.post("/v1/research", json={"question": question, "mode": mode}).json()
    assert answer["status"] == "answered", answer
    return answer


def test_a_scan_of_a_part_is_told_with_the_status(http: httpx.Client, run: Any, candor: Candor) -> None:
    answer = ask(http, QUESTION)
    told = "only 1 of 2 documents read completely"
    assert (answer["coverage"]["scanned"], answer["coverage"]["partial"]) == (1, True)
    assert answer["basis"].endswith(f"; {told}")
    assert answer["missing"] == [told]
    exported = http.get(f"/v1/runs/{answer['run_id']}/export", params={"format": "md"}).text
    assert exported.count(told) == 2, "beside the status, and under what is left open"

    named = ask(http, "Which figures does pumps.md have?")
    assert (named["coverage"]["partial"], named["missing"]) == (False, [])
    assert told not in named["basis"]


def test_the_reasoning_is_what_the_agents_said_beside_the_result_of_the_checks(http: httpx.Client) -> None:
    answer = ask(http, QUESTION)
    lines = answer["reasoning"].splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Retriever", "DataInspector", "Extractor", "Synthesizer"]
    assert lines[1] == "DataInspector: prose. Easy to read."
    assert lines[2].startswith("Extractor: Read 1 passage in 1 call")
    assert lines[3] == f"Synthesizer: Read 1 passage of pumps.md. {HOW}"
    assert answer["checks"].startswith("Not checked: “It says so"), answer["checks"]
    assert answer["checks"] not in answer["reasoning"]

    quick = ask(http, QUESTION, "fast")
    assert quick["reasoning"] == f"Reader: {QUESTION} Read 2 passages of soup.txt, pumps.md. {HOW}"
    assert quick["checks"].startswith("Not checked: “It says so"), quick["checks"]
    assert quick["checks"] not in quick["reasoning"]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("", "The quotes state it."),
        ("It also works at -40 °C.", "The explanation of the model was left out. “- 40 °c” stands against “- 25 °c”."),
    ],
)
def test_the_reasoning_of_the_model_has_no_figure_that_its_quotes_lack(
    http: httpx.Client, panel: Panel, written: str, told: str
) -> None:
    panel.explains = written
    assert ask(http, QUESTION, "fast")["reasoning"].endswith(told)


@pytest.mark.parametrize("mode", ["high", "fast"])
def test_the_question_is_understood_with_its_domain(http: httpx.Client, run: Any, candor: Candor, mode: str) -> None:
    answer = ask(http, QUESTION, mode)
    events = http.get(f"/v1/runs/{answer['run_id']}/events", params={"follow": False}).json()
    [made] = [event["body"] for event in events if event["body"]["type"] == "plan_made"]
    assert made["understanding"]["domain"] == "pumps"
    assert made["understanding"]["requirements"]
    assert "domain: pumps" in run("trace", answer["run_id"], "--home", candor.settings.home).out
