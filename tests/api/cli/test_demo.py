"""The demo, as `make demo` runs it: real ingest, search and verification, with replayed model responses.

Prompts may have changed since the recording; `make check-demo` finds that out before a release.

It ingests the sample documents once. Tests that run it again do so on a copy of its data folder.
pdfplumber checks the evidence on PDF pages independently of Candor's own parser.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pdfplumber
import pytest

import multi_agent
import multi_agent.agents
from api.cli.demo import demo_questions, split_by_question
from api.services.tables.tables import CALLER
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.wrappers.journal import RecordedJournal
from multi_agent.values.answer import Answer, Status
from multi_agent.values.request import Request
from support.files import copy_folder
from support.panel import Panel

Run = Callable[..., Any]
ROOT = Path(__file__).parents[3]
RECORDING = ROOT / "sample_docs" / "recording.jsonl"

NEW_AGENT = """
from multi_agent.agent import AgentCard


class Translator:
    card = AgentCard(name="Translator", description="Translates passages.", writes=frozenset())
"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The result that `candor demo --json` prints."""
    command = [sys.executable, "-m", "api.cli", "demo", "--json", "--home", tmp_path_factory.mktemp("demo")]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "leaked" not in result.stderr, "nanobind lists objects of DuckDB that outlive the interpreter"
    assert "replayed from a recording" in result.stderr
    return dict(json.loads(result.stdout))


@pytest.fixture
def home(demo: dict[str, Any], tmp_path: Path) -> Path:
    """A copy of the demo's data folder."""
    return copy_folder(demo["home"], tmp_path / "demo")


def words(text: str) -> str:
    """Return the words without table bars, which only some parsers draw."""
    return " ".join(text.replace("|", " ").split())


def test_answers_two_questions_and_not_the_unanswerable_one(demo: dict[str, Any]) -> None:
    assert [answer["question"] for answer in demo["answers"]] == demo_questions()
    assert [answer["status"] for answer in demo["answers"]] == ["answered", "answered", "insufficient"]
    first, second, third = demo["answers"]
    for time in ("2:02:08", "2:02:31", "2:02:59"):
        assert time in first["answer"]
    assert "9,412" in second["answer"]
    assert "9,640" in second["answer"]
    assert third["missing"]
    assert third["looked_for"]


def test_a_table_has_quotes_or_says_why_a_cell_is_empty(demo: dict[str, Any]) -> None:
    rows = {row["name"]: row["cells"] for row in demo["table"]["rows"]}
    assert {name: cells["Warranty"]["value"] for name, cells in rows.items()} == {
        "borea_12_manual.pdf": 5,
        "compressor_delivery.eml": None,
        "quarterly_report_q3_2024.pdf": None,
        "warranty_policy.html": 7,
    }
    assert all(cell["evidence"] or cell["reason"] for cells in rows.values() for cell in cells.values())
    assert demo["drifted"] == []


def test_every_claim_is_supported_by_evidence(demo: dict[str, Any]) -> None:
    for answer in demo["answers"]:
        numbers = {item["number"] for item in answer["evidence"]}
        for claim in answer["claims"]:
            assert claim["supported"]
            assert set(claim["evidence"]) <= numbers


def test_every_quote_is_at_its_span_and_on_its_page(demo: dict[str, Any], run: Run) -> None:
    cited_pages = 0
    for item in (item for answer in demo["answers"] for item in answer["evidence"]):
        text = run("show", item["document_id"], "--text", "--home", demo["home"]).out
        assert text[item["start"] : item["end"]] == item["quote"]
        if item["document"].endswith(".pdf"):
            with pdfplumber.open(RECORDING.parent / "documents" / item["document"]) as pdf:
                printed = "\n".join(pdf.pages[page - 1].extract_text() for page in item["pages"])
            assert words(item["quote"]) in words(printed)
            cited_pages += 1
        else:
            assert item["pages"] == []
    assert cited_pages > 0


def test_a_second_demo_gives_the_same_answers(demo: dict[str, Any], home: Path, run: Run) -> None:
    again = run("demo", "--json", "--home", home).json
    assert [answer["answer"] for answer in again["answers"]] == [answer["answer"] for answer in demo["answers"]]


