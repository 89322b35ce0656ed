"""The terms of a text, and whether another text contains them."""

from __future__ import annotations

import pytest

from multi_agent.grounding.terms import TermIndex, find_terms, without_own, words_of


def kinds(text: str) -> list[tuple[str, str]]:
    return [(term.text, term.kind) for term in find_terms(text)]


def test_figures_names_and_long_words_are_terms() -> None:
    assert kinds("The Borea 12 works in the winter of Norvik.") == [
        ("Borea", "name"), ("12", "figure"), ("works", "word"), ("winter", "word"), ("Norvik", "name")
    ]  # fmt: skip


@pytest.mark.parametrize("figure", ["1.2.3", "v2.3.1", "12:30", "2026-11-28", "3/4", "1'000", "12,5", "4x"])
def test_every_figure_is_found_as_it_is_written(figure: str) -> None:
    [term] = [each for each in find_terms(f"Version {figure} is here") if each.kind == "figure"]
    assert term.text == figure
    assert term in TermIndex(f"We saw {figure} there")
    assert term not in TermIndex("We saw 77 there")


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("of Halden", "Haldens Werk", True),  # a genitive
        ("of Haldens", "in Halden", True),
        ("of Halden", "Haldenau", False),
        ("of Hal", "Hals", False),  # too short for forms
        ("valves", "the valve", True),
        ("valves", "the value", False),
        ("10 million", "a sum of 10,000,000", True),
        ("1,234", "1234", True),
        ("東京都", "彼は東京都に住む", True),
        ("東京都", "彼は京都に住む", False),
    ],
)
def test_forms_of_a_term_are_found(term: str, text: str, found: bool) -> None:
    searched = [each for each in find_terms(term) if each.text not in ("of", "million")]
    assert [each in TermIndex(text) for each in searched] == [found]


def test_words_are_in_lower_case_without_punctuation() -> None:
    assert words_of("The O'Neill-report, 1.2!") == ["the", "o'neill-report", "1.2"]


@pytest.mark.parametrize(
    ("result", "left"),
    [
        ("The warranty is 9 years.", ""),
        ("Note 5:\nthe warranty is 9 years", "Note 5:\n"),
        ("You said: The warranty is 9 years. It is cold.", "You said: The warranty is 9 years. It is cold."),
        ("9", ""),
        ("9 years", "9 years"),
        ("10", "10"),
        ("The pump is blue.", "The pump is blue."),
    ],
)
def test_sentences_that_a_tool_was_given_are_left_out(result: str, left: str) -> None:
    given = ["Note: the warranty is 9 years", "The pump is blue.", "9"]
    assert without_own(result, given, ["It is here. The pump is blue."]) == left
