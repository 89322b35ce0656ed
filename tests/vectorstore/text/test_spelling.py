"""Correction of misspelt words: spellings at one edit, and the nearest words of texts."""

from __future__ import annotations

import pytest

from vectorstore.text.spelling import edits, is_correctable, nearest


@pytest.mark.parametrize(
    ("word", "meant"),
    [("Carolna", "Carolina"), ("recieve", "receive"), ("Grüsse", "Grüße"), ("Мсоква", "Москва"), ("hause", "house")],
)
def test_a_word_at_one_edit_is_nearest(word: str, meant: str) -> None:
    near = nearest(word, [f"It says {meant} here.", "Something else entirely."])
    assert near == ((meant,) if meant.casefold() in edits(word) else ())


def test_the_most_frequent_words_come_first_at_most_three() -> None:
    assert nearest("hause", ["hauser house", "house haust", "House hausen haute hauses"]) == (
        "house",
        "hausen",
        "hauser",
    )


@pytest.mark.parametrize(
    ("word", "correctable"),
    [("house", True), ("hous", False), ("h0use", False), ("10000", False), ("house" * 8, True), ("house" * 9, False)],
)
def test_only_words_of_letters_are_corrected(word: str, correctable: bool) -> None:
    """A query that was one word of 10,000 letters took gigabytes of the search process, for minutes."""
    assert is_correctable(word) is correctable
