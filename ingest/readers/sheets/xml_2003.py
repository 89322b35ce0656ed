"""Reads workbooks in the XML of Excel 2003, which reporting programs still write: a heading and a table per sheet."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.merged_cells import Cell, repeat_merged
from ingest.readers.shared.ooxml import attribute, number
from ingest.readers.sheets.cells import name_hidden

NAMESPACE = "urn:schemas-microsoft-com:office:spreadsheet"
_MAX_GAP = 256  # empty cells before one that names its column


def write_workbook(root: Element, into: DocumentBuilder) -> None:
    """Add the sheets of a workbook to the builder."""
    for sheet in root.iterfind("{*}Worksheet"):
        shown = sheet.findtext("{*}WorksheetOptions/{*}Visible", "")
        into.heading(attribute(sheet, "Name") + " (hidden sheet)" * shown.startswith("SheetHidden"), level=2)
        rows = repeat_merged(_cells(row) for row in sheet.iterfind("{*}Table/{*}Row"))
        hidden = [
            number for number, row in enumerate(sheet.iterfind("{*}Table/{*}Row")) if attribute(row, "Hidden") == "1"
        ]
        into.table(name_hidden(rows, hidden, _hidden_columns(sheet)))
        comments = ("".join(comment.itertext()).strip() for comment in sheet.iterfind(".//{*}Comment"))
        into.prose("\n".join(f"Comment: {' '.join(text.split())}" for text in comments if text))


def _hidden_columns(sheet: Element) -> Iterator[int]:
    after = 0
    for column in sheet.iterfind("{*}Table/{*}Column"):
        first = number(attribute(column, "Index"), after + 1) - 1
        after = first + min(number(attribute(column, "Span")) + 1, _MAX_GAP)
        yield from range(first, after) if attribute(column, "Hidden") == "1" else ()


def _cells(row: Element) -> list[Cell]:
    cells: list[Cell] = []
    width = 0
    for cell in row.iterfind("{*}Cell"):
        column = number(attribute(cell, "Index"), width + 1) - 1
        cells += [Cell("")] * min(max(column - width, 0), _MAX_GAP)
        data = cell.find("{*}Data")
        text = "" if data is None else "".join(data.itertext())
        spanned = number(attribute(cell, "MergeAcross")) + 1
        cells.append(Cell(text.removesuffix("T00:00:00.000"), spanned, number(attribute(cell, "MergeDown")) + 1))
        width = max(column, width) + spanned
    return cells
