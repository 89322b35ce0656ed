"""What of a question is searched: an instruction for the answer finds covers and signatures."""

from __future__ import annotations

import pytest

from multi_agent.grounding.asked import without_instruction

ASSETS = "What were the total assets of Holley?"


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        (f"{ASSETS} If data is not available, return 'N/A'.", ASSETS),
        (f"{ASSETS} Answer in thousands.", ASSETS),
        ("Wie hoch war der Umsatz der Nordwind AG? Antworte kurz.", "Wie hoch war der Umsatz der Nordwind AG?"),
        ("泵的最高温度是多少？请回答。", "泵的最高温度是多少？请回答。"),
    ],
)
def test_an_instruction_after_the_question_is_not_searched(question: str, searched: str) -> None:
    assert without_instruction(question) == searched


@pytest.mark.parametrize(
    "question",
    [
        ASSETS,
        "List the pumps. Use a table.",
        f"{ASSETS} I mean those of 2021.",
        "What is the warranty of the heat pump? The pump stands in the cellar.",
        "How loud is it? I mean the machine in the cellar.",
        f"I read a report. {ASSETS}",
    ],
)
def test_what_says_what_is_asked_is_searched(question: str) -> None:
    assert without_instruction(question) == question


def test_a_further_query_tells_that_a_sentence_says_what_is_asked() -> None:
    question = f"{ASSETS} I mean the maker of carburettors."
    assert without_instruction(question, ["assets of the carburettor company"]) == question
    assert without_instruction(question, ["balance sheet total"]) == ASSETS
