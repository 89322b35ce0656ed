"""Prepares image files for text recognition: one grey picture per page, with transparent parts white, large enough."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.errors import CorruptDocument

if TYPE_CHECKING:
    from PIL.Image import Image

_LONG_SIDE = 3500  # pixels: a page of A4 at 300 dpi. Of smaller images, Tesseract reads fewer words and tables
_MOST = 4  # times that an image is enlarged
_USUAL_DPI = 300
_LEAST_DPI, _MOST_DPI = 200, 2400  # photos often state 72 dpi, with which Tesseract takes text for pictures


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
