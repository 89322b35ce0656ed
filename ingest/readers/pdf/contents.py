"""Finds the tables of contents of a PDF: lines that end in ascending page numbers, over most of a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, pairwise

from ingest.readers.pdf.lines import Line

_ENTRY = re.compile(r"[^\W\d_].*?(?:\s|^)(?:[A-Z]{1,2}\s?[-–]\s?)?(?P<number>\d{1,4})$")
_FEWEST = 5  # different page numbers
_MOST = 0.5  # of the lines from the first entry to the last, and of the page's lines
_ASCENDING = 0.9  # of the entries; the pages of an annex may count anew
_SHORT = 5  # pages: as short a document needs no contents, and lists of results ascend, too
_RISE, _FRONT = 1.5, 10  # the largest page number: times the pages of the document, and pages numbered before them


def find_contents(lines: Sequence[Line], pages: int) -> list[tuple[int, int]]:
    """Return the spans of lines that are tables of contents, at most one per page of ``pages``."""
    if pages <= _SHORT:
        return []
    largest = _RISE * pages + _FRONT
    found: list[tuple[int, int]] = []
    for _, group in groupby(range(len(lines)), key=lambda index: lines[index].page):
        indexes = list(group)
        numbers = ((index, _page_number(lines[index])) for index in indexes)
        entries = [(index, number) for index, number in numbers if number is not None and number <= largest]
        if _is_contents(entries, len(indexes)):
            found.append((entries[0][0], entries[-1][0] + 1))
    return found


def _page_number(line: Line) -> int | None:
    if not line.words[-1].text[-1].isdigit():
        return None
    entry = _ENTRY.match(line.text)
    return int(entry["number"]) if entry else None


def _is_contents(entries: Sequence[tuple[int, int]], lines: int) -> bool:
    """Return whether entries (index of the line, page number) are a table of contents on a page of ``lines`` lines."""
    numbers = [number for _, number in entries]
    rising = sum(one <= other for one, other in pairwise(numbers))
    return (
        len(set(numbers)) >= _FEWEST
        and len(entries) >= _MOST * max(entries[-1][0] - entries[0][0] + 1, lines)
        and rising >= _ASCENDING * (len(numbers) - 1)
    )
