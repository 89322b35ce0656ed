"""Reads workbooks in the XML of Excel 2003, which reporting programs still write: a heading and a table per sheet."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.merged_cells import Cell, repeat_merged
from ingest.readers.shared.ooxml import attribute, number

NAMESPACE = "urn:schemas-microsoft-com:office:spreadsheet"
_MAX_GAP = 256  # empty cells before one that names its column


def write_workbook(root: Element, into: DocumentBuilder) -> None:
    """Add the sheets of a workbook to the builder."""
    for sheet in root.iterfind("{*}Worksheet"):
        into.heading(attribute(sheet, "Name"), level=2)
        into.table(repeat_merged(_cells(row) for row in sheet.iterfind("{*}Table/{*}Row")))
        comments = ("".join(comment.itertext()).strip() for comment in sheet.iterfind(".//{*}Comment"))
        into.prose("\n".join(f"Comment: {' '.join(text.split())}" for text in comments if text))


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
