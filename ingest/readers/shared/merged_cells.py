"""Turns tables with merged cells into plain rows: a merged cell's text is repeated in each column and row it covers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MAX_COLUMNS = 4096  # no table that people read is wider: a larger span is an error or an attack
_MAX_ROWS = 65536


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell, and the number of columns and rows that it spans. 0 rows: to the last row, as in HTML."""

    text: str
    columns: int = 1
    rows: int = 1


def repeat_merged(rows: Iterable[Sequence[Cell]]) -> list[list[str]]:
    """Return the rows of a table, one text per column.

    A merged header is repeated above each of its columns and a merged label in each of its rows, so each row can be
    read without the others.
    """
    grid: list[list[str]] = []
    from_above: dict[int, tuple[str, int]] = {}  # column: text of the cell that covers it, and remaining rows
    for row in rows:
        line: list[str] = []
        below: dict[int, tuple[str, int]] = {}
        for cell in row:
            _fill_from_above(line, from_above, below)
            for _ in range(max(min(cell.columns, _MAX_COLUMNS - len(line)), 1)):
                if cell.rows != 1 and len(line) < _MAX_COLUMNS:
                    below[len(line)] = (cell.text, min(cell.rows or _MAX_ROWS, _MAX_ROWS) - 1)
                line.append(cell.text)
        _fill_from_above(line, from_above, below)
        grid.append(line)
        from_above = below
    return grid


def _fill_from_above(
    line: list[str], from_above: dict[int, tuple[str, int]], below: dict[int, tuple[str, int]]
) -> None:
    """Fill the next columns of a line that cells of earlier rows cover."""
    while len(line) in from_above:
        text, remaining = from_above[len(line)]
        if remaining > 1:
            below[len(line)] = (text, remaining - 1)
        line.append(text)
