"""Which agents triage can choose, by capability and by the sources of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from support.panel import TRIAGE, Panel, fast, role_of
from support.replies import Request
from support.scripted_endpoint import ScriptedEndpoint
from support.service import RunningService
from support.waiting import LIMIT_S

WAREHOUSE = {
    "name": "Warehouse",
    "description": "Knows the stock.",
    "capabilities": ["stock levels", "orders"],
    "gives": "notes",
    "tools": ["calculator"],
    "prompt": "# System\nYou know the stock.\n# User\n$question\n\n$evidence",
}
HINT = (
    "Warehouse cannot work in this run, because it uses tools and the run may only use documents. Allow more with "
    "`--sources`, such as `--sources documents,tools`."
)


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(Panel(roles={TRIAGE: fast})) as endpoint:
        yield endpoint


@pytest.fixture
def http(endpoint: ScriptedEndpoint, make_candor: Callable[..., Candor], folder: Path) -> Iterator[httpx.Client]:
    candor = make_candor(llm=endpoint.settings("openai"))
    run_ingest(candor, [folder], "papers", progress=False)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        assert client.post("/v1/agents", json=WAREHOUSE).status_code == 201
        yield client


def triaged(endpoint: ScriptedEndpoint) -> Request:
    [request] = [each for each in endpoint.requests if role_of(each) == TRIAGE]
    return request


def ask(http: httpx.Client, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = http.post("/v1/research", json={"question": "How many are in stock?", **more}).json()
    return answer


def test_triage_sees_capabilities(http: httpx.Client, endpoint: ScriptedEndpoint) -> None:
    ask(http, sources=["documents", "tools"])
    shown = "- Warehouse: Knows the stock. Good at: stock levels, orders. Tools: calculator."
    assert shown in triaged(endpoint).prompt
    assert "Good at: search, reading, answering." in triaged(endpoint).prompt


def test_an_agent_whose_tools_are_not_allowed_is_not_offered_but_named(
    http: httpx.Client, endpoint: ScriptedEndpoint
) -> None:
    answer = ask(http)
    assert "Warehouse" not in triaged(endpoint).prompt
    assert answer["status"] == "insufficient"
    assert HINT in answer["missing"]


def test_every_agent_that_is_offered_for_a_talk_answers(http: httpx.Client, endpoint: ScriptedEndpoint) -> None:
    listed = {each["name"]: each["direct"] for each in http.get("/v1/agents").json()}
    assert {name for name, direct in listed.items() if direct} == {"ForEach", "Reader", "Summarizer", "Warehouse"}
    assert {"QueryPlanner", "Retriever", "Synthesizer"} <= listed.keys()
