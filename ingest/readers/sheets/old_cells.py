"""Reads the cells of .xls files as Excel shows them: number formats, raised and struck text, hidden parts, comments.

calamine gives the stored numbers, and neither hidden rows and columns nor comments.
"""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING

from ingest.readers.shared.form import linked
from ingest.readers.shared.number_format import GENERAL
from ingest.readers.shared.ooxml import comment_line, show_number
from ingest.readers.sheets.cells import Figure, Sheet, copy_merged, formed, name_hidden

if TYPE_CHECKING:
    from xlrd.book import Book
    from xlrd.sheet import Sheet as OldSheet

_EMPTY, _TEXT, _NUMBER, _DATE, _BOOLEAN, _ERROR = range(6)
_SHIFTS = {1: "superscript", 2: "subscript"}


def read_old_sheets(data: bytes) -> list[Sheet]:
    """Return the sheets of a workbook. Raises ValueError for files that the library cannot read."""
    import xlrd
    from xlrd.compdoc import CompDocError
    from xlrd.formula import FormulaError

    damage = (
        xlrd.XLRDError, CompDocError, FormulaError, struct.error, LookupError, AssertionError, TypeError,
        AttributeError, ArithmeticError, OSError,
    )  # fmt: skip
    try:
        book = xlrd.open_workbook(file_contents=data, formatting_info=True, ragged_rows=True, logfile=io.StringIO())
        return [_Cells(book, sheet).read() for sheet in book.sheets()]
    except damage as error:
        raise ValueError(str(error) or type(error).__name__) from error


class _Cells:
    """Reads the cells of one sheet into rows."""

    def __init__(self, book: Book, sheet: OldSheet) -> None:
        from xlrd.formula import cellname

        self._book, self._sheet = book, sheet
        name = sheet.name + " (hidden sheet)" * (sheet.visibility != 0)
        comments = (
            f"{cellname(row, column)}: {comment_line((note.author or '').strip(), '', note.text)}"
            for (row, column), note in sorted(sheet.cell_note_map.items())
        )
        self._found = Sheet(name, "", [], ["\n".join(comments)])

    def read(self) -> Sheet:
        width = max((self._sheet.row_len(row) for row in range(self._sheet.nrows)), default=0)
        for row in range(self._sheet.nrows):
            cells = [self._cell(row, column) for column in range(self._sheet.row_len(row))]
            self._found.rows.append(cells + [""] * (width - len(cells)))
        copy_merged(self._found.rows, self._sheet.merged_cells)
        rows = (row for row, about in self._sheet.rowinfo_map.items() if about.hidden)
        columns = (each for each, about in self._sheet.colinfo_map.items() if about.hidden or about.width == 0)
        name_hidden(self._found.rows, rows, columns)
        return self._found

    def _cell(self, row: int, column: int) -> str:
        cell = self._sheet.cell(row, column)
        style = self._book.xf_list[cell.xf_index]
        font = self._book.font_list[style.font_index]
        shift = _SHIFTS.get(font.escapement, "")
        if cell.ctype == _TEXT:
            link = self._sheet.hyperlink_map.get((row, column))
            text = self._rich_text(cell.value, row, column) or formed(cell.value, bool(font.struck_out), shift)
            return linked(text, link.url_or_path) if link and isinstance(link.url_or_path, str) else text
        shown = self._shown(cell.ctype, cell.value, style.format_key)
        return Figure(formed(shown, bool(font.struck_out), shift)) if shown else ""

    def _rich_text(self, text: str, row: int, column: int) -> str:
        """Return a text with the form of its parts, or ``""`` if it has only one."""
        runs = self._sheet.rich_text_runlist_map.get((row, column), [])
        style = self._book.xf_list[self._sheet.cell_xf_index(row, column)]
        starts = [(0, style.font_index), *runs] if runs else []
        ends = [start for start, _ in starts[1:]] + [len(text)]
        fonts = [(start, end, self._book.font_list[font]) for (start, font), end in zip(starts, ends, strict=False)]
        return "".join(
            formed(text[start:end], bool(font.struck_out), _SHIFTS.get(font.escapement, ""))
            for start, end, font in fonts
        )

    def _shown(self, kind: int, value: float, format_key: int) -> str:
        if kind == _BOOLEAN:
            return "true" if value else "false"
        if kind == _ERROR:
            from xlrd.biffh import error_text_from_code

            error: str = error_text_from_code.get(int(value), "#ERROR")
            self._found.errors[error] = self._found.errors.get(error, 0) + 1
            return error
        if kind not in (_NUMBER, _DATE):
            return ""
        code = self._book.format_map[format_key].format_str or GENERAL
        shown = show_number(str(value), code, from_1904=self._book.datemode == 1)
        self._found.not_shown += not shown
        return shown
