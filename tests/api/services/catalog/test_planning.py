"""Planning over HTTP and with the CLI: tools of agents in the prompts, questions to several agents, and tool steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import ResearchSettings
from multi_agent.settings.tools import ToolSettings
from support.handyman import calls, done
from support.panel import (
    EXPLANATION,
    INSPECTION,
    PLANNER,
    QUERIES,
    READING,
    REVISION,
    SYNTHESIS,
    TRIAGE,
    Panel,
    give_up,
    planned,
    revised,
    role_of,
    step,
    synthesis,
    triage,
)
from support.replies import Reply, Request
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, RunningService
from support.waiting import LIMIT_S, until
from support.web import Page, Web

Run = Callable[..., Any]
NOTES, TURN = "Remarks", "ToolTurn"
SCOUT = {
    "name": "Scout",
    "description": "Searches with its tools.",
    "gives": "answer",
    "prompt": "# System\nYou search.\n# User\n$question\n",
    "tools": ["search_documents"],
    "skills": ["plain-words"],
}
PIRATE = {
    "name": "Pirate",
    "description": "Answers as a pirate would.",
    "gives": "answer",
    "prompt": "# System\nYou are a pirate.\n# User\nAhoy: $question\n\n$passages\n",
}
SKILL = {"name": "plain-words", "instructions": "Short sentences."}


@dataclass
class Recorder:
    """A panel whose roles a test can replace. ``requests`` has all requests by role."""

    roles: dict[str, Callable[[Request], Reply | str]] = field(default_factory=dict)
    requests: dict[str, list[Request]] = field(default_factory=dict)

    def __call__(self, request: Request) -> Reply | str:
        self.requests.setdefault(role_of(request), []).append(request)
        return Panel("-25 °C", "blue", roles=self.roles)(request)

    def prompt(self, role: str) -> str:
        return self.requests[role][-1].prompt


@dataclass
class Service:
    """A running service with two documents."""

    candor: Candor
    panel: Recorder
    http: httpx.Client
    web: Web

    def ask(self, question: str = QUESTION, **more: Any) -> dict[str, Any]:
        response = self.http.post("/v1/research", json={"question": question, **more})
        assert response.status_code in (200, 502), response.text
        body: dict[str, Any] = response.json()
        answer: dict[str, Any] = body if response.status_code == 200 else body["answer"]
        return answer

    def bodies(self, run_id: str, wanted: str) -> list[dict[str, Any]]:
        events = self.http.get(f"/v1/runs/{run_id}/events?follow=false").json()
        return [event["body"] for event in events if event["body"]["type"] == wanted]


@pytest.fixture
def research() -> ResearchSettings:
    """Return the settings of the runs. A test class can override this fixture."""
    return ResearchSettings()


@pytest.fixture
def service(make_candor: Callable[..., Candor], folder: Path, research: ResearchSettings) -> Iterator[Service]:
    panel = Recorder()
    with ScriptedEndpoint(panel) as endpoint, Web() as web:
        tools = ToolSettings(allow_private_addresses=True)
        candor = make_candor(llm=endpoint.settings("openai"), research=research, tools=tools)
        run_ingest(candor, [folder], "papers", progress=False)
        with RunningService(candor) as running, httpx.Client(base_url=running.url, timeout=LIMIT_S) as http:
            yield Service(candor, panel, http, web)


def choosing(agent: str) -> Callable[[Request], str]:
    """Return a triage responder that chooses this agent for every question."""
    return lambda request: json.dumps(triage(request, agent=agent))


class TestToolsAndSkills:
    def test_the_prompts_of_planner_and_triage_name_them(self, service: Service) -> None:
        service.ask()
        assert "Tools:" not in service.panel.prompt(PLANNER)
        assert "`agent`: who answers" not in service.panel.prompt(TRIAGE)

        service.http.post("/v1/skills", json=SKILL)
        assert service.http.post("/v1/agents", json=SCOUT).status_code == 201
        service.ask()
        for role in (PLANNER, TRIAGE):
            line = next(each for each in service.panel.prompt(role).splitlines() if each.startswith("- Scout"))
            assert line.endswith("Tools: search_documents. Skills: plain-words."), role
        assert "`agent`: who answers" in service.panel.prompt(TRIAGE)
        assert "can answer alone with its tools" in service.panel.prompt(TRIAGE)

    def test_a_question_for_tools_goes_straight_to_the_agent_that_has_them(self, service: Service, run: Run) -> None:
        service.http.post("/v1/skills", json=SKILL)
        service.http.post("/v1/agents", json=SCOUT)
        search = calls(("search_documents", {"queries": ["frost"], "limit": 3}))
        service.panel.roles = {TRIAGE: choosing("Scout"), TURN: in_rounds(search)}
        answer = service.ask("Search for the frost limit of the Borea 12.")
        assert (answer["status"], answer["mode"]) == ("answered", "fast")
        assert answer["summary"]["steps"] == {"Scout": {"completed": 1}}
        assert PLANNER not in service.panel.requests

    def test_an_agent_without_tools_that_only_notes_takes_none(self, service: Service) -> None:
        lawyer = {**PIRATE, "name": "Lawyer", "gives": "notes", "prompt": "# System\nYou know.\n# User\n$question\n"}
        service.http.post("/v1/agents", json=lawyer)
        service.ask()
        assert "Lawyer" not in service.panel.prompt(TRIAGE)


def in_rounds(*turns: str) -> Callable[[Request], str]:
    """Return a responder that gives these turns in order and then makes no further tool calls."""

    def respond(request: Request) -> str:
        taken = sum(message["role"] == "assistant" for message in request.messages)
        return turns[taken] if taken < len(turns) else done()

    return respond


def answers_differ(request: Request) -> str:
    """Return the right figure for the Reader and a wrong one for the pirate."""
    quote = "The Borea 12 works down to -25 °C."
    claim = {"quotes": [{"passage": "pumps.md", "quote": quote}], "text": quote}
    return json.dumps(synthesis([claim], sufficient=True, short="-12 °C" if "pirate" in request.prompt else "-25 °C"))


class TestBroadcast:
    @pytest.fixture
    def research(self) -> ResearchSettings:
        return ResearchSettings(agent_weights={"Reader": 2.5})

    @pytest.fixture
    def both(self, service: Service) -> Service:
        assert service.http.post("/v1/agents", json=PIRATE).status_code == 201
        service.panel.roles = {READING: answers_differ}
        return service

    @pytest.mark.parametrize("agents", [["Pirate", "Reader"], ["@all"]])
    def test_a_question_to_several_agents_is_decided_by_their_votes(self, both: Service, agents: list[str]) -> None:
        answer = both.ask(agents=agents)
        assert (answer["status"], answer["mode"], answer["short"]) == ("answered", "direct", "-25 °C")
        [vote] = answer["votes"]
        assert vote["method"] == "weighted"
        assert [(group["answer"], group["voters"], group["weight"]) for group in vote["groups"]] == [
            ("-25 °C", ["Reader"], 2.5), ("-12 °C", ["Pirate"], 1.0),
        ]  # fmt: skip
        assert answer["summary"]["steps"] == {"Pirate": {"completed": 1}, "Reader": {"completed": 1}}

    def test_agents_with_different_inputs_take_the_same_question(self, both: Service) -> None:
        clerk = {**SCOUT, "name": "Clerk", "gives": "notes", "tools": ["calculator"], "skills": []}
        both.http.post("/v1/agents", json=clerk)
        both.panel.roles |= {
            TURN: lambda _: done(),
        }
        answer = both.ask(agents=["Clerk", "Reader"], sources=["documents", "tools"])
        assert (answer["status"], answer["short"]) == ("answered", "-25 °C")
        assert answer["summary"]["steps"] == {"Clerk": {"completed": 1}, "Reader": {"completed": 1}}

    def test_wrong_choices_are_refused_with_the_reason(self, both: Service) -> None:
        def refusal(**asked: Any) -> str:
            response = both.http.post("/v1/research", json={"question": QUESTION, **asked})
            assert response.status_code == 422
            return str(response.json()["detail"])

        assert "'Nobody' does not exist" in refusal(agents=["Reader", "Nobody"])
        assert "QueryPlanner gives no answer that can be compared" in refusal(agents=["Reader", "QueryPlanner"])
        assert "it needs chunks" in refusal(agents=["Reader", "Extractor"])
        assert "not both" in refusal(agent="Reader", agents=["Pirate"])
        assert "runs in mode 'high'" in refusal(agents=["Reader"], template="weekly")

    def test_the_planner_learns_what_a_vote_is_for(self, both: Service) -> None:
        both.ask()
        assert "- `also`: more agents that take the same step" in both.panel.prompt(PLANNER)
        both.http.patch("/v1/agents/Pirate", json={"enabled": False})
        both.ask()
        assert "`also`" not in both.panel.prompt(PLANNER)


def test_the_command_line_asks_several_agents(
    run: Run, folder: Path, tmp_path: Path, serve: Callable[..., EndpointSettings], use_model: Callable[..., None]
) -> None:
    use_model(serve(Panel(roles={READING: answers_differ})))
    home = tmp_path / "home"
    (home / "candor.toml").write_text("[research.agent_weights]\nReader = 2.5\n")
    (tmp_path / "pirate.toml").write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in PIRATE.items()))
    assert run("agents", "add", tmp_path / "pirate.toml").code == 0
    assert "Weight of its vote: 2.5." in run("agents", "show", "Reader").out
    run("ingest", folder, "-c", "papers")

    asked = run("ask", QUESTION, "--agents", "Reader, Pirate", "-v")
    assert asked.code == 0, asked.err
    assert "weighted vote: 71% for -25 °C" in asked.out
    assert "2.5: -25 °C (Reader)" in asked.out
    assert "1: -12 °C (Pirate)" in asked.out
    assert "weighted vote: 71% for -25 °C" in asked.err, "while it works"
    everyone = run("ask", QUESTION, "--agents", "@all", "--json").json
    assert {name for group in everyone["votes"][0]["groups"] for name in group["voters"]} == {"Pirate", "Reader"}
    refused = run("ask", QUESTION, "--agents", "Reader,Nobody")
    assert (refused.code, "'Nobody' does not exist" in refused.err) == (1, True), refused


class TestToolSteps:
    @pytest.fixture
    def research(self) -> ResearchSettings:
        return ResearchSettings(plan_tools=("download_file", "read_file"), sources=("documents", "web", "tools"))

    def plan(self, url: str) -> dict[str, Any]:
        return planned(
            step("get", "download_file", inputs={"url": url, "name": "colours.txt"}),
            step("text", "read_file", inputs={"name": "@{outputs.get.file}", "start": 0}),
            step("answer", "Synthesizer"),
        )

    def decide(self, service: Service, decision: str) -> str:
        """Start the run, approve or refuse its download, wait for its end and return its id."""
        service.web.pages["/colours"] = Page(b"The Borea 12 is blue.", "text/plain")
        plan = json.dumps(self.plan(service.web.url("/colours")))
        blue = json.dumps(synthesis([{"text": "The Borea 12 is blue.", "evidence": [1]}], sufficient=True))
        service.panel.roles = {
            PLANNER: lambda _: plan,
            SYNTHESIS: lambda _: blue,
            REVISION: lambda _: json.dumps(give_up()),
        }
        asked = {"question": "Download the list and say which colour it is.", "mode": "high", "wait": False}
        run_id = str(service.http.post("/v1/research", json=asked).json()["run_id"])
        until(lambda: bool(service.http.get("/v1/approvals", params={"run_id": run_id}).json()))
        [approval] = service.http.get("/v1/approvals").json()
        assert (approval["tool"], approval["reason"]) == ("download_file", "Do it.")
        service.http.post(f"/v1/approvals/{approval['approval_id']}", json={"decision": decision})
        until(lambda: service.http.get(f"/v1/runs/{run_id}").json()["run"]["status"] != "running")
        return run_id

    def test_a_downloaded_file_is_read_and_quoted(self, service: Service, run: Run) -> None:
        run_id = self.decide(service, "approved")
        answer = service.http.get(f"/v1/runs/{run_id}").json()["answer"]
        assert answer["status"] == "answered", answer
        assert [item["quote"] for item in answer["evidence"]] == ["The Borea 12 is blue."]
        assert answer["evidence"][0]["origin"]["tool"] == "read_file"
        assert answer["summary"]["steps"]["download_file"] == {"completed": 1}
        assert answer["usage"]["model_calls"] == 2, "the planner's and the Synthesizer's"
        prompt = service.panel.prompt(PLANNER)
        assert "- download_file: A tool, called without a model. Downloads a file" in prompt
        assert "- A tool of the list can be a step" in prompt
        traced = run("trace", run_id, "--home", service.candor.settings.home).out
        assert "get: download_file called download_file" in traced

    def test_a_refused_call_fails_its_step(self, service: Service) -> None:
        run_id = self.decide(service, "refused")
        answer = service.http.get(f"/v1/runs/{run_id}").json()["answer"]
        assert service.web.asked == []
        assert "A person refused this call" in answer["reasoning"]


class TestWrittenFiles:
    @pytest.fixture
    def research(self) -> ResearchSettings:
        return ResearchSettings(plan_tools=("write_file", "read_file"), sources=("documents", "tools"))

    def test_a_file_that_the_run_wrote_is_no_evidence(self, service: Service) -> None:
        invented = "The Borea 12 won the prize of 1999."
        plan = planned(
            step("put", "write_file", inputs={"name": "notes.txt", "text": invented}),
            step("text", "read_file", inputs={"name": "@{outputs.put.file}", "start": 0}),
            step("answer", "Synthesizer"),
        )
        service.panel.roles = {
            PLANNER: lambda _: json.dumps(plan),
            SYNTHESIS: lambda _: json.dumps(synthesis([{"text": invented, "evidence": [1]}], sufficient=True)),
            REVISION: lambda _: json.dumps(give_up()),
        }
        answer = service.http.post("/v1/research", json={"question": "Which prize did it win?", "mode": "high"}).json()
        assert answer["status"] == "insufficient", answer
        assert not any(invented in item["quote"] for item in answer["evidence"])
        assert not any(claim["supported"] for claim in answer["claims"])

    def test_a_revised_plan_writes_no_file_again_and_refers_to_it(self, service: Service) -> None:
        put = step("put", "write_file", inputs={"name": "notes.txt", "text": "A list."})
        missing = step("text", "read_file", inputs={"name": "other.txt", "start": 0})
        found = step("notes", "read_file", inputs={"name": "@{outputs.put.file}", "start": 0})
        end = step("answer", "Synthesizer")
        service.panel.roles = {
            PLANNER: lambda _: json.dumps(planned(put, missing, end)),
            REVISION: lambda _: json.dumps(revised(put, found, end)),
        }
        answer = service.ask(mode="high")
        tools = {name: each["calls"] for name, each in answer["summary"]["tools"].items()}
        assert (answer["summary"]["attempts"], tools["write_file"]) == (2, 1)
        [*_, skipped] = service.bodies(answer["run_id"], "step_skipped")
        assert "has finished this step" in str(skipped)
        [*_, called] = service.bodies(answer["run_id"], "tool_called")
        assert called["arguments"]["name"] == "notes.txt", "what the first attempt wrote"


def test_plans_can_call_no_tool_by_default(service: Service) -> None:
    service.ask()
    assert "download_file" not in service.panel.prompt(PLANNER)
    enum = json.dumps(service.panel.requests[PLANNER][-1].schema)
    assert "download_file" not in enum


def test_an_unknown_plan_tool_is_an_error(make_candor: Callable[..., Candor]) -> None:
    candor = make_candor(research=ResearchSettings(plan_tools=("fly",)))
    with pytest.raises(Exception, match="The tool 'fly' does not exist"):
        candor.agent_catalog.registry()


class TestTasks:
    def test_tasks_are_in_the_trace_with_their_inputs(self, service: Service, run: Run) -> None:
        service.panel.roles = {TRIAGE: choosing("Reader")}
        answer = service.ask()
        run_id = answer["run_id"]
        [started] = service.bodies(run_id, "step_started")
        [finished] = service.bodies(run_id, "step_finished")
        assert started["task"] == finished["task"] == f"{run_id}_answer_1"
        assert started["inputs"] == {"question": QUESTION, "queries": [], "documents": []}
        traced = run("trace", run_id, "--home", service.candor.settings.home).out
        assert f"answer: Reader started ({run_id}_answer_1)" in traced

    def test_references_in_inputs_are_resolved_in_the_trace(self, service: Service, run: Run) -> None:
        first = step("limit", "Reader", inputs={"question": QUESTION, "queries": []})
        second = step("why", "Reader", inputs={"question": "Why @{outputs.limit.answer}?", "queries": []})
        plan = json.dumps(planned(first, second, step("answer", "Synthesizer")))
        service.panel.roles = {PLANNER: lambda _: plan}
        run_id = service.ask(mode="high")["run_id"]
        started = service.bodies(run_id, "step_started")
        assert [each["inputs"].get("question") for each in started[:2]] == [
            QUESTION, "Why The Borea 12 works down to -25 °C.?",
        ]  # fmt: skip
        traced = run("trace", run_id, "--home", service.candor.settings.home).out
        assert 'inputs: {"question": "Why The Borea 12 works down to -25 °C.?"}' in traced

    def test_a_failed_task_is_named(self, service: Service) -> None:
        service.panel.roles = {READING: lambda _: "{}", TRIAGE: choosing("Reader")}
        run_id = service.ask()["run_id"]
        [failed] = service.bodies(run_id, "step_failed")
        assert failed["task"] == f"{run_id}_answer_1"

    def test_typed_inputs_have_a_schema(self, service: Service, run: Run) -> None:
        for name, field_ in (("Synthesizer", "format"), ("DataInspector", "focus"), ("QueryPlanner", "max_queries")):
            schema = service.http.get(f"/v1/agents/{name}").json()["inputs"]
            assert "description" in schema["properties"][field_]
            shown = run("agents", "show", name, "--home", service.candor.settings.home)
            assert f"  {field_}: " in shown.out
            as_json = run("agents", "show", name, "--json", "--home", service.candor.settings.home).json
            assert as_json["inputs"] == schema
        assert (
            "format: as asked | prose | list | numbered_list; form of the answer"
            in run("agents", "show", "Synthesizer").out
        )

    def test_a_plan_can_set_them(self, service: Service) -> None:
        retrieval = {"method": "search", "documents": [], "queries": []}
        plan = json.dumps(
            planned(
                step("queries", "QueryPlanner", inputs={"max_queries": 1}),
                step("find", "Retriever", inputs=retrieval),
                step("look", "DataInspector", inputs={"focus": ["conflicts"]}),
                step("extract", "Extractor"),
                step("answer", "Synthesizer", inputs={"format": "numbered_list"}),
            )
        )
        service.panel.roles = {PLANNER: lambda _: plan}
        answer = service.ask(mode="high")
        assert answer["answer"].startswith("1. It says so")
        assert len(service.bodies(answer["run_id"], "step_finished")[0]["wrote"]["queries"]) == 1
        assert "Only the first 1 are searched" in service.panel.prompt(QUERIES)
        assert "values that disagree between passages" in service.panel.prompt(INSPECTION)
        assert "Write the answer as a numbered list." in service.panel.prompt(SYNTHESIS)

    def test_the_planner_is_not_offered_them(self, service: Service) -> None:
        service.ask()
        assert "numbered_list" not in json.dumps(service.panel.requests[PLANNER][-1].schema)

    def test_a_wrong_value_is_a_fault_of_the_plan(self, service: Service) -> None:
        plan = json.dumps(planned(step("answer", "Synthesizer", inputs={"format": "poem"})))
        service.panel.roles = {PLANNER: lambda _: plan}
        rejected = service.bodies(service.ask(mode="high")["run_id"], "plan_rejected")
        assert "input 'format'" in rejected[0]["faults"][0]


def test_the_model_explains_a_plan_that_cannot_be_made(service: Service, run: Run) -> None:
    circular = json.dumps(planned(step("a", "Extractor"), step("answer", "Synthesizer")))
    explanation = json.dumps({"explanation": "The plan extracts before it searches. Ask in the mode fast."})
    service.panel.roles = {PLANNER: lambda _: circular, EXPLANATION: lambda _: explanation}
    answer = service.ask(mode="high")
    assert answer["status"] == "failed"
    assert answer["reasoning"].startswith(
        "The plan extracts before it searches. Ask in the mode fast. The error itself: "
    )
    assert "Extractor reads 'chunks', which no step before it writes" in answer["reasoning"]
    prompt = service.panel.prompt(EXPLANATION)
    assert QUESTION in prompt
    assert '"agent": "Extractor"' in prompt
    assert "- Step 'a': Extractor reads 'chunks'" in prompt


def test_a_model_that_cannot_explain_leaves_the_faults(service: Service) -> None:
    broken = json.dumps(planned(step("a", "Extractor"), step("answer", "Synthesizer")))
    service.panel.roles = {PLANNER: lambda _: broken, EXPLANATION: lambda _: "nonsense"}
    reasoning = service.ask(mode="high")["reasoning"]
    assert reasoning.startswith("The model made no valid plan")
    assert "The model could not explain this" in reasoning
