"""Recognises text on page images with Tesseract and returns lines like those of ``lines.py``.

Selects the pages and warns about unread pages. ``tesseract.py`` runs Tesseract, ``pdf.py`` converts the lines to
headings, paragraphs and tables.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.errors import EmptyDocument
from ingest.heartbeat import still_working
from ingest.reader import OcrMode, ParserOptions
from ingest.readers.pdf.legibility import ILLEGIBLE, NO_TEXT, PICTURE
from ingest.readers.pdf.lines import Line, line_of
from ingest.readers.pdf.page_images import page_images
from ingest.readers.pdf.scans import drawn_lines, level_with_lines
from ingest.readers.pdf.tables.stored import in_rows
from ingest.readers.pdf.tesseract import HOCR, Tesseract, describe_lack, find_tesseract
from ingest.readers.pdf.words import Word
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import PICTURED_PAGES, Scalar, page_ranges

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from PIL.Image import Image

    from ingest.readers.pdf.drawing import Drawing

_AGAIN = "Correct this, then ingest the file again."
_MIN_CONFIDENCE = 30  # per cent: words with lower confidence are specks and drawings
_DEFAULT_DPI = 300  # for images that do not state their resolution
_DRAWN = "|"  # Tesseract reads a drawn line as this
_NUMBERS = r"-?[\d.]+(?: -?[\d.]+)*"


class ScanReader:
    """Reads the page images of one document and records which pages were recognised or left unread."""

    def __init__(self, options: ParserOptions, path: Path) -> None:
        self._options, self._path = options, path
        self._images = 0
        self.recognised: dict[int, list[Line]] = {}
        """The recognized lines by page number, for pages that have any."""
        self._unread: dict[str, dict[int, None]] = {}

    def page(
        self, number: int, lack: str, written: Sequence[Line], dpi: int, render: Callable[[], bytes]
    ) -> list[Line]:
        """Return the lines of page ``number`` (from 1): the recognised ones if its text lacks something.

        Of a page with a picture and few words, the recognised lines are used only if they have more words.
        """
        if not lack and self._options.ocr is not OcrMode.ALWAYS:
            return list(written)
        if self._unavailable():
            if lack:
                self._unread.setdefault(lack, {})[number] = None
            return list(written)
        lines = [*_numbered(self._lines(render(), dpi), number)]
        if _count(lines) <= (_count(written) if lack == PICTURE else 0):
            return list(written)
        self.recognised[number] = [*self.recognised.get(number, ()), *lines]
        return lines

    def image(self, data: bytes) -> list[list[Line]]:
        """Return the lines of every page of an image file."""
        if self._unavailable():
            self._unread.setdefault(NO_TEXT, {})[1] = None
            return []
        images = enumerate(page_images(data, self._path), start=1)
        pages = [[*_numbered(self._lines(*image), number)] for number, image in images]
        self.recognised.update((number, lines) for number, lines in enumerate(pages, start=1) if lines)
        return pages

    def report(self, into: DocumentBuilder) -> dict[str, Scalar]:
        """Return metadata that names the recognised pages. Add a warning about unread pages to the builder.

        Raises EmptyDocument with the reason if the builder is empty.
        """
        if into.is_empty:
            raise EmptyDocument(self.empty_reason())
        for lack, pages in self._unread.items():
            into.warn(f"{spans([*pages])} {lack} not read: {self._unavailable()}.")
        if not self.recognised:
            return {}
        return {"recognised": f"{spans([*self.recognised])} by Tesseract ({'+'.join(self._languages())})"}

    def empty_reason(self) -> str:
        """Return why the file has no text."""
        return f"{self._path} contains no text. {self._why_empty()}"

    def _why_empty(self) -> str:
        if ILLEGIBLE in self._unread:
            return f"Its fonts have no usable character map, and {self._unavailable()}. {_AGAIN}"
        if self._unread:
            return f"Its pages are images, and {self._unavailable()}. {_AGAIN}"
        return "Tesseract recognises no text in its images." if self._images else "Its pages are blank."

    def _unavailable(self) -> str:
        """Return why recognition is not possible, or ``""`` if it is possible."""
        if self._options.ocr is OcrMode.NEVER:
            return "text recognition is switched off (choose 'auto' for ocr)"
        return "" if self._tesseract else describe_lack(self._options.ocr_languages)

    @cached_property
    def _tesseract(self) -> Tesseract | None:
        return find_tesseract(self._options.ocr_languages)

    def _languages(self) -> Sequence[str]:
        return self._options.ocr_languages or (self._tesseract.usual_languages if self._tesseract else ())

    def _lines(self, image: bytes, dpi: int) -> list[Line]:
        """Return the lines of a picture of a page."""
        self._images += 1
        if not self._tesseract:
            return []
        picture, drawing = level_with_lines(image, dpi)
        page = self._recognised(picture, dpi, self._tesseract)
        if quarters := _quarters(page):
            picture = picture.rotate(-90 * quarters, expand=True)
            drawing = drawn_lines(picture, dpi)
            page = self._recognised(picture, dpi, self._tesseract)
        return list(_lines(page, drawing))

    def _recognised(self, picture: Image, dpi: int, tesseract: Tesseract) -> Element:
        written = BytesIO()
        picture.save(written, "PPM")
        hocr = tesseract.read(written.getvalue(), self._path, self._languages(), dpi)
        still_working()
        return next(each for each in hocr.iter(f"{HOCR}div") if each.get("class") == "ocr_page")


def _quarters(page: Element) -> int:
    """Return by how many quarter turns to the left most lines of the page are turned."""
    angles = Counter(round((_values(span, "textangle") or (0,))[0] / 90) % 4 for span in _line_spans(page))
    return angles.most_common(1)[0][0] if angles else 0


def _line_spans(page: Element) -> Iterator[Element]:
    return (span for span in page.iter(f"{HOCR}span") if not span.get("class", "").startswith("ocrx"))


def _lines(page: Element, drawing: Drawing) -> Iterator[Line]:
    """Yield the lines of the page, with the cells of a table row in one line. Tesseract may read column by column."""
    height = _values(page, "bbox")[3]
    dpi = (_values(page, "scan_res") or (_DEFAULT_DPI,))[0] or _DEFAULT_DPI
    sizes: dict[int, float] = {}
    stored: list[list[tuple[int, Word]]] = []
    for span in _line_spans(page):
        if words := [*_words(span, height, 72 / dpi)]:
            sizes[len(stored)] = (_values(span, "x_size") or (10 * dpi / 72,))[0] * 72 / dpi
            stored.append([(len(stored), word) for word in words])
    for line in in_rows(stored):
        yield line_of([word for _, word in line], drawing, float(round(sizes[line[0][0]])), 1)


def _words(line: Element, page_height: float, scale: float) -> Iterator[Word]:
    """Yield the words of a line, in points from the lower left corner of the page. Each is as high as the line."""
    _, top, _, bottom = _values(line, "bbox")
    for span in line.iter(f"{HOCR}span"):
        text = "".join(span.itertext()).strip().strip(_DRAWN)
        if span.get("class") == "ocrx_word" and text and _values(span, "x_wconf")[0] >= _MIN_CONFIDENCE:
            left, _, right, _ = _values(span, "bbox")
            yield Word(text, left * scale, right * scale, (page_height - bottom) * scale, (page_height - top) * scale)


def _values(element: Element, key: str) -> tuple[float, ...]:
    """Return the numbers after the key in the title attribute of the element."""
    found = re.search(rf"\b{key} ({_NUMBERS})", element.get("title", ""))
    return tuple(map(float, found[1].split())) if found else ()


def _count(lines: Sequence[Line]) -> int:
    return sum(len(line.words) for line in lines)


def _numbered(lines: Sequence[Line], page: int) -> Iterator[Line]:
    return (replace(line, page=page) for line in lines)


def list_pictured(pages: Sequence[int]) -> dict[str, Scalar]:
    """Return metadata that lists the pages with visual content; empty without such pages."""
    return {PICTURED_PAGES: page_ranges(pages)} if pages else {}


def spans(pages: Sequence[int]) -> str:
    """Format page numbers: 'page 3', 'pages 1-4, 7'."""
    return f"page {page_ranges(pages)}" if len(pages) == 1 else f"pages {page_ranges(pages)}"
