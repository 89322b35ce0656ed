"""The part of a passage that a search shows."""

from __future__ import annotations

import pytest

from api.cli.render.text import EXCERPT_LENGTH, excerpt_around

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
    found = excerpt_around(text, words)
    assert shown in found
    assert (found[:2], found[-2:]) == ("… ", " …")
    assert len(found) <= EXCERPT_LENGTH + 2


@pytest.mark.parametrize("words", [(), ("quark",), ("nothing",)])
def test_an_excerpt_begins_with_the_passage_if_it_can(words: tuple[str, ...]) -> None:
    assert excerpt_around(FILLER, words).startswith("These words are about nothing")


def test_rows_of_a_table_are_told_apart() -> None:
    assert excerpt_around(TABLE, ("Tundra",)) == "| Model | Price / Borea | 9480 / Tundra | 12640 |"
