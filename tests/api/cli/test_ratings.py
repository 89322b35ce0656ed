"""Ratings of answers on the command line, and the question set that is made of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.service import QUESTION

UNKNOWN = "How loud is the Alto 7?"


@pytest.fixture
def rated(run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable) -> dict[str, str]:
    """Runs: `up` and `down` of an answered question, `none` of an insufficient answer that was rated up."""
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder, "-c", "papers")
    runs = {name: run("ask", QUESTION, "--mode", "fast", "--json").json["run_id"] for name in ("up", "down")}
    runs["none"] = run("ask", UNKNOWN, "--mode", "fast", "--document", "soup.txt", "--json").json["run_id"]
    assert run("rate", runs["up"], "up").code == 0
    assert run("rate", runs["down"], "down", "--note", "It is -20 °C.").code == 0
    assert run("rate", runs["none"], "up").code == 0
    return runs


def test_runs_show_their_ratings(rated: dict[str, str], run: Callable) -> None:
    listed = run("runs").out
    assert {line.split()[0] for line in listed.splitlines() if "rated down" in line} == {rated["down"]}
    [only] = run("runs", "--rating", "down", "--json").json
    assert (only["run_id"], only["note"]) == (rated["down"], "It is -20 °C.")


def test_a_rating_is_replaced_and_removed(rated: dict[str, str], run: Callable) -> None:
    replaced = run("rate", rated["down"], "up", "--json").json
    assert (replaced["rating"], replaced["note"]) == ("up", "")
    assert run("rate", rated["down"], "none", "--json").json["rating"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("good",), "Unknown rating 'good'. Choose from up, down and none."),
        (("none", "--note", "x"), "The note has no rating."),
    ],
)
def test_a_wrong_rating_changes_nothing(
    rated: dict[str, str], run: Callable, arguments: tuple[str, ...], says: str
) -> None:
    refused = run("rate", rated["down"], *arguments)
    assert (refused.code, says in " ".join(refused.err.split())) == (2, True), refused.err
    assert run("rate", "run_none", "up").code == 1
    [only] = run("runs", "--rating", "down", "--json").json
    assert only["note"] == "It is -20 °C."


def test_rated_answers_become_a_question_set_that_can_be_evaluated(
    rated: dict[str, str], run: Callable, tmp_path: Path
) -> None:
    file = tmp_path / "questions.jsonl"
    written = run("eval", "from-ratings", file, "-c", "papers")
    assert written.code == 0
    assert "Wrote 3 rated questions" in written.err
    assert "Without a known answer: 1." in written.err
    up, down, none = (json.loads(line) for line in file.read_text().splitlines())
    assert up == {
        "id": rated["up"], "question": QUESTION, "answer": "It says so: The Borea 12 works down to -25 °C.",
        "accepted": ["The Borea 12 works down to -25 °C."], "gold": [{"document": "pumps.md"}], "tags": ["rated up"],
    }  # fmt: skip
    assert down == {"id": rated["down"], "question": QUESTION, "tags": ["rated down"], "note": "It is -20 °C."}
    assert none == {"id": rated["none"], "question": UNKNOWN, "type": "none", "tags": ["rated up"]}

    evaluated = run("eval", "run", file, "-c", "papers", "--json")
    assert evaluated.code == 0, evaluated.err
    [result] = evaluated.json["evaluations"]
    figures = {row["question_id"]: row["figures"] for row in result["rows"]}
    assert (figures[rated["up"]]["correct"], figures[rated["up"]]["document_recall"]) == (1, 1)
    assert "correct" not in figures[rated["down"]]
    assert "correct" in figures[rated["none"]]
    assert "not" not in evaluated.err

    refused = run("eval", "from-ratings", file, "-c", "papers")
    assert (refused.code, "Cannot write" in refused.err) == (2, True)


def test_a_collection_without_ratings_is_refused(run: Callable, folder: Path, tmp_path: Path) -> None:
    run("ingest", folder)
    refused = run("eval", "from-ratings", tmp_path / "questions.jsonl")
    assert (refused.code, "No answer from this collection is rated." in refused.err) == (2, True)
    assert not (tmp_path / "questions.jsonl").exists()
