"""The execution summary of a run: over REST, on the command line and in exports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.services.research.execution_summary import execution_facts
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import ResearchSettings
from multi_agent.values.answer import ExecutionSummary, SourceCount, ToolCount
from support.answers import ANSWER
from support.files import write_pdf
from support.handyman import TASK, calls, report, rounds
from support.panel import SYNTHESIS, Panel, synthesis
from support.replies import Request, Responder
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, RunningService
from support.waiting import LIMIT_S
from support.writing.writer import PACKAGE

Run = Callable[..., Any]
Serve = Callable[..., EndpointSettings]
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def papers(folder: Path) -> Path:
    """Return a folder of four documents: three without pages, of which two disagree, and one with two pages."""
    (folder / "notes.md").write_text("The Borea 12 was said to work down to -22 °C.\n")
    write_pdf(folder / "sheet.pdf", parts=["A pump for the cellar.", ("page",), "Its weight is 120 kilograms."])
    return folder


@pytest.fixture
def service(make_candor: Callable[..., Candor], papers: Path) -> Iterator[Callable[[Responder], httpx.Client]]:
    """Yield a function that starts the service with a model and returns an HTTP client."""
    opened: list[Any] = []

    def start(responder: Responder) -> httpx.Client:
        endpoint = ScriptedEndpoint(responder)
        opened.append(endpoint)
        settings = endpoint.__enter__().settings("openai")
        candor = make_candor(llm=settings, research=ResearchSettings(agent_packages=(PACKAGE,)))
        run_ingest(candor, [papers], "papers", progress=False)
        for each in (running := RunningService(candor), client := httpx.Client(base_url=running.url, timeout=LIMIT_S)):
            opened.append(each)
            each.__enter__()
        return client

    yield start
    for each in reversed(opened):
        each.__exit__(None, None, None)


def test_planned_research_says_what_it_did(service: Callable[[Responder], httpx.Client]) -> None:
    http = service(Panel("-25 °C"))
    answer = http.post("/v1/research", json={"question": QUESTION, "mode": "high"}).json()
    summary, usage = answer["summary"], answer["usage"]
    assert [summary[f"steps_{outcome}"] for outcome in ("completed", "skipped", "failed")] == [6, 0, 0]
    assert summary["documents"] == {"cited": 1, "read": 4, "total": 4}
    assert summary["pages"] == {"cited": 0, "read": 2, "total": 2}
    assert summary["web_pages"] == {"cited": 0, "read": 0, "total": None}
    assert (summary["tools"], summary["tools_offered"], summary["contradictions"]) == ({}, 0, 0)
    assert usage["model_calls"] == 6
    assert usage["prompt_tokens"] > 0
    assert usage["seconds"] > 0
    exported = {
        form: http.get(f"/v1/runs/{answer['run_id']}/export", params={"format": form}).text
        for form in ("md", "html", "json")
    }
    assert "- Steps: 6 done, 0 skipped, 0 failed" in exported["md"]
    assert "- Documents: 4 of 4 read, 1 cited" in exported["md"]
    assert "- Work: 6 model calls" in exported["md"]
    assert "<dt>Steps</dt><dd>6 done, 0 skipped, 0 failed</dd>" in exported["html"]
    assert json.loads(exported["json"])["answer"]["summary"] == summary


def test_tools_are_counted_with_their_failed_calls(service: Callable[[Responder], httpx.Client]) -> None:
    good, bad = ("calculator", {"expression": "6 * 7"}), ("calculator", {"expression": "six"})
    http = service(rounds(calls(good, bad), last=report("It is 42.")))
    answer = http.post("/v1/research", json=TASK.model_dump(mode="json", exclude_defaults=True)).json()
    assert answer["summary"]["tools"] == {"calculator": {"calls": 2, "failed": 1}}
    assert answer["summary"]["tools_offered"] == 2, "write_file was offered and not used"
    exported = http.get(f"/v1/runs/{answer['run_id']}/export", params={"format": "md"}).text
    assert "- Tools: 1 of 2 used: calculator × 2 (1 failed)" in exported


def test_answers_that_a_vote_rejected_are_contradictions(service: Callable[[Responder], httpx.Client]) -> None:
    said = iter(["-25 °C", "-22 °C", "-25 °C"])

    def write(_: Request) -> str:
        short = next(said)
        evidence = [1] if short == "-22 °C" else [2]  # 1 is from notes.md, 2 from pumps.md
        claims = [{"text": f"Down to {short}.", "evidence": evidence}]
        return json.dumps(synthesis(claims, sufficient=True, short=short))

    http = service(Panel("°C", roles={SYNTHESIS: write}))
    answer = http.post("/v1/research", json={"question": QUESTION, "mode": "high", "samples": 3}).json()
    assert (answer["short"], answer["summary"]["contradictions"]) == ("-25 °C", 1)


def test_the_command_line_shows_the_summary_below_the_answer(
    run: Run, papers: Path, serve: Serve, use_model: Callable[..., None]
) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", papers)
    shown = run("ask", QUESTION, "-v").out
    footer = shown.strip().splitlines()[-5:]
    assert footer[0] == "Steps: 6 done, 0 skipped, 0 failed"
    assert footer[1].startswith("Documents: 4 of 4 read, 1 cited (")
    assert footer[2] == "Pages: 2 of 2 read, 0 cited"
    assert footer[3].startswith("Work: 7 model calls, ")
    assert footer[4].startswith("All steps: candor trace run_")
    summary = run("ask", QUESTION, "--json").json["summary"]
    assert summary["documents"] == {"cited": 1, "read": 4, "total": 4}


def test_every_count_is_worded() -> None:
    summary = ExecutionSummary(
        attempts=2, steps={"Reader": {"completed": 1, "failed": 1}}, steps_completed=1, steps_failed=1,
        documents=SourceCount(cited=1, read=2, total=1200), pages=SourceCount(cited=1, read=3, total=9000),
        given_passages=SourceCount(cited=0, read=2, total=4), web_pages=SourceCount(cited=1, read=2),
        tools={"web_search": ToolCount(calls=3, failed=1)}, tools_offered=5, contradictions=2,
    )  # fmt: skip
    assert execution_facts(ANSWER.model_copy(update={"summary": summary})) == {
        "Steps": "1 done, 0 skipped, 1 failed in 2 plans",
        "Pages": "3 of 9,000 read, 1 cited",
        "Given passages": "2 of 4 read, 0 cited",
        "Web pages": "2 read, 1 cited",
        "Tools": "1 of 5 used: web_search × 3 (1 failed)",
        "Contradictions": "2",
        "Work": "0 model calls, 0 tokens, 0.0 s",
    }
