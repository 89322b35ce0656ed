"""Shortening the rows of wide tables for the embedding model."""

from __future__ import annotations

from vectorstore.text.wide_rows import WIDE, narrowed


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


FIGURES = [f"{n}" for n in range(WIDE)]


def test_key_texts_and_few_figures_stay() -> None:
    names = row("id", "city", *(f"m{n}" for n in range(WIDE)), "status")
    rows = [row(f"R{n}", "Castrel", *FIGURES, "open") for n in range(2)]
    assert narrowed("\n".join(["Stock of June", names, *rows])).split("\n") == [
        "Stock of June",
        "| id | city | m0 | m1 | m2 | status |",
        "| R0 | Castrel | 0 | 1 | 2 | open |",
        "| R1 | Castrel | 0 | 1 | 2 | open |",
    ]


def test_of_many_texts_the_first_stay() -> None:
    cells = [f"answer {chr(97 + n)}" for n in range(WIDE + 4)]
    assert narrowed("\n".join([row(*cells), row(*cells)])).count("answer") == 2 * 10


def test_narrow_tables_and_other_text_are_unchanged() -> None:
    narrow = row(*FIGURES[: WIDE - 1])
    for text in (narrow, "a " + "| b " * 30, row("a\\|" * WIDE), "", "|", f"{narrow}\n{row('a')}"):
        assert narrowed(text) == text
