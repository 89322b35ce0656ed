"""Reads the cells of .xlsx files as their program shows them: number formats, raised and struck text, hidden parts.

calamine, which reads the other formats, gives the stored numbers: 1067 for the post code 01067, 0.07 for 7 %.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from base.counts import count
from ingest.readers.shared.form import linked, lowered, raised, struck
from ingest.readers.shared.number_format import BUILT_IN, GENERAL, format_text
from ingest.readers.shared.ooxml import Chart, Package, attribute, local_name, number, show_number
from ingest.readers.shared.symbols import in_font
from ingest.readers.sheets.computed import Computed

_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_HYPERLINK = re.compile(r'HYPERLINK\("([^"]+)"', re.IGNORECASE)
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_MAX_COPIES = 256  # maximum copies of the text of a merged cell; larger merged cells are decoration
_LONGEST_CODE = 255  # characters that Excel accepts in a number format
WIDE = 256  # columns; from here on empty columns are left out
_SHIFTS = {"superscript": raised, "subscript": lowered}


class Figure(str):
    """The displayed text of a cell that is a number, a date or a Boolean."""

    __slots__ = ()


@dataclass
class Sheet:
    """A sheet: its name, its part, its rows, and counts of formulas, computed and hidden values and errors."""

    name: str
    part: str
    rows: list[list[str]]
    extras: Sequence[Chart | str] = ()
    """What is on the sheet beside its cells: charts, and the text of boxes, pictures and comments."""
    formulas: int = 0
    """Formulas without a stored value that were not computed."""
    computed: int = 0
    not_shown: int = 0
    errors: dict[str, int] = field(default_factory=dict)


class _Style(NamedTuple):
    code: str = GENERAL
    is_struck: bool = False
    shift: str = ""
    font: str = ""


def read_sheets(package: Package, main: str, computed: Computed) -> Iterator[Sheet]:
    """Yield the sheets of a workbook in order. Hidden sheets, columns and rows are named as hidden.

    A program computes all formulas when it opens a workbook with ``fullCalcOnLoad``. Its stored values are not those
    that the program shows: some libraries store a zero for every formula.
    """
    root = package.xml(main)
    properties = root.find("{*}workbookPr")
    from_1904 = properties is not None and properties.get("date1904") in ("1", "true")
    texts = [_text(item) for part in package.related(main, "sharedStrings") for item in package.xml(part)]
    calculation = root.find("{*}calcPr")
    is_stale = calculation is not None and calculation.get("fullCalcOnLoad") in ("1", "true")
    book = _Book(package, _styles(package, main), texts, from_1904, is_stale, computed)
    relations = package.relations(main)
    for sheet in root.iterfind(".//{*}sheet"):
        relation = relations.get(attribute(sheet, "id"))
        if relation is not None and relation.kind == "worksheet":
            is_hidden = sheet.get("state", "visible") != "visible"
            yield _Cells(book, relation.target, sheet.get("name", "")).read(is_hidden=is_hidden)


class _Book(NamedTuple):
    package: Package
    styles: Sequence[_Style]
    texts: Sequence[str]
    from_1904: bool
    is_stale: bool
    computed: Computed


def _styles(package: Package, main: str) -> list[_Style]:
    """Return the format of each style that cells name by its number."""
    styles = []
    for part in package.related(main, "styles"):
        root = package.xml(part)
        codes = BUILT_IN | {
            number(each.get("numFmtId")): each.get("formatCode", "")[:_LONGEST_CODE]
            for each in root.iterfind("{*}numFmts/{*}numFmt")
        }
        fonts = [_font(font) for font in root.iterfind("{*}fonts/{*}font")]
        for style in root.iterfind("{*}cellXfs/{*}xf"):
            font = number(style.get("fontId"))
            code = codes.get(number(style.get("numFmtId"))) or GENERAL
            styles.append(_Style(code, *fonts[font] if font < len(fonts) else (False, "", "")))
    return styles


def _font(font: Element | None) -> tuple[bool, str, str]:
    """Return whether a font is struck out, its shift and its name."""
    if font is None:
        return False, "", ""
    strike, shift, name = font.find("{*}strike"), font.find("{*}vertAlign"), font.find("{*}name")
    is_struck = strike is not None and strike.get("val", "1") not in ("0", "false")
    name = font.find("{*}rFont") if name is None else name
    return is_struck, "" if shift is None else shift.get("val", ""), "" if name is None else name.get("val", "")


def _text(item: Element) -> str:
    """Return a text with the form of its parts. Phonetic guides are left out."""
    parts = []
    for child in item:
        if local_name(child) == "t":
            parts.append(_unescaped(child.text or ""))
        elif local_name(child) == "r":
            parts.append(formed(_unescaped(child.findtext("{*}t", "")), *_font(child.find("{*}rPr"))))
    return "".join(parts)


def _unescaped(text: str) -> str:
    """Return text with the characters that XML cannot hold: ``_x000D_`` is a carriage return."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text).replace("\r\n", "\n")


