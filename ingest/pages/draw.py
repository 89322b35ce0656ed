"""Renders a page of a PDF or an image, and locates a part of the parsed text on it.

``renderer.py`` runs this module in a child process. A file that crashes it, hangs or exhausts memory affects no other
image. Text is compared by letters and digits only, because white space, hyphens, ligatures and table marks differ
between a page and its parsed text. Text that occurs more than once is highlighted only if its context is unique.
"""

from __future__ import annotations

import io
import re
import resource
import unicodedata
from collections.abc import Iterator, Sequence
from ctypes import c_int
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.isolation.confinement import confine_process
from ingest.pages.request import PageBox, PageRequest, RenderedPage

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfPage, PdfTextPage

_MAX_PIXELS = 12_000_000
_DEVICE_UNITS = 1_000_000  # resolution of the page coordinates
_CONTEXTS = (0, 24, 96)  # letters before and after the text that may make it unique
_HIGHLIGHT = (255, 214, 0, 96)  # RGBA
_SAME_LINE = 0.5  # two characters are on one line if they overlap by this part of their height
_WORD_GAP = 1.5  # a wider gap, in heights, starts a new box

_Rectangle = tuple[float, float, float, float]


def main(connection: Connection, memory_mb: int, cpu_s: int) -> None:
    """Render the requested page. Send its description as JSON, then the image."""
    confine_process()
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    page, image = render_page(PageRequest.model_validate_json(connection.recv_bytes()))
    connection.send_bytes(page.model_dump_json().encode())
    connection.send_bytes(image)


def render_page(request: PageRequest) -> tuple[RenderedPage, bytes]:
    """Return the page and its PNG image. The image is empty for scale 0."""
    with Path(request.path).open("rb") as file:
        is_pdf = b"%PDF-" in file.read(1024)
    return _render_pdf(request) if is_pdf else _render_image(request)


def _render_image(request: PageRequest) -> tuple[RenderedPage, bytes]:
    from PIL import Image, ImageOps

    try:
        with Image.open(request.path) as image:
            image.seek(request.page - 1)
            upright = ImageOps.exif_transpose(image).convert("RGB")
    except (OSError, EOFError, ValueError, Image.DecompressionBombError) as error:
        return RenderedPage(error=f"page {request.page} of the image cannot be shown: {error}"), b""
    rendered = RenderedPage(width=upright.width, height=upright.height, marks=((),) * len(request.marks))
    if not request.scale:
        return rendered, b""
    side = min(1.0, _scale(request, upright.width, upright.height))
    return rendered, _png(upright.resize((max(1, int(upright.width * side)), max(1, int(upright.height * side)))))


def _render_pdf(request: PageRequest) -> tuple[RenderedPage, bytes]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(request.path)
        if request.page > len(document):
            return RenderedPage(error=f"it has {len(document)} pages"), b""
        page = document[request.page - 1]
        width, height = page.get_size()
        rendered = RenderedPage(width=width, height=height, marks=_locate_marks(page, request))
        if not request.scale:
            return rendered, b""
        image = page.render(scale=_scale(request, width, height)).to_pil()
        return rendered, _png(_highlight(image, rendered.boxes) if request.highlight else image)
    except pypdfium2.PdfiumError as error:
        return RenderedPage(error=f"page {request.page} of the PDF cannot be shown: {error}"), b""


def _scale(request: PageRequest, width: float, height: float) -> float:
    """Return the requested scale, limited by the maximum size of the image."""
    largest = float((_MAX_PIXELS / max(width * height, 1)) ** 0.5)
    longest = request.longest / max(width, height, 1) if request.longest else largest
    return min(request.scale, largest, longest)


def _highlight(image: Image, boxes: Sequence[PageBox]) -> Image:
    """Return the image with translucent rectangles over the boxes."""
    from PIL import Image, ImageDraw

    layer = Image.new("RGBA", image.size)
    pen = ImageDraw.Draw(layer)
    for x0, y0, x1, y1 in boxes:
        corners = (x0 * image.width, y0 * image.height, x1 * image.width, y1 * image.height)
        pen.rectangle(corners, fill=_HIGHLIGHT)
    return Image.alpha_composite(image.convert("RGBA"), layer).convert("RGB")


