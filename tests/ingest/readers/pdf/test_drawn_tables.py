"""Tables of generated PDFs in every storage order and with every ruling, with all their cells known."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from fpdf import FPDF

from benchmarks.layout.drawn import ORDERS, RULINGS, TABLES, Drawn, cells_of, write
from benchmarks.layout.reading import candor
from benchmarks.layout.scoring import score_cell
from ingest.parser import load_parser

DOCUMENTS = Path(__file__).parents[4] / "sample_docs/documents"
NUMBERED_HEADS = "versions"  # the score ignores heads that are figures


@pytest.mark.parametrize(
    "table", [table for table in TABLES if table.name != NUMBERED_HEADS], ids=lambda each: each.name
)
def test_every_cell_is_under_its_heads(table: Drawn, tmp_path: Path) -> None:
    for ruling, order in product(RULINGS, ORDERS):
        write(tmp_path / "a.pdf", table, ruling, order)
        reading = candor(tmp_path / "a.pdf", {1})
        missed = [cell for cell in cells_of(table, "a.pdf") if not score_cell(cell, reading).under_all_heads]
        assert not missed, (ruling, order, missed[0])


@pytest.mark.parametrize(("ruling", "order"), list(product(RULINGS, ORDERS)))
def test_figures_above_words_are_heads(ruling: str, order: str, tmp_path: Path) -> None:
    table = next(table for table in TABLES if table.name == NUMBERED_HEADS)
    write(tmp_path / "a.pdf", table, ruling, order)
    text = load_parser("default").parse(tmp_path / "a.pdf").text
    assert (
        "| Feature | 1.0 | 1.1 | 2.0 | 2.1 |\n| --- | --- | --- | --- | --- |\n| Export | no | yes | yes | yes |"
        in text
    )


def test_justified_prose_above_a_table_is_no_head() -> None:
    text = load_parser("default").parse(DOCUMENTS / "quarterly_report_q3_2024.pdf").text
    assert "\nThe following table lists every country to which heat pumps were delivered in the third quarter" in text


@pytest.mark.timeout(60)
def test_a_page_of_scattered_words_is_read_within_a_minute(tmp_path: Path) -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", "", 4)
    for number in range(3000):
        pdf.text(10 + number * 37 % 190, 10 + number * 61 % 270, str(number))
    pdf.output(str(tmp_path / "map.pdf"))
    assert "2999" in load_parser("default").parse(tmp_path / "map.pdf").text