def formed(text: str, is_struck: bool, shift: str, font: str = "") -> str:
    """Return text with the form of its font: struck out, ``superscript`` or ``subscript``, symbols."""
    text = in_font(text, font)
    text = _SHIFTS[shift](text) if shift in _SHIFTS else text
    return struck(text) if is_struck else text


class _Cells:
    """Reads the cells of one sheet into rows."""

    def __init__(self, book: _Book, part: str, name: str) -> None:
        self._book, self._part, self._name = book, part, name
        self._rows: dict[int, dict[int, str]] = {}
        self._last_row = -1
        self._hidden_rows: set[int] = set()
        self._hidden_columns: set[int] = set()
        self._merged: list[str] = []
        self._links: list[tuple[str, str]] = []
        self._shared: dict[str, tuple[str, tuple[int, int]]] = {}
        """Formulas that several cells share, with the place of the first one."""

    def read(self, *, is_hidden: bool) -> Sheet:
        sheet = Sheet(self._name + " (hidden sheet)" * is_hidden, self._part, [])
        content: Element | None = None
        stream = io.BytesIO(self._book.package.read(self._part))
        with self._book.package.reporting_damage(self._part):
            for event, element in ElementTree.iterparse(stream, events=("start", "end")):
                match event, local_name(element):
                    case "start", "sheetData":
                        content = element
                    case "end", "row":
                        self._read_row(element, sheet)
                        if content is not None:
                            content.clear()
                    case "end", "col" if element.get("hidden") in ("1", "true") or element.get("width") == "0":
                        first, last = number(element.get("min"), 1), number(element.get("max"), 1)
                        self._hidden_columns.update(range(first - 1, min(last, first + WIDE)))
                    case "end", "mergeCell":
                        self._merged.append(element.get("ref", ""))
                    case "end", "hyperlink":
                        self._links.append((element.get("ref", ""), attribute(element, "id")))
                    case _:
                        pass
        self._add_links()
        self._copy_merged()
        self._name_hidden()
        sheet.rows = list(self._grid())
        return sheet

    def _read_row(self, row: Element, sheet: Sheet) -> None:
        self._last_row = index = number(row.get("r"), self._last_row + 2) - 1
        cells: dict[int, str] = {}
        column = -1
        for cell in row:
            place = _place(cell.get("r", ""))
            column = place[1] if place else column + 1
            if text := self._read_cell(cell, (index, column), sheet):
                cells[column] = text
        if cells:
            self._rows[index] = cells
            if row.get("hidden") in ("1", "true") or row.get("ht") == "0":
                self._hidden_rows.add(index)

    def _read_cell(self, cell: Element, place: tuple[int, int], sheet: Sheet) -> str:
        style_number = number(cell.get("s"))
        style = self._book.styles[style_number] if style_number < len(self._book.styles) else _Style()
        kind = cell.get("t", "n")
        value = cell.find("{*}v")
        inline = cell.find("{*}is")
        element = cell.find("{*}f")
        formula, first = ("", place) if element is None else self._formula(element, place)
        if inline is not None:
            text: str = _text(inline)
        elif value is not None and not (formula and (self._book.is_stale or not (value.text or kind == "str"))):
            text = self._shown(kind, value.text or "", style, sheet)
            sheet.not_shown += bool(value.text) and not text and ";" in style.code
        elif formula and not self._book.from_1904 and (computed := self._book.computed.value(self._name, place)):
            sheet.computed += 1
            text = self._shown(*computed, style, sheet)
        elif formula:
            sheet.formulas += 1
            text = _moved(formula, place[0] - first[0], place[1] - first[1])
        else:
            return ""
        shown = formed(text, style.is_struck, "" if formula else style.shift, "" if formula else style.font)
        if link := _HYPERLINK.match(formula):
            shown = linked(shown, link[1])
        return Figure(shown) if isinstance(text, Figure) else shown

    def _formula(self, element: Element, place: tuple[int, int]) -> tuple[str, tuple[int, int]]:
        """Return the formula of a cell, and the first cell of those that share it, which alone stores its text."""
        identity = element.get("si") if element.get("t") == "shared" else None
        if identity is None:
            return element.text or "", place
        if element.text:
            self._shared[identity] = element.text, place
        return self._shared.get(identity, ("…", place))

    def _shown(self, kind: str, value: str, style: _Style, sheet: Sheet) -> str:
        match kind:
            case "s":
                index = number(value, len(self._book.texts))
                return format_text(self._book.texts[index], style.code) if index < len(self._book.texts) else ""
            case "b":
                return Figure("true" if value == "1" else "false")
            case "e":
                sheet.errors[value] = sheet.errors.get(value, 0) + 1
                return value
            case "n":
                return Figure(show_number(value, style.code, from_1904=self._book.from_1904))
            case _:
                return value

    def _add_links(self) -> None:
        addresses = self._book.package.links(self._part)
        for reference, relation in self._links:
            place = _place(reference.partition(":")[0])
            if place and relation in addresses and place[1] in self._rows.get(place[0], {}):
                row = self._rows[place[0]]
                row[place[1]] = linked(row[place[1]], addresses[relation])

    def _copy_merged(self) -> None:
        """Copy the text of a merged cell into every cell that it covers, so that each row makes sense on its own."""
        for reference in self._merged:
            first, last = map(_place, reference.split(":", 1)) if ":" in reference else (None, None)
            if first is None or last is None or first[1] not in self._rows.get(first[0], {}):
                continue
            if (last[0] - first[0] + 1) * (last[1] - first[1] + 1) > _MAX_COPIES:
                continue
            text = self._rows[first[0]][first[1]]
            for row in range(first[0], last[0] + 1):
                self._rows.setdefault(row, {}).update(dict.fromkeys(range(first[1], last[1] + 1), text))

    def _name_hidden(self) -> None:
        for index in self._hidden_rows:
            cells = self._rows[index]
            cells[min(cells)] += " (hidden row)"
        unnamed = set(self._hidden_columns)
        for _, cells in sorted(self._rows.items()):
            for column in [each for each in unnamed & cells.keys() if cells[each]]:
                cells[column] += " (hidden column)"
                unnamed.remove(column)

    def _grid(self) -> Iterator[list[str]]:
        """Yield the rows from the first filled column on, and one empty row where at least one is."""
        used = sorted({column for cells in self._rows.values() for column in cells})
        if not used:
            return
        columns: Sequence[int] = range(used[0], used[-1] + 1) if used[-1] - used[0] < WIDE else used
        previous: int | None = None
        for index in sorted(self._rows):
            if previous is not None and index > previous + 1:
                yield [""] * len(columns)
            yield [self._rows[index].get(column, "") for column in columns]
            previous = index


