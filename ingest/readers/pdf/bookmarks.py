"""Reads the bookmarks of a PDF: the outline that a viewer shows beside the pages."""

from __future__ import annotations

from typing import NamedTuple

from pypdfium2 import PdfDocument


class Bookmark(NamedTuple):
    title: str
    level: int
    """1 is the outermost."""
    page: int


def read_bookmarks(document: PdfDocument) -> list[Bookmark]:
    """Return the bookmarks that point to a page, in order."""
    found: list[Bookmark] = []
    for bookmark in document.get_toc():
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        if page is not None and (title := bookmark.get_title().strip()):
            found.append(Bookmark(title, bookmark.level + 1, page + 1))
    return found
