"""Tables with merged cells as plain rows: every place of the grid that a cell covers says what the cell says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MOST_COLUMNS = 4096  # a span beyond this is a mistake or an attack; no table that people read is as wide
_MOST_ROWS = 65536


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell and how many columns and rows it covers."""

    text: str
    columns: int = 1
    rows: int = 1


def spread(rows: Iterable[Sequence[Cell]]) -> list[list[str]]:
    """The rows of a table as written, one text per column.

    A merged header stands above each of its columns and a merged label beside each of its rows, so that a row read by
    itself says all that it says on the page.
    """
    grid: list[list[str]] = []
    reaching: dict[int, tuple[str, int]] = {}  # column: what reaches down into it, and over how many further rows
    for row in rows:
        line: list[str] = []
        below: dict[int, tuple[str, int]] = {}
        for cell in row:
            _fill_from_above(line, reaching, below)
            for _ in range(min(max(cell.columns, 1), _MOST_COLUMNS)):
                if cell.rows > 1:
                    below[len(line)] = (cell.text, min(cell.rows, _MOST_ROWS) - 1)
                line.append(cell.text)
        _fill_from_above(line, reaching, below)
        grid.append(line)
        reaching = below
    return grid


def _fill_from_above(line: list[str], reaching: dict[int, tuple[str, int]], below: dict[int, tuple[str, int]]) -> None:
    """Fill the next places of a line that cells of earlier rows reach into."""
    while len(line) in reaching:
        text, further = reaching[len(line)]
        if further > 1:
            below[len(line)] = (text, further - 1)
        line.append(text)
