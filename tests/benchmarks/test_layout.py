"""The scores of benchmarks/layout, on hand-written parser output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.layout.gold import Cell, Page, load
from benchmarks.layout.reading import Reading, Row, Text, join_pages, reading_of
from benchmarks.layout.scoring import WordResult, score_cell, score_page, score_words
from ingest.readers.shared.document_builder import DocumentBuilder

ROWS = (
    ("", "2022 Amount", "2022 Rate", "2021 Amount"),
    ("Revenue from sales1 .....", "$ 1,200", "4.5 %", "1,100"),
    ("Other costs", "(300)", "—", "$ (250)"),
)


def cell(row: str, columns: tuple[str, ...], value: str, page: int = 2) -> Cell:
    return Cell(document="report.pdf", page=page, row=row, columns=columns, value=value)


def reading() -> Reading:
    """Return a table that begins on page 1 and continues on page 2, built like a parsed PDF."""
    builder = DocumentBuilder()
    builder.page(1)
    builder.heading("Results", 1)
    builder.table([*ROWS, ("Profit", "900", "3.3 %", "850")], pages=[(3, 2)])
    builder.prose("Loss per share 7.1")
    return reading_of(builder.build(parser="pdf/1", mime_type="application/pdf"))


@pytest.mark.parametrize(
    ("wanted", "scores"),
    [
        (cell("Revenue from sales", ("2022", "Amount"), "1,200", page=1), (True, True, True)),
        (cell("Other costs", ("2021", "Amount"), "(250)", page=1), (True, True, True)),
        (cell("Profit", ("2021", "Amount"), "850"), (True, True, True)),  # the head is on the previous page
        (cell("Profit", ("2021", "Rate"), "3.3%"), (True, True, False)),  # 3.3 % is the rate of 2022
        (cell("Profit", ("Rate",), "900"), (True, False, False)),  # another column
        (cell("Profit", (), "900"), (True, True, True)),
        (cell("Profit", (), "900", page=1), (False, False, False)),  # another page
        (cell("Profit", (), "300"), (False, False, False)),  # another row
        (cell("Loss per share", (), "7.1"), (False, False, False)),  # not in a table
    ],
)
def test_a_cell_needs_its_label_and_its_head(wanted: Cell, scores: tuple[bool, bool, bool]) -> None:
    result = score_cell(wanted, reading())
    assert (result.in_row, result.under_head, result.under_all_heads) == scores


def test_a_failure_shows_the_parsed_text() -> None:
    [in_another_row] = score_cell(cell("Loss", (), "900"), reading()).read
    assert in_another_row == "value in the row 'Profit 900 3.3 % 850' under '2022 Amount'"
    assert score_cell(cell("Loss per share", (), "7.1"), reading()).read == ("value in prose: 'Loss per share 7.1'",)


def test_headings_are_compared_without_numbers_and_footnotes() -> None:
    page = Page(
        document="report.pdf",
        page=1,
        headings=("7. Intangible Assets", "Net sales", "Risks"),
        not_headings=("£200m", "Table of Contents"),
        optional=("(in thousands)", "continued"),
    )
    blocks = ("INTANGIBLE ASSETS(1)", "Net sales (in thousands)", "£200m £300m", "continued")
    result = score_page(page, Reading((), tuple(Text(1, block) for block in blocks)))
    assert result.found == ("7. Intangible Assets", "Net sales")
    assert result.missed == ("Risks",)
    assert (result.right, result.wrong, result.taken) == (2, ("£200m £300m",), ("£200m",))


def test_tables_of_adjacent_pages_with_the_same_columns_are_one_table() -> None:
    first, second = (Row(1, ("Name", "Share")), Row(1, ("Ada", "1"))), (Row(2, ("Grace", "2")),)
    other = (Row(3, ("Grace", "2", "3")),)
    assert join_pages([first, second, other]) == ((*first, *second), other)


def test_the_gold_data_is_valid() -> None:
    annual, quarterly = (load(name, Path()) for name in ("annual", "quarterly"))
    for gold in (annual, quarterly):
        assert len(gold.cells) >= 75
        assert len(gold.cells) == len(set(gold.cells))
        assert all(cell.value and cell.row and cell.page > 0 for cell in gold.cells)
        assert all(not set(page.headings) & {*page.not_headings, *page.optional} for page in gold.pages)


def test_a_missing_set_is_empty(tmp_path: Path) -> None:
    assert load("annual", tmp_path, gold=tmp_path).documents == []
    line = {"document": "a.pdf", "page": 3, "headings": ["One"], "not_headings": []}
    (tmp_path / "annual_headings.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    gold = load("annual", tmp_path, gold=tmp_path)
    assert (gold.documents, gold.pages_of("a.pdf"), gold.pages[0].optional) == (["a.pdf"], {2, 3}, ())


def test_words_are_compared_with_the_recognised_text_of_the_page() -> None:
    assert score_words("Net sales rose by 4.5 %", "Net sales rose by 4.5 %") == WordResult(1.0, 1.0)
    result = score_words("one two three four", "two one three")
    assert result.words == pytest.approx(3 / 4)
    assert result.order == pytest.approx(2 / 3)
    assert score_words("", "two").words is None


def test_a_library_without_tables_has_no_score_for_them() -> None:
    assert score_cell(cell("Profit", (), "900"), Reading(tables=None)).in_row is False
    assert reading().texts[1].startswith("Results")
