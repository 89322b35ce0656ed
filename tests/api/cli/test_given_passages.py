"""``candor ask --passages``: questions about passages from a JSON file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.service import QUESTION

FIELD_NOTE = {"text": "The Borea 12 ran for a week at -25 °C.", "source": "field notes", "document": "roof.txt"}


@pytest.fixture
def ingested(run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder)


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_an_answer_cites_the_passages_of_a_file(ingested: None, run: Callable, tmp_path: Path) -> None:
    file = write(tmp_path / "found.json", [FIELD_NOTE])
    asked = run("ask", QUESTION, "--passages", file, "--no-search", "--mode", "fast", "-v")
    assert asked.code == 0
    assert "[1] roof.txt (field notes), given with the question" in asked.out
    assert "“The Borea 12 ran for a week at -25 °C.”" in asked.out
    assert "Given passages: 1 of 1 read, 1 cited" in asked.out
    both = run("ask", QUESTION, "--passages", file, "--json").json
    cited = [quote["document"].rpartition("/")[2] for quote in both["evidence"]]
    assert sorted(cited) == ["pumps.md", "roof.txt (field notes)"]
    shown = run("show", both["run_id"], str(1 + cited.index("roof.txt (field notes)")))
    assert shown.code == 0, shown.err
    assert FIELD_NOTE["text"] in shown.out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"text": "x"}', "must contain a JSON list of passages"),
        ("[", "must contain a JSON list of passages"),
        ('[{"text": "x"}]', "0.source: Field required"),
        ("[]", "contains no passages"),
    ],
)
def test_a_file_without_passages_is_refused(
    ingested: None, run: Callable, tmp_path: Path, content: str, says: str
) -> None:
    file = tmp_path / "found.json"
    file.write_text(content)
    refused = run("ask", QUESTION, "--passages", file)
    assert (refused.code, says in " ".join(refused.err.split())) == (2, True), refused.err


def test_a_missing_file_is_named(ingested: None, run: Callable, tmp_path: Path) -> None:
    refused = run("ask", QUESTION, "--passages", tmp_path / "none.json")
    assert refused.code == 2
    assert "none.json" in refused.err
    assert "No such file" in refused.err
