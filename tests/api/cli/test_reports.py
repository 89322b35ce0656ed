"""`candor report`, over a real HTTP endpoint with a scripted model."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docx
import pytest

import sample_docs
from multi_agent.llm.settings import EndpointSettings
from support.panel import READING, SYNTHESIS, TRIAGE, Panel, role_of, synthesis, triage
from support.replies import Reply, Request, held_until
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S, until

Serve = Callable[..., EndpointSettings]
OUTLINE, ANALYSIS = "Outline", "FindingsAnalysis"
COLD, SOUP = "Down to which temperature does the Borea 12 work?", "How long does the soup cook?"
PRICE = "What does the Borea 12 cost?"
SECTIONS = ("--section", f"Cold={COLD}", "--section", f"Soup={SOUP}")
ABOUT = "What do these papers say?"


class Model:
    """A panel that reads sections in one step, and counts its calls by role."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fails: Callable[[Request], bool] = lambda _: False
        points = [
            {"kind": "gap", "one": [], "other": [], "text": "What the soup costs."},
            {"kind": "conflict", "one": [1], "other": [2, 99], "text": "-25 °C and 20 minutes."},
        ]
        outline = [{"title": "Cold", "question": COLD}, {"title": "Soup", "question": SOUP}]
        self._panel = Panel(
            "-25 °C",
            "20 minutes",
            roles={
                TRIAGE: lambda request: json.dumps(triage(request)),
                OUTLINE: lambda _: json.dumps({"sections": outline}),
                ANALYSIS: lambda _: json.dumps({"points": points}),
            },
        )

    def __call__(self, request: Request) -> Reply | str:
        if request.schema is not None:
            self.calls.append(role_of(request))
            if role_of(request) == READING and PRICE in request.prompt:
                return json.dumps({**synthesis([], sufficient=False), "missing": "No passage has a price."})
        return Reply(status=401, raw="no") if self.fails(request) else self._panel(request)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def report(run: Any, serve: Serve, use_model: Any, model: Model, ingested: None) -> Callable[..., Any]:
    """Return a function that runs `candor report` on the collection ``papers``."""
    use_model(serve(model))
    return lambda *arguments: run("report", *arguments)


def test_the_outline_is_proposed_as_options_to_edit(report: Callable[..., Any], model: Model) -> None:
    proposed = report(ABOUT, "-c", "papers", "--outline-only")
    assert (proposed.code, model.calls) == (0, [OUTLINE])
    assert f"--section 'Cold={COLD}'" in proposed.out
    outline = report(ABOUT, "-c", "papers", "--outline-only", "--json").json["sections"]
    assert [each["title"] for each in outline] == ["Cold", "Soup"]


def test_an_outline_is_saved_and_used_as_a_template(report: Callable[..., Any], model: Model, tmp_path: Path) -> None:
    saved = tmp_path / "outline.json"
    assert report(ABOUT, "-c", "papers", "--outline-only", "--format", "academic", "--out", saved).code == 0
    model.calls = []
    again = tmp_path / "again.json"
    assert report("-c", "papers", "--template", saved, "--outline-only", "--out", again).code == 0
    assert again.read_text() == saved.read_text()
    made = report("-c", "papers", "--template", saved, "--json").json
    assert made["question"] == ABOUT
    assert [each["title"] for each in made["sections"]] == ["Abstract", "Cold", "Soup", "Discussion"]
    assert OUTLINE not in model.calls


def test_the_example_of_a_template_is_researched(report: Callable[..., Any]) -> None:
    file = Path(sample_docs.__file__).parent / "templates" / "due-diligence.toml"
    made = report("-c", "papers", "--template", file, "--json").json
    assert [each["title"] for each in made["sections"]][1:5] == ["Business", "Finances", "Contracts", "Risks"]


def test_a_report_has_a_run_for_each_section_and_common_numbers(
    report: Callable[..., Any], run: Any, model: Model, tmp_path: Path
) -> None:
    out = tmp_path / "report.md"
    made = report(ABOUT, "-c", "papers", "--out", out, "--json")
    assert made.code == 0, made.err
    answer = made.json
    assert [each["title"] for each in answer["sections"]] == [
        "Summary", "Cold", "Soup", "Agreements, conflicts and gaps",
    ]  # fmt: skip
    assert sum(each["claims"] for each in answer["sections"]) == len(answer["claims"])
    numbers = {each["number"] for each in answer["evidence"]}
    assert numbers == set(range(1, len(numbers) + 1))
    assert all(set(claim["evidence"]) <= numbers for claim in answer["claims"])
    cold = next(each for each in answer["sections"] if each["title"] == "Cold")
    opened = run("export", cold["run"], "-f", "json").json["answer"]
    assert (opened["question"], opened["status"]) == (COLD, "answered")
    assert {each["chunk_id"] for each in opened["evidence"]} <= {each["chunk_id"] for each in answer["evidence"]}
    text = out.read_text()
    assert text.index("1. Summary") < text.index("## Summary") < text.index("## Cold") < text.index("## References")
    assert "> “The Borea 12 works down to -25 °C.”" in text
    assert "Gap: What the soup costs." in text
    assert "FindingsAnalyst named numbers of no quote, which were left out: 99" in text
    assert cold["run"].replace("_", "\\_") in text
    assert model.calls.count(ANALYSIS) == model.calls.count(SYNTHESIS) == model.calls.count(OUTLINE) == 1
    replayed = run("replay", answer["run_id"], "--json")
    assert replayed.json["same"], replayed.out


