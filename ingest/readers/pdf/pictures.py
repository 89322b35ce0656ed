"""Measures how much of a page pictures cover: a scan covers the whole page."""

from __future__ import annotations

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage

from ingest.readers.pdf.drawing import page_objects

_MOST_OBJECTS = 200  # a scan is one picture, or a few strips


def covered_by_pictures(page: PdfPage) -> float:
    """Return the share of the page that pictures cover, overlapping ones twice; 0 for a page of many objects."""
    if pdfium.FPDFPage_CountObjects(page) > _MOST_OBJECTS:
        return 0.0
    objects = page_objects(page, _MOST_OBJECTS)
    pictures = (bounds for _, kind, bounds in objects if kind == pdfium.FPDF_PAGEOBJ_IMAGE)
    covered = sum((right - left) * (top - bottom) for left, bottom, right, top in pictures)
    x0, y0, x1, y1 = page.get_bbox()
    return float(covered / max((x1 - x0) * (y1 - y0), 1.0))
