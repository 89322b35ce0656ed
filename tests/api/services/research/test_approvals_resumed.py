"""A run still waits for its approval after the service was killed, and repeats no call."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from api.auth.permissions import LOCAL_CALLER
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.services.research.approvals import Decision, decide, open_approvals
from multi_agent.settings.tools import ToolSettings
from support.effects.effects import LOG
from support.effects.effects import PACKAGE as TOOLS
from support.handyman import TASK, calls, report, rounds
from support.launching.launcher import PACKAGE as AGENTS
from support.scripted_endpoint import ScriptedEndpoint
from support.service import ServiceProcess, follow
from support.waiting import until

ASKED = {**TASK.model_dump(mode="json", exclude_defaults=True), "wait": False}


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    """A model that calls ``launch`` twice, one call after the other."""
    first, second = (calls(("launch", {"what": what})) for what in ("rocket", "balloon"))
    with ScriptedEndpoint(rounds(first, second, last=report("Both."))) as started:
        yield started


@pytest.fixture
def candor(make_candor: Callable[..., Candor], endpoint: ScriptedEndpoint, folder: Path) -> Candor:
    """Candor on the home folder of the service, in another process."""
    made = make_candor(llm=endpoint.settings("openai"), tools=ToolSettings(packages=(TOOLS,)))
    run_ingest(made, [folder], "papers", progress=False)
    return made


def waiting_for(candor: Candor, what: str) -> str:
    """Return the id of the approval of that launch, as soon as the run waits for it."""
    found: list[str] = []

    def asked() -> bool:
        found[:] = [each.approval_id for each in open_approvals(candor.tools.approvals, candor.trace, LOCAL_CALLER)
                    if each.arguments == {"what": what}]  # fmt: skip
        return bool(found)

    until(asked)
    return found[0]


def test_approvals_outlive_the_service(candor: Candor, endpoint: ScriptedEndpoint) -> None:
    settings = {
        "CANDOR_LLM__BASE_URL": endpoint.url("openai"),
        "CANDOR_LLM__MODEL": candor.settings.llm.model,
        "CANDOR_LLM__PROVIDER": "openai",
        "CANDOR_TOOLS__PACKAGES": json.dumps([TOOLS]),
        "CANDOR_RESEARCH__AGENT_PACKAGES": json.dumps([AGENTS]),
    }
    with ServiceProcess(candor.settings.home, **settings) as service:
        run_id = service.http.post("/v1/research", json=ASKED).json()["run_id"]
        rocket = waiting_for(candor, "rocket")
        service.kill()
        decide(
            candor.tools.approvals, candor.trace, rocket, Decision(decision="approved"), LOCAL_CALLER
        )  # while the service is down

        service.start()
        balloon = waiting_for(candor, "balloon")
        assert candor.tools.sandbox(run_id).read(LOG).decode().split() == ["rocket"]
        service.kill()

        service.start()
        until(lambda: sum(event.body.type == "run_resumed" for event in candor.trace.events(run_id)) == 2)
        assert waiting_for(candor, "balloon") == balloon
        approved = service.http.post(f"/v1/approvals/{balloon}", json={"decision": "approved"})
        assert approved.status_code == 200, approved.text
        follow(service.http, run_id)
        assert "Both." in service.http.get(f"/v1/runs/{run_id}").json()["answer"]["answer"]

    assert candor.tools.sandbox(run_id).read(LOG).decode().split() == ["rocket", "balloon"]
    assert set(Counter(request.prompt for request in endpoint.requests).values()) == {1}
