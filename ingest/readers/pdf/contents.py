"""Finds the tables of contents of a PDF, and the headings that they or the bookmarks list.

A table of contents is a page on which most lines end in ascending page numbers.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from ingest.readers.pdf.candidates import Candidate
from ingest.readers.pdf.file import Bookmark
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
_NAMED = 0.5  # minimum share of a candidate's letters that belong to the entry; the rest names a part or a section
_AGREEING = 3  # minimum number of entries of a table of contents that agree on the page on which the numbering starts
_WIDE = 0.5  # minimum share of the pages between the first and the last candidate of a list that names all sections
_INDENT = 4.0  # points: entries of one level start within this distance


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


def find_listed(
    candidates: Sequence[Candidate], bookmarks: Sequence[Bookmark], contents: Sequence[Sequence[Entry]], pages: int
) -> dict[int, int]:
    """Return the levels of the listed candidates by their first line.

    A list that covers only a part of the document, such as an index of statements, is not used. ``pages`` is the
    number of pages of the document.
    """
    for outline in (bookmarks, *(_located(entries, candidates) for entries in contents)):
        found = _on_pages(outline, candidates)
        named = [candidate.page for candidate in candidates if candidate.start in found]
        if named and named[-1] - named[0] >= _WIDE * pages:
            return found
    return _on_pages(bookmarks, candidates)


def _on_pages(bookmarks: Sequence[Bookmark], candidates: Sequence[Candidate]) -> dict[int, int]:
    """Return the levels of the candidates that the bookmarks name on the same page."""
    named: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for bookmark in bookmarks:
        named[bookmark.page].append((letters(bookmark.title), bookmark.level))
    found: dict[int, int] = {}
    for candidate in candidates:
        text = letters(candidate.text)
        levels = [level for title, level in named[candidate.page] if _names(title, text)]
        if levels:
            found[candidate.start] = min(levels)
    return found


def _names(title: str, text: str) -> bool:
    """Return whether the title matches the candidate. A candidate may combine two headings: a part and its section."""
    return title == text or (len(title) >= _NAMED * len(text) and (text.startswith(title) or text.endswith(title)))


def _located(entries: Sequence[Entry], candidates: Sequence[Candidate]) -> list[Bookmark]:
    """Return the entries of a table of contents as bookmarks, or none if they disagree about where page 1 is."""
    pages: dict[str, list[int]] = defaultdict(list)
    for candidate in candidates:
        pages[letters(candidate.text)].append(candidate.page)
    shifts = Counter(page - entry.number for entry in entries for page in pages[letters(entry.title)])
    shift, votes = max(shifts.items(), key=lambda counted: counted[1], default=(0, 0))
    if votes < _AGREEING:
        return []
    levels = _levels([entry.indent for entry in entries])
    return [Bookmark(entry.title, level, entry.number + shift) for entry, level in zip(entries, levels, strict=True)]


def _levels(indents: Sequence[float]) -> list[int]:
    """Return the level of each indent: 1 is the leftmost."""
    ordered = sorted(set(indents))
    borders = [right for left, right in pairwise(ordered) if right - left > _INDENT]
    return [1 + sum(border <= indent for border in borders) for indent in indents]


def letters(text: str) -> str:
    """Return the letters and digits of a text in lower case, to compare titles."""
    return "".join(re.findall(r"\w+", text.casefold()))
