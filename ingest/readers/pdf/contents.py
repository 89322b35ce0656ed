"""Finds the tables of contents of a PDF: pages on which most lines end in ascending page numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, pairwise

from ingest.readers.pdf.lines import Line

_ENTRY = re.compile(r"[^\W\d_].*?(?:\s|^)(?:[A-Z]{1,2}\s?[-–]\s?)?(?P<number>\d{1,4})$")
_FEWEST = 5  # minimum number of different page numbers
_MOST = 0.5  # minimum share of entries among the lines of the page, and among those from first to last entry
_ASCENDING = 0.9  # minimum share of ascending page numbers; an annex may restart the numbering
_SHORT = 5  # pages: short documents rarely have a table of contents, but may list ascending figures
# Largest valid page number: _RISE times the number of pages, plus _FRONT, because numbering may not start at 1.
_RISE, _FRONT = 1.5, 10


def find_contents(lines: Sequence[Line], pages: int) -> list[tuple[int, int]]:
    """Return the spans of lines that are tables of contents, at most one per page.

    ``pages`` is the number of pages of the document.
    """
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
    """Return whether the entries are a table of contents.

    An entry is the index of a line and its page number. ``lines`` is the number of lines on the page.
    """
    numbers = [number for _, number in entries]
    rising = sum(one <= other for one, other in pairwise(numbers))
    return (
        len(set(numbers)) >= _FEWEST
        and len(entries) >= _MOST * max(entries[-1][0] - entries[0][0] + 1, lines)
        and rising >= _ASCENDING * (len(numbers) - 1)
    )
