"""Recognise the text on pictures of pages with Tesseract: a reference that does not depend on any PDF library's words.

Tesseract makes mistakes, and reads some tables by columns. They lower the scores of all libraries alike.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection
from io import BytesIO
from pathlib import Path

import pypdfium2

_DPI = 200


def recognise(path: Path, pages: Collection[int]) -> dict[int, str]:
    """Return the recognised text of each page."""
    with pypdfium2.PdfDocument(path) as document:
        return {number: _text(document[number - 1]) for number in pages}


def _text(page: pypdfium2.PdfPage) -> str:
    image = BytesIO()
    page.render(scale=_DPI / 72, grayscale=True).to_pil().save(image, "PPM")
    command = ["tesseract", "stdin", "stdout", "--psm", "1", "--dpi", str(_DPI)]
    environment = os.environ | {"OMP_THREAD_LIMIT": "1"}
    run = subprocess.run(command, input=image.getvalue(), capture_output=True, check=True, env=environment)
    return run.stdout.decode()
