"""Draws a page of a PDF or an image, and finds where on it a part of the parsed text stands.

Runs in a process of its own (``page_viewing.py`` starts it): a file that crashes, hangs or eats memory costs its own
picture. The words are found by their letters and digits alone, since white space, hyphens, ligatures and the marks of
tables differ between a page and its parsed text; where they do not tell the place for sure, none is given.
"""

from __future__ import annotations

import io
import re
import resource
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from ctypes import c_int
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.isolation.worker import confine
from ingest.pages.request import Drawn, PageBox, PageRequest

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfPage, PdfTextPage

_MOST_PIXELS = 12_000_000
_DEVICE = 1_000_000  # steps of a page's width and height, for fractions of them
_CONTEXTS = (0, 24, 96)  # letters around the words that may tell which of several places is meant
_MARK = (255, 214, 0, 96)
_SAME_LINE = 0.5  # of their height in which two characters overlap
_WORD_GAP = 1.5  # in heights: further apart, they are marked apart

_Rectangle = tuple[float, float, float, float]


def main(memory_mb: int, cpu_s: int) -> None:
    """Do the wish that stands on standard input; what was drawn goes out as a line of JSON, then the picture."""
    confine()
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    drawn, picture = draw(PageRequest.model_validate_json(sys.stdin.buffer.read()))
    sys.stdout.buffer.write(drawn.model_dump_json().encode() + b"\n" + picture)


def draw(wish: PageRequest) -> tuple[Drawn, bytes]:
    """The page, and its picture as PNG if one is wished for."""
    with Path(wish.path).open("rb") as file:
        is_pdf = b"%PDF-" in file.read(1024)
    return _draw_pdf(wish) if is_pdf else _draw_image(wish)


def _draw_image(wish: PageRequest) -> tuple[Drawn, bytes]:
    from PIL import Image, ImageOps

    try:
        with Image.open(wish.path) as image:
            image.seek(wish.page - 1)
            upright = ImageOps.exif_transpose(image).convert("RGB")
    except (OSError, EOFError, ValueError, Image.DecompressionBombError) as error:
        return Drawn(fault=f"page {wish.page} of the image cannot be shown: {error}"), b""
    drawn = Drawn(width=upright.width, height=upright.height)
    if not wish.scale:
        return drawn, b""
    side = min(1.0, wish.scale, (_MOST_PIXELS / (upright.width * upright.height)) ** 0.5)
    return drawn, _png(upright.resize((max(1, int(upright.width * side)), max(1, int(upright.height * side)))))


def _draw_pdf(wish: PageRequest) -> tuple[Drawn, bytes]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(wish.path)
        if wish.page > len(document):
            return Drawn(fault=f"it has {len(document)} pages"), b""
        page = document[wish.page - 1]
        width, height = page.get_size()
        boxes = _boxes(page, wish)
        drawn = Drawn(width=width, height=height, located=bool(boxes), boxes=boxes)
        if not wish.scale:
            return drawn, b""
        scale = min(wish.scale, (_MOST_PIXELS / max(width * height, 1)) ** 0.5)
        return drawn, _png(_marked(page.render(scale=scale).to_pil(), boxes))
    except pypdfium2.PdfiumError as error:
        return Drawn(fault=f"page {wish.page} of the PDF cannot be shown: {error}"), b""


def _marked(picture: Image, boxes: Sequence[PageBox]) -> Image:
    """The picture with translucent rectangles over the boxes."""
    from PIL import Image, ImageDraw

    layer = Image.new("RGBA", picture.size)
    pen = ImageDraw.Draw(layer)
    for x0, y0, x1, y1 in boxes:
        corners = (x0 * picture.width, y0 * picture.height, x1 * picture.width, y1 * picture.height)
        pen.rectangle(corners, fill=_MARK)
    return Image.alpha_composite(picture.convert("RGBA"), layer).convert("RGB")


def _png(picture: Image) -> bytes:
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=1)  # the fastest: it is looked at and thrown away
    return out.getvalue()


# Where the words stand


