"""Reads the sheets of OpenDocument (.ods) as their program shows them: 01067, 25.6 %, 31:30, raised and struck text.

calamine gives the stored numbers: 1067 for the post code 01067.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from ingest.readers.odf import Body, formed, read_content
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.merged_cells import Cell, repeat_merged
from ingest.readers.shared.ooxml import Package, attribute, number
from ingest.readers.sheets.cells import WIDE, Figure, Sheet, name_hidden

_MOST_HIDDEN = 10_000  # at once: the rest of a sheet may be hidden
_FIGURES = {"float", "percentage", "currency", "date", "time", "boolean"}


def read_open_sheets(package: Package) -> Iterator[Sheet]:
    """Yield the sheets of a workbook in order. Hidden sheets are named as hidden."""
    content, _ = read_content(package)
    hidden = {
        attribute(style, "name")
        for style in content.iterfind("{*}automatic-styles/{*}style")
        if attribute(style.find("{*}table-properties"), "display") == "false"
    }
    for table in content.iterfind("{*}body/{*}spreadsheet/{*}table"):
        is_hidden = attribute(table, "style-name") in hidden
        sheet = Sheet(attribute(table, "name") + " (hidden sheet)" * is_hidden, "", [])
        cells = _SheetCells(package, content, sheet)
        rows = repeat_merged(cells.rows(table))
        width = max((column + 1 for row in rows for column, text in enumerate(row) if text), default=0)
        rows = [row[:width] for row in rows]
        rows = name_hidden(rows, cells.hidden_rows, _hidden_columns(table))
        if width > WIDE:
            used = sorted({column for row in rows for column, text in enumerate(row) if text})
            rows = [[row[column] if column < len(row) else "" for column in used] for row in rows]
        sheet.rows = rows
        yield sheet


def _hidden_columns(sheet: Element) -> Iterator[int]:
    at = 0
    for column in sheet.iterfind(".//{*}table-column"):
        end = at + number(attribute(column, "number-columns-repeated"), 1)
        if _is_hidden(column):
            yield from range(at, min(end, at + _MOST_HIDDEN))
        at = end


def _is_hidden(part: Element) -> bool:
    return attribute(part, "visibility") in ("collapse", "filter")


class _SheetCells(Body):
    """Reads the cells of a sheet."""

    def __init__(self, package: Package, content: Element, sheet: Sheet) -> None:
        super().__init__(package, content, DocumentBuilder())
        self._sheet = sheet
        self.hidden_rows: list[int] = []
        self._rows_before = 0

    def repeated_rows(self, row: Element) -> list[list[Cell]]:
        """Return a row as often as it is repeated, and remember which rows are hidden."""
        rows = super().repeated_rows(row)
        end = self._rows_before + len(rows)
        self.hidden_rows += range(self._rows_before, end) if _is_hidden(row) else ()
        self._rows_before = end
        return rows

    def cell_text(self, cell: Element) -> str:
        """Return what a cell shows: dates in ISO form, and a formula without a value as it is written."""
        kind = attribute(cell, "value-type")
        if kind == "date":
            text = attribute(cell, "date-value").replace("T", " ").removesuffix(" 00:00:00")
        else:
            text = super().cell_text(cell) or attribute(cell, "boolean-value")
        if not text and cell.find("{*}p") is None:  # some programs write no text beside the value
            text = attribute(cell, "value")
        formula = attribute(cell, "formula")
        if formula and not kind:
            self._sheet.formulas += 1
            text = formula[formula.find("=") :]
        elif formula and text.startswith("#"):
            self._sheet.errors[text] = self._sheet.errors.get(text, 0) + 1
        self._sheet.not_shown += kind in _FIGURES and not text
        text = formed(text, cell.get("form", "")) if text else ""
        return Figure(text) if kind in _FIGURES else text
