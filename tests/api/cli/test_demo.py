"""The demo, as `make demo` runs it: real ingest, search and verification, with the model's responses replayed.

Its evidence is checked by other means than Candor's own parser: pdfplumber reads the page that is cited.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pdfplumber
import pytest

from api.cli.demo import demo_questions
from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel

Run = Callable[..., Any]


@pytest.fixture
def demo(run: Run, tmp_path: Path) -> dict[str, Any]:
    """What `candor demo --json` prints."""
    result = run("demo", "--json", "--home", tmp_path / "demo")
    assert result.code == 0, result.err
    assert "replayed from a recording" in result.err
    return dict(result.json)


def words(text: str) -> str:
    """The words alone: tables are drawn with bars by the parser and without by others."""
    return " ".join(text.replace("|", " ").split())


def test_two_questions_are_answered_and_the_unanswerable_one_is_not(demo: dict[str, Any]) -> None:
    assert [answer["question"] for answer in demo["answers"]] == demo_questions()
    assert [answer["status"] for answer in demo["answers"]] == ["answered", "answered", "insufficient"]
    first, second, third = demo["answers"]
    for time in ("2:02:08", "2:02:31", "2:02:59"):
        assert time in first["answer"]
    assert "9,412" in second["answer"]
    assert "9,640" in second["answer"]
    assert third["missing"]
    assert third["looked_for"]


def test_every_claim_is_supported_by_evidence(demo: dict[str, Any]) -> None:
    for answer in demo["answers"]:
        numbers = {item["number"] for item in answer["evidence"]}
        for claim in answer["claims"]:
            assert claim["supported"]
            assert set(claim["evidence"]) <= numbers


def test_every_quote_is_the_text_at_its_span_and_stands_on_its_page(demo: dict[str, Any], run: Run) -> None:
    cited_pages = 0
    for item in (item for answer in demo["answers"] for item in answer["evidence"]):
        text = run("show", item["document_id"], "--text", "--home", demo["home"]).out
        assert text[item["start"] : item["end"]] == item["quote"]
        if item["document"].endswith(".pdf"):
            with pdfplumber.open(item["document"]) as pdf:
                printed = "\n".join(pdf.pages[page - 1].extract_text() for page in item["pages"])
            assert words(item["quote"]) in words(printed)
            cited_pages += 1
        else:
            assert item["pages"] == []
    assert cited_pages > 0


def test_a_second_demo_ingests_nothing_anew_and_says_the_same(demo: dict[str, Any], run: Run) -> None:
    again = run("demo", "--json", "--home", demo["home"]).json
    assert [answer["answer"] for answer in again["answers"]] == [answer["answer"] for answer in demo["answers"]]


def test_a_live_demo_is_recorded_and_replays(
    run: Run,
    serve: Callable[..., EndpointSettings],
    use_model: Callable[[EndpointSettings], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_model(serve(Panel("2:02:08")))
    recording = tmp_path / "recording.jsonl"
    live = run("demo", "--live", "--record", recording, "--json", "--home", tmp_path / "demo")
    assert live.code == 0, live.err
    assert len(recording.read_text().splitlines()) == sum(
        answer["usage"]["model_calls"] for answer in live.json["answers"]
    )
    monkeypatch.setattr("api.cli.demo.RECORDING", str(recording))
    replayed = run("demo", "--json", "--home", tmp_path / "demo").json
    assert [answer["evidence"] for answer in replayed["answers"]] == [
        answer["evidence"] for answer in live.json["answers"]
    ]


def test_the_recording_was_made_by_hand_from_the_prompts_of_this_version() -> None:
    entries = [
        json.loads(line)
        for line in (Path(__file__).parents[3] / "sample_docs" / "recording.jsonl").read_text().splitlines()
    ]
    assert {entry["model"] for entry in entries} == {"by-hand"}
    assert len(entries) >= 3 * 4


def test_the_collection_of_another_copy_of_candor_is_made_anew(run: Run, tmp_path: Path) -> None:
    """Its documents would be there twice, and no prompt would be the recorded one."""
    elsewhere, home = tmp_path / "elsewhere", tmp_path / "demo"
    elsewhere.mkdir()
    (elsewhere / "warranty_policy.html").write_text("<p>Another copy of the sample documents.</p>", encoding="utf-8")
    assert run("ingest", elsewhere, "-c", "sample_docs", "--home", home).code == 0
    result = run("demo", "--home", home)
    assert result.code == 0, result.err
    assert "is of another copy of Candor; it is made anew" in result.err
    listed = run("documents", "-c", "sample_docs", "--home", home, "--json").json
    assert not [each for each in listed if str(elsewhere) in each["path"]]
