"""Matches heading candidates with the bookmarks of a PDF or, without bookmarks, with its tables of contents."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from ingest.readers.pdf.candidates import Candidate
from ingest.readers.pdf.contents import Entry
from ingest.readers.pdf.file import Bookmark

_MOST = 0.5  # minimum share of a candidate's letters that belong to the entry; the rest is a part's or a section's name
_FEWEST = 3  # minimum number of entries of a table of contents that agree about the page on which the numbering starts
_WIDE = 0.5  # minimum share of the pages between the first and the last candidate of a list that names all sections
_INDENT = 4.0  # points: entries of one level start within this distance


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
    return title == text or (len(title) >= _MOST * len(text) and (text.startswith(title) or text.endswith(title)))


def _located(entries: Sequence[Entry], candidates: Sequence[Candidate]) -> list[Bookmark]:
    """Return the entries of a table of contents as bookmarks, or none if they disagree about where page 1 is."""
    pages: dict[str, list[int]] = defaultdict(list)
    for candidate in candidates:
        pages[letters(candidate.text)].append(candidate.page)
    shifts = Counter(page - entry.number for entry in entries for page in pages[letters(entry.title)])
    shift, votes = max(shifts.items(), key=lambda counted: counted[1], default=(0, 0))
    if votes < _FEWEST:
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