def test_the_runs_of_the_demo_are_replayed(
    demo: dict[str, Any], home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDOR_STORE__EMBEDDING__PRECISION", "float32")
    for answer in demo["answers"]:
        replayed = run("replay", answer["run_id"], "--home", home)
        assert replayed.code == 0, replayed.out + replayed.err


def test_a_changed_prompt_replays_with_a_warning(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "multi_agent"
    shutil.copytree(Path(multi_agent.__file__).parent / "prompts", package / "prompts")
    extractor = package / "prompts" / "extractor.md"
    extractor.write_text(extractor.read_text().replace("# System\n", "# System\nWork carefully.\n", 1))
    monkeypatch.setattr("multi_agent.prompt.files", lambda _: package)
    result = run("demo", "--json", "--home", home)
    assert result.code == 0, result.err
    assert [answer["status"] for answer in result.json["answers"]] == ["answered", "answered", "insufficient"]
    assert "2:02:08" in result.json["answers"][0]["answer"]
    assert " of 20 recorded prompts have changed: " in result.err
    assert "3 of Extractor (Extraction)" in result.err
    drifted = [call for call in result.json["drifted"] if call["caller"] == "Extractor"]
    assert len(drifted) == 3
    assert all(call["key"] != call["recorded_key"] for call in drifted)


def test_a_new_built_in_agent_replays_with_a_warning(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planner's prompts list all agents."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "translator.py").write_text(NEW_AGENT)
    monkeypatch.setattr(multi_agent.agents, "__path__", [*multi_agent.agents.__path__, str(tmp_path / "agents")])
    result = run("demo", "--json", "--home", home)
    assert result.code == 0, result.err
    assert [answer["status"] for answer in result.json["answers"]] == ["answered", "answered", "insufficient"]
    assert "Planner" in {call["caller"] for call in result.json["drifted"]}
    assert "1 of Planner (RevisionResponse)" in result.err


def test_a_recording_that_lacks_a_call_is_an_error(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = tmp_path / "recording.jsonl"
    entries = RecordedJournal.load(RECORDING).entries
    RecordedJournal(entry for entry in entries if entry.caller != "Analyst").dump(recording)
    monkeypatch.setattr("api.cli.demo.RECORDING", str(recording))
    result = run("demo", "--json", "--home", home)
    assert result.code == 1
    first, second, _ = result.json["answers"]
    assert (first["status"], second["status"]) == ("failed", "answered")
    assert "The recording has no response left for Analyst of the type Analysis" in first["reasoning"]


def test_the_recording_is_split_by_question() -> None:
    entries = RecordedJournal.load(RECORDING).entries
    assert [entry.caller for entry in entries[-4:]] == [CALLER] * 4
    runs = split_by_question(entries[:-4], demo_questions())
    assert [[entry.caller for entry in run if entry.caller != "Extractor"] for run in runs] == [
        ["Triage", "Planner", "DataInspector", "PatternGenerator", "Analyst", "Synthesizer"],
        ["Triage", "Reader", "Reader"],
        ["Triage", "Reader", "Reader", "Planner"],
    ]


def test_a_live_demo_is_recorded_and_replays(
    run: Run,
    serve: Callable[..., EndpointSettings],
    use_model: Callable[[EndpointSettings], None],
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_model(serve(Panel("2:02:08")))
    recording = tmp_path / "recording.jsonl"
    live = run("demo", "--live", "--record", recording, "--json", "--home", home)
    assert live.code == 0, live.err
    calls = sum(answer["usage"]["model_calls"] for answer in live.json["answers"])
    calls += len(live.json["table"]["rows"])
    assert len(recording.read_text().splitlines()) == calls
    monkeypatch.setattr("api.cli.demo.RECORDING", str(recording))
    replayed = run("demo", "--json", "--home", home).json
    assert [answer["evidence"] for answer in replayed["answers"]] == [
        answer["evidence"] for answer in live.json["answers"]
    ]
    assert (live.json["drifted"], replayed["drifted"]) == ([], [])


def test_one_question_is_selected_by_its_number(run: Run, home: Path, tmp_path: Path) -> None:
    chosen = run("demo", "--question", "2", "--json", "--home", home).json
    assert [answer["question"] for answer in chosen["answers"]] == [demo_questions()[1]]
    assert chosen["table"] is None
    refused = run("demo", "--live", "--question", "2", "--record", tmp_path / "recording.jsonl")
    assert refused.code == 2
    assert "leave out --question" in refused.err


def test_the_recording_has_hand_written_responses() -> None:
    entries = [json.loads(line) for line in RECORDING.read_text().splitlines()]
    assert {entry["model"] for entry in entries} == {"by-hand"}
    assert len(entries) >= 3 * 4


def test_the_collection_of_another_copy_of_candor_is_replaced(run: Run, tmp_path: Path) -> None:
    """Its documents would be duplicates and change every prompt."""
    elsewhere, home = tmp_path / "elsewhere", tmp_path / "demo"
    elsewhere.mkdir()
    (elsewhere / "warranty_policy.html").write_text("<p>Another copy of the sample documents.</p>", encoding="utf-8")
    assert run("ingest", elsewhere, "-c", "sample_docs", "--home", home).code == 0
    result = run("demo", "--home", home)
    assert result.code == 0, result.err
    assert "belongs to another copy of Candor" in result.err
    assert f"in the browser: candor serve --home {home}" in result.err
    listed = run("documents", "-c", "sample_docs", "--home", home, "--json").json
    assert not [each for each in listed if str(elsewhere) in each["path"]]


def test_ctrl_c_ends_the_demo_and_not_only_its_question(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def cancelled(_: Any, request: Request, *__: Any, **___: Any) -> Answer:
        asked.append(request.question)
        return Answer(run_id="run_1", status=Status.CANCELLED, mode="fast", question=request.question, reasoning="")

    monkeypatch.setattr("api.cli.demo.run_question", cancelled)
    assert (run("demo", "--json", "--home", home).code, len(asked)) == (130, 1)
