"""Saved plans on the command line: save, follow, show, edit, export, import and delete."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sample_docs
from api.bootstrap import Candor
from api.settings import load_settings
from multi_agent.llm.settings import EndpointSettings
from multi_agent.values.plan import Plan
from support.templates import PERIOD, RACE, WARRANTY, WINNER, honest_model, old_plan, write_documents
from vectorstore.embedding.embedder import Embedder


@pytest.fixture
def race(
    run: Callable,
    tmp_path: Path,
    serve: Callable[..., EndpointSettings],
    use_model: Callable,
    monkeypatch: pytest.MonkeyPatch,
    embedder: Embedder,
) -> str:
    """Return the id of a run for the race question. All commands share one embedding model."""
    monkeypatch.setattr(Candor, "embedder", embedder)
    use_model(serve(honest_model))
    write_documents(tmp_path / "files")
    run("ingest", tmp_path / "files", "--collection", "papers")
    asked = run("ask", RACE, "--mode", "high", "--json").json
    assert WINNER in said(asked)
    return str(asked["run_id"])


def said(answer: dict[str, Any]) -> str:
    return " ".join(claim["text"] for claim in answer["claims"])


def test_a_plan_saved_from_one_question_answers_another(run: Callable, race: str) -> None:
    saved = run("plans", "save", "look up", race, "--yes", "--json")
    assert saved.code == 0, saved.err
    texts = json.dumps(saved.json["plan"])
    assert "@{question}" in texts
    assert "Vinterholm" not in texts
    followed = run("ask", WARRANTY, "--template", "look up", "--json").json
    assert followed["status"] == "answered"
    assert PERIOD in said(followed)
    assert WINNER not in said(followed)


def test_a_plan_that_names_its_question_is_not_saved_without_a_model(run: Callable, race: str) -> None:
    refused = run("plans", "save", "look up", race, "--no-model")
    assert refused.code == 1
    assert "still contains parts of its original question" in refused.err
    assert "the input 'queries' of step 'read' ('Vinterholm', 'Marathon'" in refused.err
    assert run("plans", "--json").json == []


def test_saving_without_a_terminal_needs_a_choice(run: Callable, race: str) -> None:
    refused = run("plans", "save", "look up", race)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert "--no-model" in refused.err


@pytest.mark.parametrize(("answer", "saved"), [(True, ["look up"]), (False, [])])
def test_a_person_sees_the_proposal_and_confirms_it(
    run: Callable, race: str, monkeypatch: pytest.MonkeyPatch, answer: bool, saved: list[str]
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: answer)
    shown = run("plans", "save", "look up", race)
    assert "   Answer: @{question}" in shown.out
    assert [each["name"] for each in run("plans", "--json").json] == saved
    if not answer:
        kept = shown.err.split("candor plans import ")[1].split("`")[0]
        assert run("plans", "import", *kept.split(), "--json").json["saved"] == "look up"
    assert Candor(load_settings(None)).plan_memory.list(frozenset({"other"})) == (), (
        "it belongs to the run's collection"
    )


def test_a_plan_of_an_earlier_version_is_listed_and_refused(run: Callable, race: str) -> None:
    candor = Candor(load_settings(None))
    candor.plan_memory.save("old", Plan.model_validate(old_plan()), RACE)
    assert [each["name"] for each in run("plans", "--json").json] == ["old"]
    refused = run("ask", WARRANTY, "--template", "old")
    assert refused.code == 1
    assert "It would answer that question again" in refused.err
    assert "candor plans edit old" in refused.err


def test_a_plan_is_exported_imported_shown_and_deleted(run: Callable, race: str, tmp_path: Path) -> None:
    run("plans", "save", "look up", race, "--yes")
    file = tmp_path / "plan.json"
    assert run("plans", "export", "look up", "--output", file).code == 0
    assert json.loads(file.read_text())["version"] == 1
    assert run("plans", "import", file).code == 1, "the name is taken"
    imported = run("plans", "import", file, "--name", "again", "--json")
    assert imported.json == {"saved": "again", "plan": run("plans", "show", "look up", "--json").json["plan"]}
    assert "1. read (Reader)" in run("plans", "show", "again").out
    assert run("plans", "delete", "again").code == 0
    assert [each["name"] for each in run("plans", "--json").json] == ["look up"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "version: Input should be 1"),
        ({"name": "other"}, "cannot be renamed"),
        ({"question": "Which pump is the quietest?"}, None),
        ({"plan": old_plan()}, "still contains parts of its original question"),
    ],
    ids=["version", "name", "valid", "old question"],
)
def test_an_edited_plan_is_checked_and_an_invalid_text_is_kept(
    run: Callable, race: str, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], said: str | None
) -> None:
    run("plans", "save", "look up", race, "--yes")
    before = run("plans", "show", "look up", "--json").json
    edited: list[str] = []

    def edit(text: str, **_: Any) -> str:
        edited.append(json.dumps(json.loads(text) | change))
        return edited[0]

    monkeypatch.setattr("click.edit", edit)
    result = run("plans", "edit", "look up")
    if said is None:
        assert result.code == 0, result.err
        assert run("plans", "show", "look up", "--json").json["question"] == change["question"]
        return
    assert result.code == 2
    assert said in result.err
    assert run("plans", "show", "look up", "--json").json == before
    kept = result.err.split("candor plans edit 'look up' ")[1].split("`")[0]
    assert Path(kept).read_text() == edited[0], "nothing is lost"


@pytest.mark.parametrize("given", ["company", "=Apple"])
def test_an_input_needs_a_name_and_a_value(run: Callable, given: str) -> None:
    refused = run("ask", "Why?", "--template", "any", "--input", given)
    assert refused.code == 2
    assert f"--input '{given}' is not NAME=VALUE" in refused.err


def test_the_example_plan_asks_every_document(run: Callable, race: str) -> None:
    file = Path(sample_docs.__file__).parent / "templates" / "tender.json"
    assert run("plans", "import", file).code == 0
    followed = run("ask", WARRANTY, "-c", "papers", "--template", "tender", "--json").json
    traced = run("trace", followed["run_id"], "--json").json
    items = [event["body"] for event in traced["events"] if event["body"]["type"] == "item_read"]
    assert {body["of"] for body in items} == {len(items)}
