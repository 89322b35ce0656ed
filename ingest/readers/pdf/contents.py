"""Finds the tables of contents of a PDF: pages on which most lines end in ascending page numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from ingest.readers.pdf.lines import Line

_ENTRY = re.compile(r"[^\W\d_].*?(?:\s|^)(?:[A-Z]{1,2}\s?[-–]\s?)?(?P<number>\d{1,4})$")
_NUMBER = re.compile(r"[\s.…·]*(?:[A-Z]{1,2}\s?[-–]\s?)?\d{1,4}$")
_FEWEST = 5  # minimum number of different page numbers
_MOST = 0.5  # minimum share of entries among the lines of the page, and among those from first to last entry
_ASCENDING = 0.9  # minimum share of ascending page numbers; an annex may restart the numbering
_SHORT = 5  # pages: short documents rarely have a table of contents, but may list ascending figures
_HEAD = 3  # lines above the first entry in which the heads of the columns are, such as "Page"
_ALIGNED = 2.0  # line heights: maximum distance of a head from the page numbers below it
# Largest valid page number: _RISE times the number of pages, plus _FRONT, because numbering may not start at 1.
_RISE, _FRONT = 1.5, 10


class Entry(NamedTuple):
    """An entry of a table of contents. A title without a number of its own has that of the entry below."""

    title: str
    number: int
    indent: float


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
            found.append((_start(lines, indexes[0], entries[0][0]), entries[-1][0] + 1))
    return found


def _start(lines: Sequence[Line], top: int, first: int) -> int:
    """Return the first line of the table of contents on a page: the heads of its columns, if it has any."""
    numbers = lines[first].words[-1]
    for index in range(max(top, first - _HEAD), first):
        last = lines[index].words[-1]
        if abs(last.x1 - numbers.x1) < _ALIGNED * lines[index].height and last.x0 > lines[first].words[0].x1:
            return index
    return first


def read_entries(lines: Sequence[Line], spans: Sequence[tuple[int, int]]) -> list[list[Entry]]:
    """Return the entries of each table of contents. Spans on consecutive pages are one table."""
    tables: list[list[Entry]] = []
    last_page = -1
    for start, end in spans:
        if lines[start].page != last_page + 1:
            tables.append([])
        tables[-1] += _entries(lines[start:end])
        last_page = lines[start].page
    return tables


def _entries(lines: Sequence[Line]) -> Iterator[Entry]:
    """Yield the entries, each with the titles without a number above it, and the whole of a title on several lines."""
    above: list[Line] = []
    for line in lines:
        number = _page_number(line)
        above.append(line)
        if number is None:
            continue
        own = _NUMBER.sub("", line.text)
        titles = [*(each.text for each in above[:-1]), own]
        yield from (Entry(title, number, each.words[0].x0) for title, each in zip(titles, above, strict=True))
        if len(above) > 1:
            yield Entry(f"{titles[-2]} {own}", number, above[-2].words[0].x0)
        above = []


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