def name_hidden(rows: list[list[str]], hidden_rows: Iterable[int], hidden_columns: Iterable[int]) -> list[list[str]]:
    """Name hidden rows and columns in the first filled cell of each. Return the rows."""
    for index in hidden_rows:
        cells = rows[index] if index < len(rows) else []
        first = next((column for column, text in enumerate(cells) if text), None)
        if first is not None:
            cells[first] += " (hidden row)"
    width = max(map(len, rows), default=0)
    for column in (each for each in hidden_columns if each < width):
        found = next((cells for cells in rows if column < len(cells) and cells[column]), None)
        if found is not None:
            found[column] += " (hidden column)"
    return rows


def copy_merged(rows: list[list[str]], merged: Iterable[tuple[int, int, int, int]]) -> None:
    """Copy the text of a merged cell into every cell that it covers. ``merged`` has their first and last rows
    and columns; the last ones are exclusive."""
    for top, bottom, left, right in merged:
        if top < len(rows) and left < len(rows[top]) and (bottom - top) * (right - left) <= _MAX_COPIES:
            for row in rows[top:bottom]:
                row[left:right] = [rows[top][left]] * len(row[left:right])


def _moved(formula: str, down: int, right: int) -> str:
    """Return a formula as it is written in a cell further down and right. Absolute references do not change."""
    if not (down or right):
        return f"={formula}"
    from openpyxl.formula.tokenizer import TokenizerError
    from openpyxl.formula.translate import Translator, TranslatorError

    try:
        return str(Translator(f"={formula}", "A1").translate_formula(row_delta=down, col_delta=right))
    except (TokenizerError, TranslatorError, IndexError):  # damaged, or a reference outside the sheet
        return f"={formula}"


def _place(reference: str) -> tuple[int, int] | None:
    """Return the row and column, both from 0, of a reference such as ``B12``."""
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        return None
    column = 0
    for letter in found[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(found[2]) - 1, column - 1


def warnings_about(sheets: Sequence[Sheet]) -> Iterator[str]:
    """Yield what the reader should know: formulas without values, values that are not shown, errors in cells."""
    if computed := sum(sheet.computed for sheet in sheets):
        yield f"{count(computed, 'formula')} without a stored value: Candor computed what the cells show."
    if formulas := sum(sheet.formulas for sheet in sheets):
        yield (
            f"{count(formulas, 'formula')} without a stored value: shown as written. Open the file in its program and "
            "save it, so that it stores the values."
        )
    if not_shown := sum(sheet.not_shown for sheet in sheets):
        yield f"{not_shown:,} values were left out, because the formats of their cells hide them (;;;)."
    if errors := sum((Counter(sheet.errors) for sheet in sheets), Counter()):
        counted = ", ".join(f"{error} {count} time{'s' * (count > 1)}" for error, count in sorted(errors.items()))
        yield f"Cells show an error instead of a value: {counted}."