def test_a_section_without_an_answer_says_what_was_searched(report: Callable[..., Any]) -> None:
    made = report(ABOUT, "-c", "papers", *SECTIONS, "--section", f"Price={PRICE}", "--json").json
    assert made["status"] == "partial"
    price = next(each for each in made["sections"] if each["title"] == "Price")
    assert price["claims"] == 0
    assert price["notes"][0].startswith("No answer (Insufficient).")
    assert any(note.startswith("Searched for: ") and PRICE in note for note in price["notes"])
    assert "Missing: No passage has a price." in price["notes"]
    assert "Price: Insufficient" in made["missing"]


@pytest.mark.parametrize("form", ["executive_summary", "bullet_points", "academic"])
def test_the_other_formats(report: Callable[..., Any], tmp_path: Path, form: str) -> None:
    out = tmp_path / "report.md"
    assert report(ABOUT, "-c", "papers", *SECTIONS, "--format", form, "--out", out).code == 0
    text = out.read_text()
    assert ("## Cold" in text) == (form != "executive_summary")
    assert ("## Abstract" in text, "## Discussion" in text) == ((form == "academic"),) * 2
    assert ("\n- It says so" in text) == (form == "bullet_points")


def test_all_file_formats(report: Callable[..., Any], run: Any, tmp_path: Path) -> None:
    made = report(ABOUT, "-c", "papers", *SECTIONS, "--out", tmp_path / "report.docx", "--json").json
    headings = [
        each.text
        for each in docx.Document(io.BytesIO((tmp_path / "report.docx").read_bytes())).paragraphs
        if each.style is not None and each.style.name == "Heading 2"
    ]
    assert headings[:3] == ["Summary", "Cold", "Soup"]
    assert "References" in headings
    for suffix in ("html", "pdf"):
        assert run("export", made["run_id"], "-o", tmp_path / f"report.{suffix}").code == 0
    assert "<h2>Cold</h2>" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_a_failed_report_is_resumed_without_paying_for_its_sections_again(
    report: Callable[..., Any], model: Model
) -> None:
    model.fails = lambda request: role_of(request) == SYNTHESIS
    failed = report(ABOUT, "-c", "papers", *SECTIONS, "--json")
    assert (failed.code, failed.json["status"]) == (1, "failed")
    assert "The Borea 12 works down to -25 °C" in failed.json["answer"]
    model.fails, model.calls = lambda _: False, []
    resumed = report("--resume", failed.json["run_id"], "--json")
    assert resumed.code == 0, resumed.err
    assert model.calls == [ANALYSIS, SYNTHESIS]
    assert resumed.json["sections"][1]["run"] == failed.json["sections"][1]["run"]
    assert resumed.json["usage"]["model_calls"] == 2


def test_a_killed_report_goes_on_where_it_was(run: Any, use_model: Any, model: Model, ingested: None) -> None:
    go_on = threading.Event()

    def respond(request: Request) -> Reply | str:
        played = model(request)
        held = request.schema is not None and role_of(request) == ANALYSIS
        return held_until(go_on, played) if held else played

    with ScriptedEndpoint(respond) as endpoint:
        use_model(endpoint.settings("openai"))
        command = [sys.executable, "-m", "api.cli", "report", ABOUT, "-c", "papers", *SECTIONS, "--json"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
            until(lambda: ANALYSIS in model.calls or process.poll() is not None)
            process.send_signal(signal.SIGKILL)
            process.wait(LIMIT_S)
        go_on.set()
        before, model.calls = len(model.calls), []
        [killed] = [each for each in run("runs", "--json").json if each["question"] == ABOUT]
        assert killed["status"] == "interrupted"
        resumed = run("report", "--resume", killed["run_id"], "--json")
    assert before > len(model.calls)
    assert (resumed.code, resumed.json["run_id"]) == (0, killed["run_id"])
    assert model.calls == [ANALYSIS, SYNTHESIS]


def test_the_budget_is_that_of_the_whole_report(report: Callable[..., Any], model: Model) -> None:
    made = report(ABOUT, "-c", "papers", *SECTIONS, "--max-calls", "3", "--json").json
    assert len(model.calls) <= 3
    assert made["status"] in ("partial", "insufficient")
    assert "budget" in json.dumps(made)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--section", "=x"), "is not TITLE"),
        (("--format", "poem"), "report.format"),
        (("--out", "report.odt"), "suffix"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_asked(
    report: Callable[..., Any], model: Model, arguments: tuple[str, ...], said: str
) -> None:
    refused = report(ABOUT, "-c", "papers", *arguments)
    assert (refused.code, model.calls) == (2, [])
    assert said in refused.err


def test_a_run_that_is_no_report_cannot_be_resumed(report: Callable[..., Any], run: Any) -> None:
    asked = run("ask", COLD, "-c", "papers", "--json").json
    refused = report("--resume", asked["run_id"])
    assert refused.code == 2
    assert "is no report" in refused.err
