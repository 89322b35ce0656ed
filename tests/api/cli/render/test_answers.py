"""Rendering of answers."""

from __future__ import annotations

import io

from rich.console import Console

from api.cli.render.answers import show_answer
from multi_agent.answer import Answer, Status
from support.answers import ANSWER


def render(answer: Answer) -> str:
    console = Console(file=io.StringIO(), width=100)
    show_answer(console, answer)
    return str(console.file.getvalue())


def test_an_answer_shows_what_is_left_open() -> None:
    text = render(ANSWER.model_copy(update={"status": Status.ANSWERED}))
    assert "Left open\n    the noise" in text
    assert "Looked for" not in text


def test_an_insufficient_answer_shows_what_is_missing() -> None:
    text = render(ANSWER)
    assert "Looked for\n    noise levels" in text
    assert "Missing\n    the noise" in text
