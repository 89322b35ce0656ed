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


def test_a_terminal_shows_a_quote_whose_place_is_long_on_a_line_of_its_own() -> None:
    quote = ANSWER.evidence[0].model_copy(update={"document": f"/papers/{'contract_' * 6}2.md"})
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    show_answer(console, ANSWER.model_copy(update={"evidence": (quote, *ANSWER.evidence[1:])}), full=False)
    lines = str(console.file.getvalue()).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("[1] contract_"))
    assert lines[at + 1] == "    “works down to -25 °C”"
    assert lines[at + 2].startswith("[C1] count them. From 1 quote of pumps.pdf. Not all rows are shown.")
    assert all(len(line) <= 80 for line in lines[at : at + 2])
