"""Tables of generated PDFs in every storage order and with every ruling, with all their cells known."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from benchmarks.layout.drawn import ORDERS, RULINGS, TABLES, Drawn, cells_of, write
from benchmarks.layout.reading import candor
from benchmarks.layout.scoring import score_cell

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
    (rows,) = candor(tmp_path / "a.pdf", {1}).tables or ()
    assert [row.cells for row in rows] == [("Feature", "1.0", "1.1", "2.0", "2.1"), *map(tuple, table.rows)]
