"""The part of a passage that a search shows, and tables."""

from __future__ import annotations

import pytest
from rich.console import Console

from api.cli.render.text import EXCERPT_LENGTH, show_table
from base.text import excerpt_around

FILLER = "These words are about nothing at all. " * 12
TABLE = "| Model | Price |\n| --- | ---: |\n| Borea | 9480 |\n| Tundra | 12640 |"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("pump", "costs"), "The pump costs 9480"),
        (("cost", "9480"), "The pump costs 9480"),
        (("delivering",), "It is delivered in May"),
        (("delivered", "pump"), "It is delivered in May"),
    ],
)
def test_an_excerpt_has_the_words_or_another_form_of_them(words: tuple[str, ...], shown: str) -> None:
    text = f"A pump. {FILLER}The pump costs 9480. {FILLER}It is delivered in May, with the pump. {FILLER}"
    found = excerpt_around(text, words, EXCERPT_LENGTH)
    assert shown in found
    assert (found[:2], found[-2:]) == ("… ", " …")
    assert len(found) <= EXCERPT_LENGTH + 2


@pytest.mark.parametrize("words", [(), ("quark",), ("nothing",)])
def test_an_excerpt_begins_with_the_passage_if_it_can(words: tuple[str, ...]) -> None:
    assert excerpt_around(FILLER, words, EXCERPT_LENGTH).startswith("These words are about nothing")


def test_rows_of_a_table_are_told_apart() -> None:
    assert excerpt_around(TABLE, ("Tundra",), EXCERPT_LENGTH) == "| Model | Price / Borea | 9480 / Tundra | 12640 |"


@pytest.mark.parametrize(("is_terminal", "lines"), [(False, 2), (True, 3)])
def test_only_a_terminal_breaks_the_rows_of_a_table(is_terminal: bool, lines: int) -> None:
    console = Console(width=80, force_terminal=is_terminal)
    with console.capture() as printed:
        show_table(console, ("document",), [("a" * 100,)])
    found = printed.get().splitlines()
    assert len(found) == lines
    assert any("a" * 100 in line for line in found) is not is_terminal
