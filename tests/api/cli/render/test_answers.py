"""Rendering of answers."""

from __future__ import annotations

import io

from rich.console import Console

from api.cli.render.answers import show_answer
from multi_agent.values.answer import Answer, Status
from support.answers import ANSWER


def render(answer: Answer) -> str:
    console = Console(file=io.StringIO(), width=100)
    show_answer(console, answer)
    return str(console.file.getvalue())


def test_an_answer_shows_what_is_left_open() -> None:
    text = render(ANSWER.model_copy(update={"status": Status.ANSWERED}))
    assert "Left open\n    the noise" in text
    assert "Looked for" not in text


def test_an_answer_without_claims_shows_what_was_searched() -> None:
    absent = {"status": Status.ANSWERED, "answer": "N/A", "short": "N/A", "claims": (), "nearest": None}
    text = render(ANSWER.model_copy(update=absent))
    assert text.startswith("Answered · confidence 0.40\n    N/A\n")
    assert "Looked for\n    noise levels" in text


def test_an_insufficient_answer_shows_what_is_missing() -> None:
    text = render(ANSWER)
    assert "Insufficient · confidence 0.40\n    Closest: -25 °C\n    It works" in text
    assert "Looked for\n    noise levels" in text
    assert "Missing\n    the noise" in text
