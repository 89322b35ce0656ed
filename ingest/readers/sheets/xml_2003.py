"""Reads workbooks in the XML of Excel 2003, which reporting programs still write: a heading and a table per sheet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.form import linked
from ingest.readers.shared.merged_cells import Cell, repeat_merged
from ingest.readers.shared.number_format import GENERAL
from ingest.readers.shared.ooxml import attribute, local_name, number, show_number
from ingest.readers.sheets.cells import Sheet, formed, name_hidden, warnings_about

NAMESPACE = "urn:schemas-microsoft-com:office:spreadsheet"
_FORMS = {"Sup": (False, "superscript"), "Sub": (False, "subscript"), "S": (True, "")}
_NAMED = {"Percent": "0.00%", "Fixed": "0.00", "Standard": "#,##0.00", "Scientific": "0.00E+00"}
"""Number formats with names. Others, such as ``Currency``, depend on the computer."""
_NAME = re.compile(r"[A-Za-z/ ]*")
_MAX_GAP = 256  # empty cells before one that names its column


def write_workbook(root: Element, into: DocumentBuilder) -> None:
    """Add the sheets of a workbook to the builder."""
    styles = {attribute(style, "ID"): style for style in root.iterfind("{*}Styles/{*}Style")}
    _inherit(styles)
    formulas = 0
    for sheet in root.iterfind("{*}Worksheet"):
        shown = sheet.findtext("{*}WorksheetOptions/{*}Visible", "")
        into.heading(attribute(sheet, "Name") + " (hidden sheet)" * shown.startswith("SheetHidden"), level=2)
        lines = sheet.findall("{*}Table/{*}Row")
        rows = repeat_merged(_cells(row, styles) for row in lines)
        hidden = [index for index, row in enumerate(lines) if attribute(row, "Hidden") == "1"]
        into.table(name_hidden(rows, hidden, _hidden_columns(sheet)))
        formulas += sum(bool(attribute(cell, "Formula")) and _is_empty(cell) for cell in sheet.iterfind(".//{*}Cell"))
        comments = ("".join(comment.itertext()).strip() for comment in sheet.iterfind(".//{*}Comment"))
        into.prose("\n".join(f"Comment: {' '.join(text.split())}" for text in comments if text))
    for warning in warnings_about([Sheet("", "", [], formulas=formulas)]):
        into.warn(warning)


def _inherit(styles: Mapping[str, Element]) -> None:
    """Add the properties of parent styles to each style. Parents are completed before their children."""
    done: set[str] = set()
    for name in styles:
        line: list[Element] = []
        while name in styles and name not in done:
            done.add(name)
            line.append(styles[name])
            name = attribute(styles[name], "Parent")
        for style in reversed(line):
            own = {part.tag for part in style}
            style.extend([part for part in styles.get(attribute(style, "Parent"), ()) if part.tag not in own])


def _hidden_columns(sheet: Element) -> Iterator[int]:
    after = 0
    for column in sheet.iterfind("{*}Table/{*}Column"):
        first = number(attribute(column, "Index"), after + 1) - 1
        after = first + min(number(attribute(column, "Span")) + 1, _MAX_GAP)
        yield from range(first, after) if attribute(column, "Hidden") == "1" else ()


def _cells(row: Element, styles: Mapping[str, Element]) -> list[Cell]:
    cells: list[Cell] = []
    width = 0
    for cell in row.iterfind("{*}Cell"):
        column = number(attribute(cell, "Index"), width + 1) - 1
        cells += [Cell("")] * min(max(column - width, 0), _MAX_GAP)
        text = _shown(cell, styles.get(attribute(cell, "StyleID")))
        spanned = number(attribute(cell, "MergeAcross")) + 1
        cells.append(Cell(text, spanned, number(attribute(cell, "MergeDown")) + 1))
        width = max(column, width) + spanned
    return cells


def _is_empty(cell: Element) -> bool:
    data = cell.find("{*}Data")
    return data is None or not "".join(data.itertext())


def _shown(cell: Element, style: Element | None) -> str:
    """Return what a cell shows: its value in the format and the font of its style."""
    data = cell.find("{*}Data")
    if data is None or _is_empty(cell):
        return attribute(cell, "Formula")
    text = _words(data)
    code = "" if style is None else attribute(style.find("{*}NumberFormat"), "Format")
    if attribute(data, "Type") == "Number":
        text = show_number(text, _NAMED.get(code, GENERAL if _NAME.fullmatch(code) else code))
    font = None if style is None else style.find("{*}Font")
    shift = attribute(font, "VerticalAlign").lower()
    text = formed(text.removesuffix("T00:00:00.000"), attribute(font, "StrikeThrough") == "1", shift)
    return linked(text, attribute(cell, "HRef"))


def _words(element: Element) -> str:
    parts = [element.text or ""]
    for child in element:
        parts += [formed(_words(child), *_FORMS.get(local_name(child), (False, ""))), child.tail or ""]
    return "".join(parts)