def _png(image: Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)  # fast, because a person waits for the image
    return out.getvalue()


# Locating text on the page


def _locate_marks(page: PdfPage, request: PageRequest) -> tuple[tuple[PageBox, ...], ...]:
    """Return the boxes of each mark in fractions of the page. A mark with an uncertain location has no boxes."""
    if all(start >= end for start, end in request.marks):
        return ((),) * len(request.marks)
    text_page = page.get_textpage()
    letters, origins = _extract_letters(text_page)

    def boxes(start: int, end: int) -> tuple[PageBox, ...]:
        parts = _locate(request.text, start, end, letters) or _locate_by_parts(request.text, start, end, letters)
        indices = [index for first, last in parts for index in range(origins[first], origins[last - 1] + 1)]
        rectangles = _merge_lines(_rectangle(text_page, index) for index in indices)
        return tuple(_to_box(page, rectangle) for rectangle in rectangles)

    return tuple(boxes(start, end) for start, end in request.marks)


def _locate(text: str, start: int, end: int, letters: str) -> list[tuple[int, int]]:
    """Return the span of text[start:end] in the letters of the page if the text with some context is unique."""
    before, target, after = fold(text[:start]), fold(text[start:end]), fold(text[end:])
    if not target:
        return []
    for context in _CONTEXTS:
        left = before[max(0, len(before) - context) :] if context else ""
        pattern = left + target + after[:context]
        if letters.count(pattern) == 1:
            at = letters.index(pattern) + len(left)
            return [(at, at + len(target))]
    return []


def _locate_by_parts(text: str, start: int, end: int, letters: str) -> list[tuple[int, int]]:
    """Locate each line and table cell separately, because the parsed text of a table may order cells differently."""
    found: list[tuple[int, int]] = []
    for part in re.finditer(r"[^\n|]+", text[start:end]):
        span = _locate(text, start + part.start(), start + part.end(), letters)
        if not span and fold(part.group()):
            return []
        found += span
    return found


def fold(text: str) -> str:
    """Return the letters and digits of the text, without accents, which some PDFs store apart from their letters."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text)))


def _extract_letters(text_page: PdfTextPage) -> tuple[str, list[int]]:
    """Return the folded text of the page, and the character index of each of its letters."""
    import pypdfium2.raw as pdfium

    letters: list[str] = []
    origins: list[int] = []
    high = 0
    for index in range(pdfium.FPDFText_CountChars(text_page.raw)):
        code = pdfium.FPDFText_GetUnicode(text_page.raw, index)
        if 0xD800 <= code < 0xDC00:  # first half of a UTF-16 surrogate pair
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


def _merge_lines(characters: Iterator[_Rectangle]) -> list[_Rectangle]:
    """Merge the characters that follow one another on a line into one rectangle."""
    lines: list[_Rectangle] = []
    for left, bottom, right, top in characters:
        height = top - bottom
        if height <= 0 or right <= left:  # white space that PDFium inserted
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


def _to_box(page: PdfPage, rectangle: _Rectangle) -> PageBox:
    """Convert to fractions of the displayed (rotated and cropped) page, from its upper left corner."""
    import pypdfium2.raw as pdfium

    x, y = c_int(), c_int()
    left, bottom, right, top = rectangle
    corners = []
    for across, up in ((left, bottom), (right, top)):
        pdfium.FPDF_PageToDevice(page.raw, 0, 0, _DEVICE_UNITS, _DEVICE_UNITS, 0, across, up, x, y)
        corners.append((min(max(x.value / _DEVICE_UNITS, 0.0), 1.0), min(max(y.value / _DEVICE_UNITS, 0.0), 1.0)))
    (x0, y0), (x1, y1) = corners
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
