"""Reads spreadsheets. Each sheet becomes a heading and a table, followed by its charts and comments.

Headers and footers come last. calamine reads the cells of .xlsb, ``old_cells.py`` those of .xls, ``open_sheets.py``
those of .ods, and ``cells.py`` those of .xlsx, in which this module also reads charts, text boxes and comments.
"""

from __future__ import annotations

import datetime
import html
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

from ingest.errors import CorruptDocument, EncryptedDocument
from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.tree import html_tree
from ingest.readers.odf import open_package, properties
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.encryption import require_unencrypted
from ingest.readers.shared.number_format import format_number, general
from ingest.readers.shared.ooxml import Chart, Package, comment_line, description, number, texts
from ingest.readers.shared.page_headers import PAGE_NUMBER, PageHeaders
from ingest.readers.sheets.cells import Figure, Sheet, copy_merged, read_sheets, warnings_about
from ingest.readers.sheets.computed import Computed
from ingest.readers.sheets.old_cells import read_old_sheets
from ingest.readers.sheets.open_sheets import read_open_sheets
from vectorstore.models import Scalar

_OLD = b"\xd0\xcf\x11\xe0"
_SHEET_LEVEL = 2  # the workbook itself is the outermost

_HEADER = re.compile(rb"<(?:\w+:)?(?:odd|even|first)(Header|Footer)\b[^>]*>([^<]+)<")
_HEADER_CODE = re.compile(r'&(&|"[^"]*"|K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|\d{1,3}|[A-Z])')
_HEADER_TEXTS = {"&": "&", "L": "\t", "C": "\t", "R": "\t", "P": PAGE_NUMBER, "N": PAGE_NUMBER}
"""The texts for codes: &L, &C and &R begin a part, &P and &N are page numbers, others are formats."""
_HEADERS_FROM_END = 65536  # they are among the last elements of a sheet, after all cells

Value = str | float | int | bool | datetime.date | datetime.time | datetime.timedelta


