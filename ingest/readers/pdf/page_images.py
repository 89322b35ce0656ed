"""Prepares images for text recognition: PDF pages, image files, and pictures that appear to contain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

import pypdfium2.raw as pdfium
from pypdfium2 import PdfObject, PdfPage

from ingest.errors import CorruptDocument
from ingest.readers.pdf.drawing import Bounds, page_objects, rotate_box
from ingest.readers.pdf.words import Word

if TYPE_CHECKING:
    from PIL.Image import Image

_LONG_SIDE = 3500  # pixels: a page of A4 at 300 dpi. Of smaller images, Tesseract reads fewer words and tables
_MOST = 4  # times that an image is enlarged
_USUAL_DPI = 300
_LEAST_DPI, _MOST_DPI = 200, 2400  # photos often state 72 dpi, with which Tesseract takes text for pictures

_DPI, _MAX_PIXELS = 300, 40_000_000  # of pictures of PDF pages
_MOST_OBJECTS = 3000  # of a page; further pictures are not looked for
_LINE_SHARE, _LINE_WIDTH = 0.004, 0.3  # of the page that a picture of one line covers, and of its width
_LEAST_SHARE, _LABELS = 0.02, 3  # of the page that a picture covers; words on it from which on it is a background
# A line of text has many strokes from left to right, and the next one begins below a gap. Measured at this resolution:
_LOOK_DPI, _BLUR, _INK, _STROKES = 100, 8, 40, 12
_TOUCHING = 2.0  # points
_LINES, _LINE_HEIGHT = 3, range(3, 31)  # number, and height in pixels
_LONG_LINE = 50  # strokes: one line of about 25 letters is text, not a logo


def resolution(page: PdfPage) -> int:
    """Return the resolution for text recognition in dpi, which is lower for large pages."""
    square_inches = page.get_width() * page.get_height() / 72**2
    return max(1, min(_DPI, int((_MAX_PIXELS / max(square_inches, 1)) ** 0.5)))


def page_image(page: PdfPage, dpi: int, part: Bounds | None = None) -> bytes:
    """Return a grayscale image of the page or a part of it, in the format PGM."""
    written = BytesIO()
    _rendered(page, dpi, part).save(written, "PPM")
    return written.getvalue()


def _rendered(page: PdfPage, dpi: int, part: Bounds | None) -> Image:
    left, bottom, right, top = _shown(page, page.get_bbox())
    x0, y0, x1, y1 = part or (left, bottom, right, top)
    crop = x0 - left, y0 - bottom, right - x1, top - y1
    bitmap = page.render(scale=dpi / 72, grayscale=True, may_draw_forms=False, crop=crop)
    try:
        picture: Image = bitmap.to_pil().convert("L")
        return picture
    finally:
        bitmap.close()


def pictures_of_text(page: PdfPage, words: Sequence[Word]) -> Iterator[Bounds]:
    """Yield the bounds of pictures that appear to contain text, on the page as it is shown. Adjacent strips are one."""
    kinds = {kind for _, kind, _ in page_objects(page, _MOST_OBJECTS)}
    if kinds.isdisjoint((pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM)):
        return
    left, bottom, right, top = _shown(page, page.get_bbox())
    pictures = islice(page.get_objects([pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3), _MOST_OBJECTS)
    for x0, y0, x1, y1 in _without_gaps(_shown(page, bounds_on_page(picture)) for picture in pictures):
        box = max(x0, left), max(y0, bottom), min(x1, right), min(y1, top)
        share = max(box[2] - box[0], 0) * max(box[3] - box[1], 0) / max((right - left) * (top - bottom), 1)
        labels = sum(box[0] < x < box[2] and box[1] < y < box[3] for x, y in (word.middle for word in words))
        is_line = share >= _LINE_SHARE and box[2] - box[0] >= _LINE_WIDTH * (right - left)
        if (share >= _LEAST_SHARE or is_line) and labels < _LABELS and _seems_text(_rendered(page, _LOOK_DPI, box)):
            yield box


def _shown(page: PdfPage, box: Bounds) -> Bounds:
    """Return the box after rotating the page as it is shown."""
    return rotate_box(box, page.get_rotation() // 90)


def bounds_on_page(picture: PdfObject) -> Bounds:
    """Return the bounds of a picture on its page. PDFium returns them relative to the form that contains it."""
    bounds: Bounds = picture.get_bounds()
    while picture := picture.container:
        bounds = picture.get_matrix().on_rect(*bounds)
    return bounds


def _without_gaps(boxes: Iterable[Bounds]) -> list[Bounds]:
    """Return the boxes from top to bottom. Boxes of the same width that touch vertically are merged."""
    found: list[Bounds] = []
    for box in sorted(boxes, key=lambda box: -box[3]):
        above = found[-1] if found else (0, 0, 0, 0)
        if max(abs(box[0] - above[0]), abs(box[2] - above[2]), abs(box[3] - above[1])) <= _TOUCHING:
            found[-1] = above[0], box[1], above[2], above[3]
        else:
            found.append(box)
    return found


def _seems_text(picture: Image) -> bool:
    from PIL import Image, ImageChops, ImageFilter

    around = picture.filter(ImageFilter.BoxBlur(_BLUR))
    ink = ImageChops.difference(picture, around).point(lambda value: 255 * (value > _INK))
    strokes = ImageChops.difference(ink, ImageChops.offset(ink, 1, 0))
    rows = strokes.resize((1, picture.height), Image.Resampling.BOX).tobytes()
    counts = [share * picture.width / 255 for share in rows]
    runs = [[*run] for is_line, run in groupby(counts, lambda count: count >= _STROKES) if is_line]
    lines = [max(run) for run in runs if len(run) in _LINE_HEIGHT]
    return len(lines) >= _LINES or max(lines, default=0) >= _LONG_LINE


def page_images(data: bytes, path: Path) -> Iterator[tuple[bytes, int]]:
    """Yield each page as PGM, which needs no encoder, with its resolution in dpi.

    Raises CorruptDocument.
    """
    from PIL import Image, ImageSequence

    try:
        with Image.open(BytesIO(data)) as image:
            for frame in ImageSequence.Iterator(image) if image.format == "TIFF" else (image,):
                yield _page(frame)
    except (OSError, EOFError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise CorruptDocument(f"Cannot read the image {path}: {error}. Save the file again, as PNG or PDF.") from error


def _page(image: Image) -> tuple[bytes, int]:
    factor = max(1.0, min(_LONG_SIDE / max(image.size), _MOST))
    grey = _grey(image)
    if factor > 1:
        grey = grey.resize((round(grey.width * factor), round(grey.height * factor)))
    written = BytesIO()
    grey.save(written, "PPM")
    stated = image.info.get("dpi", (_USUAL_DPI,))[0] * factor
    return written.getvalue(), round(stated) if _LEAST_DPI <= stated <= _MOST_DPI else _USUAL_DPI


def _grey(image: Image) -> Image:
    from PIL import Image as Images

    if image.mode.startswith("I"):
        image = image.point(lambda value: value / 256)  # 16 bits
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Images.alpha_composite(Images.new("RGBA", image.size, "white"), image)
    return image.convert("L")
