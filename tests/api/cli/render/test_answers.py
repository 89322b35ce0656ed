"""What the command line shows of an answer and of what happened."""

from __future__ import annotations

import io

from rich.console import Console

from api.cli.render.answers import show_answer
from multi_agent.answer import Answer, Status
from support.answers import ANSWER


def shown(answer: Answer) -> str:
    console = Console(file=io.StringIO(), width=100)
    show_answer(console, answer)
    return str(console.file.getvalue())


def test_an_answer_that_stands_tells_what_it_leaves_open() -> None:
    told = shown(ANSWER.model_copy(update={"status": Status.ANSWERED}))
    assert "Left open\n    the noise" in told
    assert "Looked for" not in told


def test_one_that_does_not_suffice_tells_what_was_looked_for_and_is_missing() -> None:
    told = shown(ANSWER)
    assert "Looked for\n    noise levels" in told
    assert "Missing\n    the noise" in told