def read_workbook(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add a heading and a table per sheet to the builder. Return the workbook's properties."""
    data, path = request.data, request.path
    if data.startswith(b"PK") and b"opendocument.spreadsheet" in data[:200]:
        package = open_package(request)
        _write_sheets(read_open_sheets(package), into)
        return properties(package, into)
    if not (data.startswith(b"PK") and b"xl/workbook.xml" in data):  # .xlsx stores its workbook as XML parts
        require_unencrypted(data, path)
        old = _old_sheets(data, into) if data.startswith(_OLD) else None
        _write_sheets(_stored_sheets(data, path) if old is None else old, into)
        return {}
    package = Package(data, path)
    main = next(iter(package.related("", "officeDocument")), "xl/workbook.xml")
    extras = dict(_extras(package, main))
    sheets = read_sheets(package, main, Computed(data))
    _write_sheets((replace(sheet, extras=extras.get(sheet.part, ())) for sheet in sheets), into)
    _write_headers(package, main, into)
    return package.properties(into)


def _write_sheets(found: Iterable[Sheet], into: DocumentBuilder) -> None:
    """Write sheets one by one, each with its extras, and warn about all of them."""
    sheets = []
    for sheet in found:
        into.heading(sheet.name, _SHEET_LEVEL)
        margin = min((index for row in sheet.rows for index, value in enumerate(row) if value != ""), default=0)
        into.sheet(list(_tables([row[margin:] for row in sheet.rows])))
        for extra in sheet.extras:
            if isinstance(extra, Chart):
                extra.write(into)
            else:
                into.prose(extra)
        sheets.append(replace(sheet, rows=[]))
    for warning in warnings_about(sheets):
        into.warn(warning)


def _old_sheets(data: bytes, into: DocumentBuilder) -> list[Sheet] | None:
    """Return the sheets of a .xls as Excel shows them, or None if the library cannot read the file."""
    try:
        return read_old_sheets(data)
    except ValueError as error:
        into.warn(f"Numbers and dates are shown as they are stored: the formats of the cells were not read ({error}).")
        return None


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Translate calamine's errors, and the panics of its native code, to ParseErrors."""
    import python_calamine

    try:
        yield
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        if isinstance(error, python_calamine.PasswordError) or "password" in str(error).lower():
            raise EncryptedDocument(f"{path} is encrypted. Save a copy without its password.") from error
        raise CorruptDocument(f"Cannot read {path} as a workbook: {error}. Export or download it again.") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic of native code is not an Exception
            raise
        raise CorruptDocument(f"{path} crashed the workbook reader: {error}. Save it again and retry.") from None


def _stored_sheets(data: bytes, path: Path) -> Iterator[Sheet]:
    """Yield the sheets of a workbook with the values that it stores."""
    from python_calamine import SheetVisibleEnum, load_workbook

    with _translate_errors(path):
        workbook = load_workbook(io.BytesIO(data))
    hidden = {sheet.name for sheet in workbook.sheets_metadata if sheet.visible != SheetVisibleEnum.Visible}
    for name in workbook.sheet_names:
        with _translate_errors(path):
            sheet = workbook.get_sheet_by_name(name)
            values: list[list[Value]] = list(sheet.to_python(skip_empty_area=False))
            merged = sheet.merged_cell_ranges or []
        rows = [[_format(value) for value in row] for row in values]
        copy_merged(rows, ((top, bottom + 1, left, right + 1) for (top, left), (bottom, right) in merged))
        yield Sheet(name + " (hidden sheet)" * (name in hidden), "", rows)


def _tables(rows: Sequence[Sequence[str]]) -> Iterator[Sequence[Sequence[str]]]:
    """Split the rows of a sheet at each empty row that is followed by another header."""
    start = 0
    for index in range(1, len(rows) - 1):
        if not _filled(rows[index - 1]) and _is_header(rows[index], rows[index + 1]):
            yield rows[start:index]
            start = index
    yield rows[start:]


def _filled(row: Sequence[str]) -> list[int]:
    return [index for index, value in enumerate(row) if value != ""]


def _is_header(row: Sequence[str], below: Sequence[str]) -> bool:
    """Return whether a row has several words, and the row below has figures in the same columns."""
    columns = _filled(row)
    return (
        len(columns) > 1
        and all(not isinstance(row[index], Figure) for index in columns)
        and _filled(below) == columns
        and any(isinstance(below[index], Figure) for index in columns)
    )


def _format(value: Value) -> str:
    """Format a value without a number format: midnight without a time, durations in hours."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return Figure(str(value).lower())
    if isinstance(value, int | float):
        return Figure(general(value))
    if isinstance(value, datetime.timedelta):
        return Figure(format_number(value / datetime.timedelta(days=1), "[h]:mm:ss"))
    if isinstance(value, datetime.datetime):
        return Figure(value.isoformat(sep=" ").removesuffix(" 00:00:00"))
    return Figure(value)


# Charts, text boxes, pictures and comments of .xlsx


def _extras(package: Package, main: str) -> Iterator[tuple[str, list[Chart | str]]]:
    """Yield the part of each sheet with its charts, text boxes, pictures and comments."""
    listed = (person for part in package.related(main, "person") for person in package.xml(part))
    people = {person.get("id", ""): person.get("displayName", "") for person in listed}
    for sheet in package.related(main, "worksheet", "chartsheet"):
        drawings = package.related(sheet, "drawing")
        charts = [package.chart(part) for each in drawings for part in package.related(each, "chart", "chartEx")]
        diagrams = [package.diagram(part) for each in drawings for part in package.related(each, "diagramData")]
        comments = "\n".join(_comments(package, sheet, people))
        controls = list(_controls(package, sheet))
        labels = {label for label, _ in controls}
        boxes = [text for each in drawings for text in _drawn_words(package.xml(each)) if text not in labels]
        yield sheet, [*charts, *boxes, *map("\n".join, [*diagrams, [shown for _, shown in controls]]), comments]


def _drawn_words(drawing: Element) -> Iterator[str]:
    """Yield the texts of text boxes, and the descriptions of pictures."""
    yield from map(description, drawing.iterfind(".//{*}nvPicPr/{*}cNvPr"))
    for box in drawing.iterfind(".//{*}txBody"):
        paragraphs = ("".join(texts(paragraph)) for paragraph in box.iterfind("{*}p"))
        yield "\n".join(text for text in paragraphs if text.strip())


def _controls(package: Package, sheet: str) -> Iterator[tuple[str, str]]:
    """Yield the label of each check box and option button, without and with its state, which only HTML parts hold."""
    for part in package.related(sheet, "vmlDrawing"):
        for shape in html_tree(package.read(part).decode("utf-8", "replace")).iter("v:shape"):
            for control in shape.iter("x:clientdata"):
                if control.get("objecttype") in ("Checkbox", "Radio"):
                    label = " ".join(
                        word for box in shape.iter("v:textbox") for word in "".join(box.itertext()).split()
                    )
                    yield label, f"[{'x' if control.findtext('x:checked') == '1' else ' '}] {label}"


def _comments(package: Package, sheet: str, people: dict[str, str]) -> Iterator[str]:
    threaded = set()
    for part in package.related(sheet, "threadedComment"):
        for comment in package.xml(part).iterfind("{*}threadedComment"):
            cell = comment.get("ref", "")
            threaded.add(cell)
            text = comment.findtext("{*}text", "")
            yield f"{cell}: {comment_line(people.get(comment.get('personId', ''), ''), comment.get('dT', ''), text)}"
    for part in package.related(sheet, "comments"):
        root = package.xml(part)
        authors = [author.text or "" for author in root.iterfind("{*}authors/{*}author")]
        for comment in root.iterfind(".//{*}comment"):
            if comment.get("ref", "") not in threaded:  # stored a second time for older programs
                index = number(comment.get("authorId"), len(authors))
                author = authors[index] if index < len(authors) else ""
                yield f"{comment.get('ref', '')}: {comment_line(author, '', ''.join(texts(comment)))}"


# Headers and footers


def _write_headers(package: Package, main: str, into: DocumentBuilder) -> None:
    headers = PageHeaders(into)
    for sheet in package.related(main, "worksheet", "chartsheet"):
        for label, source in _HEADER.findall(package.read(sheet)[-_HEADERS_FROM_END:]):
            text = html.unescape(source.decode("utf-8", errors="replace"))
            headers.write(label.decode(), [_HEADER_CODE.sub(lambda code: _HEADER_TEXTS.get(code[1], ""), text)])


READER = Reader(
    name="sheets",
    version=15,
    read=read_workbook,
    mime_types=("*spreadsheetml*", "*ms-excel*", "*opendocument.spreadsheet*"),
)
