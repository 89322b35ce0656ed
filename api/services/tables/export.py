"""Exports tables as CSV, XLSX, Markdown and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING

from multi_agent.tables.values import Cell, Column, ColumnType, Grid, TableRow
from multi_agent.values.sources import readable

if TYPE_CHECKING:
    from openpyxl.cell.cell import Cell as XlsxCell

_DOCUMENT = "document"
_FORMULA = ("=", "+", "-", "@", "\t")
_LONGEST_TITLE = 31  # characters of a sheet's name
_FIRST_YEAR = 1900  # of the calendar of Excel
_MOST_NOTE = 30_000  # characters; Excel allows 32,767


class TableFormat(StrEnum):
    """The formats of an export; also the suffixes of its file."""

    CSV = "csv"
    XLSX = "xlsx"
    MARKDOWN = "md"
    JSON = "json"


MEDIA = {
    TableFormat.CSV: "text/csv",
    TableFormat.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    TableFormat.MARKDOWN: "text/markdown",
    TableFormat.JSON: "application/json",
}


def export(grid: Grid, form: TableFormat) -> bytes:
    """Return the content of the file."""
    match form:
        case TableFormat.CSV:
            return _csv(grid).encode("utf-8-sig")  # Excel reads UTF-8 only with the mark
        case TableFormat.MARKDOWN:
            return _markdown(grid).encode()
        case TableFormat.XLSX:
            return _xlsx(grid)
    return grid.model_dump_json(indent=2).encode()


def headings(grid: Grid) -> list[str]:
    """Return the headings: the document, then the columns with their units."""
    columns = grid.table.columns
    return [_DOCUMENT, *(f"{each.name} ({each.unit})" if each.unit else each.name for each in columns)]


def note(cell: Cell) -> str:
    """Return the quotes of a cell, how it was checked and why it is empty, a line each."""
    return "\n".join(filter(None, (*cell.quotes, cell.confidence, cell.reason)))


def _cells(grid: Grid, row: TableRow) -> Iterator[tuple[Column, Cell | None]]:
    return ((column, row.cells.get(column.name)) for column in grid.table.columns)


def _csv(grid: Grid) -> str:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(map(_no_formula, headings(grid)))
    for row in grid.rows:
        shown = [
            ("" if cell is None else cell.text if column.type is ColumnType.NUMBER else _no_formula(cell.text))
            for column, cell in _cells(grid, row)
        ]
        writer.writerow([_no_formula(row.name), *shown])
    return file.getvalue()


def _no_formula(text: str) -> str:
    """Return the text with an apostrophe if a spreadsheet would run it as a formula. Documents are not trusted."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _markdown(grid: Grid) -> str:
    """Return the table with its quotes as footnotes."""
    lines = [_line(headings(grid)), _line(["---"] * (len(grid.table.columns) + 1))]
    notes: list[str] = []
    for row in grid.rows:
        shown = [_escape(row.name)]
        for _, cell in _cells(grid, row):
            text = _escape(cell.text) if cell else ""
            if cell and (about := note(cell)):
                notes.append(f"[^{len(notes) + 1}]: " + "; ".join(map(_escape, about.splitlines())))
                text += f"[^{len(notes)}]"
            shown.append(text)
        lines.append(_line(shown))
    return "\n".join((f"# {grid.table.name}", "", *lines, "", *notes, ""))


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape(text: str) -> str:
    return " ".join(readable(text).split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _xlsx(grid: Grid) -> bytes:
    from openpyxl import Workbook
    from openpyxl.comments import Comment
    from openpyxl.styles import Font

    book = Workbook()
    sheet = book.worksheets[0]
    sheet.title = grid.table.name[:_LONGEST_TITLE]
    for at, heading in enumerate(headings(grid), start=1):
        _write(sheet.cell(1, at), heading).font = Font(bold=True)
    for number, row in enumerate(grid.rows, start=2):
        _write(sheet.cell(number, 1), row.name)
        for at, (column, cell) in enumerate(_cells(grid, row), start=2):
            if cell:
                written = _write(sheet.cell(number, at), _typed(column, cell))
                if about := note(cell):
                    written.comment = Comment(readable(about)[:_MOST_NOTE], "Candor")
    sheet.freeze_panes = "B2"
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _write(place: XlsxCell, value: str | float | date | None) -> XlsxCell:
    """Write a value. Text stays text, even if it looks like a formula."""
    if isinstance(value, str):
        place.value = readable(value)
        place.data_type = "s"
    else:
        place.value = value
    return place


def _typed(column: Column, cell: Cell) -> str | float | date | None:
    """Return the value in the type of a spreadsheet. A date without a day or before 1900 stays text."""
    if isinstance(cell.value, int | float) and not isinstance(cell.value, bool):
        return cell.value
    if column.type is ColumnType.DATE and len(cell.text) == len("2024-01-02"):
        day = date.fromisoformat(cell.text)
        return day if day.year >= _FIRST_YEAR else cell.text
    return cell.text or None
