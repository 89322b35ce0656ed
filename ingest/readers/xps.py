"""Reads XPS. The glyphs of each page become lines, which become blocks like the lines of a PDF page."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from itertools import accumulate
from math import sqrt
from xml.etree.ElementTree import Element

from ingest.reader import Reader, ReadRequest
from ingest.readers.pdf.lines import Line, split_cells
from ingest.readers.pdf.pdf import write_pages
from ingest.readers.pdf.words import Word
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.ooxml import Package, local_name
from vectorstore.models import Scalar

_POINTS = 0.75  # per unit of XPS, a 96th of an inch
_ADVANCE = 0.5  # width of a character in font sizes, where the file does not state it
_DESCENT = 0.2  # of the font size, below the baseline
_SAME_LINE = 0.4  # of the font size: maximum difference between the baselines of one line
_NUMBER = re.compile(r"-?(?:\d{1,9}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d\d?)?")

_Matrix = tuple[float, ...]
_IDENTITY: _Matrix = (1, 0, 0, 1, 0, 0)


def read_xps(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the blocks and pages of the file to the builder; return its properties."""
    package = Package(request.data, request.path)
    pages = [
        page
        for sequence in package.related("", "fixedrepresentation")
        for document in _sources(package, sequence, "DocumentReference")
        for page in _sources(package, document, "PageContent")
    ]
    write_pages([[*_lines(package.xml(page), number)] for number, page in enumerate(pages, start=1)], into)
    return package.properties(into)


def _sources(package: Package, part: str, name: str) -> list[str]:
    """Return the parts that the elements of this name refer to."""
    found = (element.get("Source", "") for element in package.xml(part).iterfind(f"{{*}}{name}"))
    return [posixpath.normpath(posixpath.join("/", posixpath.dirname(part), each)).lstrip("/") for each in found]


def _lines(page: Element, number: int) -> Iterator[Line]:
    """Yield the lines of a page: words from left to right on one baseline."""
    line: list[Word] = []
    for word in _words(page, _IDENTITY, _points(page.get("Height"))):
        is_apart = line and abs(word.bottom - line[-1].bottom) > _SAME_LINE * (word.top - word.bottom)
        if line and (is_apart or word.x0 < line[-1].x0):
            yield _line(line, number)
            line = []
        line.append(word)
    if line:
        yield _line(line, number)


def _line(words: list[Word], page: int) -> Line:
    cells = split_cells(words)
    size = max(word.top - word.bottom for word in words)
    return Line(words=tuple(words), cells=cells, size=size, page=page, band=None, boxes=(None,) * len(cells))


def _words(element: Element, outer: _Matrix, page_height: float) -> Iterator[Word]:
    """Yield the words of an element in the order of the file, in points from the lower left corner of the page."""
    inner = _numbers(element.get("RenderTransform")) or next(
        (_numbers(each.get("Matrix")) for each in element.iterfind("./*/{*}MatrixTransform")), ()
    )
    matrix = _product(inner, outer) if len(inner) == len(_IDENTITY) else outer
    if local_name(element) == "Glyphs":
        yield from _glyphs(element, matrix, page_height)
    for child in element:
        yield from _words(child, matrix, page_height)


def _glyphs(element: Element, matrix: _Matrix, page_height: float) -> Iterator[Word]:
    """Yield the words of a run of characters."""
    text = element.get("UnicodeString", "").removeprefix("{}")
    x, y = (_number(element.get(name)) for name in ("OriginX", "OriginY"))
    a, b, c, d, e, f = matrix
    left, baseline = (a * x + c * y + e) * _POINTS, page_height - (b * x + d * y + f) * _POINTS
    size = _points(element.get("FontRenderingEmSize")) * sqrt(abs(a * d - b * c)) or 1.0
    advances = [_numbers(glyph.partition(",")[2]) for glyph in element.get("Indices", "").split(";")]
    widths = [each[0] / 100 if each else _ADVANCE for each in advances[: len(text)]]
    widths += [_ADVANCE] * (len(text) - len(widths))
    edges = [*accumulate(widths, initial=0.0)]
    for word in re.finditer(r"\S+", text):
        start, end = (left + edges[at] * size for at in word.span())
        yield Word(word[0], start, end, baseline - _DESCENT * size, baseline + (1 - _DESCENT) * size)


def _product(inner: _Matrix, outer: _Matrix) -> _Matrix:
    a, b, c, d, e, f = inner
    p, q, r, s, u, v = outer
    return (a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + u, e * q + f * s + v)


def _numbers(text: str | None) -> tuple[float, ...]:
    return tuple(map(float, _NUMBER.findall(text or "")))


def _number(text: str | None) -> float:
    return next(iter(_numbers(text)), 0.0)


def _points(text: str | None) -> float:
    return _number(text) * _POINTS


READER = Reader(name="xps", version=4, read=read_xps, mime_types=("application/vnd.ms-xpsdocument", "application/oxps"))