def _boxes(page: PdfPage, wish: PageRequest) -> tuple[PageBox, ...]:
    """In fractions of the page as it is shown, from its upper left corner; none if the place is not sure."""
    if wish.start >= wish.end:
        return ()
    text_page = page.get_textpage()
    letters, origins = _letters_of(text_page)
    places = _place(wish.text, wish.start, wish.end, letters) or _place_by_parts(wish, letters)
    indices = [index for start, end in places for index in range(origins[start], origins[end - 1] + 1)]
    return tuple(_shown(page, rectangle) for rectangle in _lines(_rectangle(text_page, index) for index in indices))


def _place(text: str, start: int, end: int, letters: str) -> list[tuple[int, int]]:
    """Where text[start:end] stands among the letters of the page, if there is just one place that it can be."""
    before, wanted, after = fold(text[:start]), fold(text[start:end]), fold(text[end:])
    if not wanted:
        return []
    for context in _CONTEXTS:
        left = before[max(0, len(before) - context) :] if context else ""
        sought = left + wanted + after[:context]
        if letters.count(sought) == 1:
            at = letters.index(sought) + len(left)
            return [(at, at + len(wanted))]
    return []


def _place_by_parts(wish: PageRequest, letters: str) -> list[tuple[int, int]]:
    """The same, line by line and cell by cell: in a table, the parsed text has another order than the page."""
    found: list[tuple[int, int]] = []
    for part in re.finditer(r"[^\n|]+", wish.text[wish.start : wish.end]):
        start, end = wish.start + part.start(), wish.start + part.end()
        place = _place(wish.text, start, end, letters)
        if not place and fold(part.group()):
            return []
        found += place
    return found


def fold(text: str) -> str:
    """Its letters and digits, in the form that all ways of writing them have in common."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text)))


def _letters_of(text_page: PdfTextPage) -> tuple[str, list[int]]:
    """The folded text of the page, with the index of the character that each letter comes from."""
    import pypdfium2.raw as pdfium

    letters: list[str] = []
    origins: list[int] = []
    high = 0
    for index in range(pdfium.FPDFText_CountChars(text_page.raw)):
        code = pdfium.FPDFText_GetUnicode(text_page.raw, index)
        if 0xD800 <= code < 0xDC00:  # one half of a character, in UTF-16
            high = code
            continue
        if 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00) if high else 0
        high = 0
        if code < 0x110000:
            for letter in fold(chr(code)):
                letters.append(letter)
                origins.append(index)
    return "".join(letters), origins


def _rectangle(text_page: PdfTextPage, index: int) -> _Rectangle:
    left, bottom, right, top = text_page.get_charbox(index, loose=True)
    return left, bottom, right, top


def _lines(characters: Iterator[_Rectangle]) -> list[_Rectangle]:
    """One rectangle for all characters that follow one another on a line."""
    lines: list[_Rectangle] = []
    for left, bottom, right, top in characters:
        height = top - bottom
        if height <= 0 or right <= left:  # white space that PDFium thought of itself
            continue
        if lines:
            x0, y0, x1, y1 = lines[-1]
            overlap = min(y1, top) - max(y0, bottom)
            gap = max(left - x1, x0 - right)
            if overlap > _SAME_LINE * min(height, y1 - y0) and gap < _WORD_GAP * height:
                lines[-1] = (min(x0, left), min(y0, bottom), max(x1, right), max(y1, top))
                continue
        lines.append((left, bottom, right, top))
    return lines


def _shown(page: PdfPage, rectangle: _Rectangle) -> PageBox:
    """Where it lies on the page as it is shown, turned and cut as the page says."""
    import pypdfium2.raw as pdfium

    x, y = c_int(), c_int()
    left, bottom, right, top = rectangle
    corners = []
    for across, up in ((left, bottom), (right, top)):
        pdfium.FPDF_PageToDevice(page.raw, 0, 0, _DEVICE, _DEVICE, 0, across, up, x, y)
        corners.append((min(max(x.value / _DEVICE, 0.0), 1.0), min(max(y.value / _DEVICE, 0.0), 1.0)))
    (x0, y0), (x1, y1) = corners
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
