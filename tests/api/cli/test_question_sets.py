"""Question sets with `candor eval`: the example, and drafts of a model about a collection."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multi_agent.evaluation.question_set import load_questions
from multi_agent.llm.settings import EndpointSettings
from support.replies import Reply, Request

Serve = Callable[..., EndpointSettings]


def test_the_example_question_set_is_valid(run: Any, tmp_path: Path) -> None:
    for name in ("mine.jsonl", "mine.csv"):
        assert run("eval", "init", tmp_path / name).code == 0
    assert load_questions(tmp_path / "mine.csv").questions == load_questions(tmp_path / "mine.jsonl").questions
    again = run("eval", "init", tmp_path / "mine.csv")
    assert again.code == 2
    assert "exists" in again.err


@pytest.mark.usefixtures("ingested")
def test_quotes_of_drafted_questions_are_verified(run: Any, serve: Serve, use_model: Any, tmp_path: Path) -> None:
    """The model corrects one quote, and proposes nothing for the other passage."""
    asked: list[str] = []

    def drafter(request: Request) -> str:
        asked.append(request.prompt)
        cold = "Borea" in request.prompt
        quote = "works down to -25 °C" if len(request.messages) > 2 else "works at -25 degrees"
        known = {
            "question": "Down to what?",
            "answer": "-25 °C.",
            "accepted": ["-25 °C"],
            "type": "text",
            "quote": quote,
        }
        nothing = {"question": "", "answer": "", "accepted": [], "type": "text", "quote": ""}
        return json.dumps({"worth_asking": cold, **(known if cold else nothing)})

    use_model(serve(drafter))
    drafts = tmp_path / "drafts.jsonl"
    result = run("eval", "draft", drafts, "-c", "papers", "--count", "2")
    assert result.code == 0, result.err
    assert "nothing worth asking in soup.txt" in result.err
    assert sum("does not stand in the passage" in prompt for prompt in asked) == 1
    [question] = load_questions(drafts).questions
    assert question.gold[0].quote == "works down to -25 °C"
    assert question.tags == ("draft",)
    started = run("eval", "run", drafts, "-c", "papers", "--mode", "fast", "--max-calls", "1")
    assert "1 of 1 question not yet reviewed" in started.err
    assert run("eval", "draft", drafts, "-c", "papers").code == 2


@pytest.mark.usefixtures("ingested")
def test_drafts_are_written_one_by_one(run: Any, serve: Serve, use_model: Any, tmp_path: Path) -> None:
    asked: list[str] = []

    def drafter(request: Request) -> Reply | str:
        asked.append(request.prompt)
        if len(asked) > 1:
            return Reply(status=400, text="no")
        line = next(each for each in ("works down to -25 °C", "for 20 minutes") if each in request.prompt)
        return json.dumps({"worth_asking": True, "question": "How?", "answer": line, "accepted": [line],
                           "type": "text", "quote": line})  # fmt: skip

    use_model(serve(drafter))
    assert run("eval", "draft", tmp_path / "gone" / "drafts.jsonl", "-c", "papers").code == 2
    assert not asked
    drafts = tmp_path / "drafts.jsonl"
    assert run("eval", "draft", drafts, "-c", "papers", "--count", "2").code == 1
    assert len(load_questions(drafts).questions) == 1
    none = run("eval", "draft", tmp_path / "none.jsonl", "-c", "papers", "--count", "2")
    assert none.code == 1
    assert not (tmp_path / "none.jsonl").exists()
