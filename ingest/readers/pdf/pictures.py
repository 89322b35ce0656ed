"""Measures how much of a page pictures cover: a scan covers the whole page."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_MOST_OBJECTS = 200  # a scan is one picture, or a few strips


def covered_by_pictures(page: PdfPage) -> float:
    """Return the share of the page that pictures cover, overlapping ones twice; 0 for a page of many objects."""
    import pypdfium2.raw as pdfium

    count = pdfium.FPDFPage_CountObjects(page.raw)
    if count > _MOST_OBJECTS:
        return 0.0
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    covered = 0.0
    for index in range(count):
        shape = pdfium.FPDFPage_GetObject(page.raw, index)
        is_picture = pdfium.FPDFPageObj_GetType(shape) == pdfium.FPDF_PAGEOBJ_IMAGE
        if is_picture and pdfium.FPDFPageObj_GetBounds(shape, left, bottom, right, top):
            covered += (right.value - left.value) * (top.value - bottom.value)
    x0, y0, x1, y1 = page.get_bbox()
    return float(covered / max((x1 - x0) * (y1 - y0), 1.0))
