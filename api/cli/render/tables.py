"""Prints tables over documents, and the progress of a fill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from api.cli.render.text import show_list, show_table
from api.services.tables.export import headings
from multi_agent.tables.values import Cell, CellStatus, Grid, TableRow

if TYPE_CHECKING:
    from api.services.tables.tables import FillProgress


def show_grid(console: Console, grid: Grid, *, quotes: bool = False) -> None:
    """Print the rows and, with ``quotes``, what each cell rests on."""
    columns = [column.name for column in grid.table.columns]
    rows = [[row.name, *(_show(row, name) for name in columns)] for row in grid.rows]
    show_table(console, headings(grid), rows)
    for row in grid.rows if quotes else ():
        for name in columns:
            if cell := row.cells.get(name):
                told = (*cell.quotes, cell.confidence, cell.reason, f"by {cell.by}")
                show_list(console, f"{row.name}, {name}: {cell.text or '-'}", [each for each in told if each])


def _show(row: TableRow, column: str) -> str:
    cell = row.cells.get(column)
    if cell is None:
        return "…"
    mark = " *" if cell.is_by_hand else " !" if cell.status is CellStatus.FAILED else ""
    return f"{cell.text or '-'}{mark}"


def fill_line(progress: FillProgress, document: str, cells: Sequence[Cell], known: set[str]) -> str:
    """Return the line of a call: how many of its cells have a value, and the failures that are not ``known`` yet.

    Adds these to ``known``.
    """
    found = sum(cell.status is CellStatus.FOUND for cell in cells)
    failed = {cell.reason for cell in cells if cell.status is CellStatus.FAILED} - known
    known |= failed
    told = f"{found} of {len(cells)} cells have a value"
    return f"[{progress.calls}/{progress.of}] {document}: {'; '.join((told, *failed))}"
