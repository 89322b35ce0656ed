"""Finds the headings of a PDF.

A candidate (``candidates.py``) is a heading if at least one of these conditions holds:

- The bookmarks, or else the tables of contents, list it on its page.
- It has a name and a number, such as "Note 10", and the numbers of that name ascend. Captions of tables do not count.
- It stands out from the body text, and the document uses its look mostly for lines above text or tables.
- It is a title: it has the largest type on the first page, and its words recur on other pages or the first page is not
  a cover.

These conditions exclude slogans, words scattered over a page, key figures and their captions, column heads, labels in
tables and emphasised sentences.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise, takewhile
from statistics import median
from typing import NamedTuple

from ingest.document import CAPTION
from ingest.readers.pdf.candidates import Below, Candidate, Look, PageLines, Prominence
from ingest.readers.pdf.contents import Entry, find_listed
from ingest.readers.pdf.file import Bookmark
from ingest.readers.pdf.lines import Line

_DEEPEST = 6  # maximum level of a heading
_FEW_PAGES = 3  # maximum pages of a short document, in which a look need not recur
_LONG, _ABOVE = 40, 1 / 3  # pages of a long document, and the largest share of them that a heading may be above
_ESTABLISHED = 3  # pages on which a look must recur to confirm headings without text below, such as above a chart
_TITLE = 0.8  # minimum ratio of the type size of other title parts to the largest title
_RECURS = 2  # minimum number of other pages that contain the words of a title
_COVER = 0.5  # share of the median characters per page; a first page with fewer is a cover
_LONG_INTRODUCTION = 40  # characters: a longer text that ends with a colon introduces a list or table
_ASCENDING = 0.6  # minimum share of ascending numbers of a name; some sections restart the numbering
_FEWEST_NUMBERS = 3  # minimum number of different numbers of a name
_LISTED = 0.5  # of a look's headings: if more are listed, their level is that of the others
_DIRECTLY, _LEAD = 3, 2  # times that a look stands directly above another, and their ratio to the opposite order
_CAPTIONS = 0.6  # minimum share of lines directly above a table, for the lines of a name to be captions
_NAMED = re.compile(r"^(?P<name>[^\W\d_]{2,12})\.? (?P<number>\d{1,3})(?!\d)")

# Minimum share of a look's candidates above text or tables, and minimum share of its lines that are candidates. A less
# prominent look needs larger shares.
_ABOVE_TEXT = {Prominence.SLIGHT: 0.6, Prominence.BOLD: 0.4, Prominence.LARGE: 0.4}
_CANDIDATES = {Prominence.SLIGHT: 0.5, Prominence.BOLD: 0.4, Prominence.LARGE: 0.4}


class Heading(NamedTuple):
    """A heading: lines [start, end) and its level."""

    start: int
    end: int
    level: int


def find_headings(
    lines: Sequence[Line],
    elsewhere: Sequence[tuple[int, int]],
    bookmarks: Sequence[Bookmark] = (),
    contents: Sequence[Sequence[Entry]] = (),
) -> list[Heading]:
    """Return the headings in order. Lines in the spans ``elsewhere`` belong to tables and tables of contents.

    ``contents`` are the entries of each table of contents.
    """
    if not lines:
        return []
    page_lines = PageLines(lines, elsewhere)
    listed = find_listed(page_lines.candidates, bookmarks, contents, len(page_lines.pages))
    evidence = _Evidence(page_lines, listed)
    chosen = [candidate for candidate in evidence.page_lines.candidates if evidence.is_heading(candidate)]
    is_short = len(evidence.page_lines.pages) <= _FEW_PAGES
    fewest = _ESTABLISHED if len(page_lines.pages) >= _LONG else 1
    levels = _levels(chosen, evidence.listed, () if is_short else evidence.titles, fewest)
    levels |= dict.fromkeys(evidence.captions - evidence.listed.keys(), CAPTION)
    headings = [Heading(candidate.start, candidate.end, levels[candidate.start]) for candidate in chosen]
    return _divided(headings, [line.page for line in lines], len(page_lines.pages))


def _divided(headings: list[Heading], pages: Sequence[int], count: int) -> list[Heading]:
    """Return the headings of a long document with levels at which none is above too many of its pages.

    What would be above most of a report, such as the kind of its form or the last large heading before the notes,
    tells nothing about a passage. The headings inside it are put on its level.
    """
    if count < _LONG:
        return headings
    for position in range(len(headings)):
        while (inside := _inside(headings, position)) and headings[position].level != CAPTION:
            end = position + len(inside) + 1
            start, after = headings[position].start, headings[end].start if end < len(headings) else len(pages)
            share = max((pages[after - 1] - pages[start] + 1) / count, (after - start) / len(pages))
            if share <= _ABOVE:
                break
            rise = min(other.level for other in inside) - headings[position].level
            headings[position + 1 : end] = [
                other if other.level == CAPTION else other._replace(level=other.level - rise) for other in inside
            ]
    return headings


def _inside(headings: Sequence[Heading], position: int) -> list[Heading]:
    """Return the headings below this one."""
    level = headings[position].level
    return list(takewhile(lambda other: other.level > level, headings[position + 1 :]))


class _Evidence:
    """Evidence for the headings of one document. A candidate is identified by the index of its first line."""

    def __init__(self, page_lines: PageLines, listed: Mapping[int, int]) -> None:
        self.page_lines = page_lines
        candidates = page_lines.candidates
        self._below = {candidate.start: page_lines.below(candidate) for candidate in candidates}
        self._by_look: dict[Look, list[Candidate]] = defaultdict(list)
        for candidate in candidates:
            self._by_look[candidate.look].append(candidate)
        self._proven = self._proven_looks()
        self._numbered, self.captions = _numbered(candidates, self._below)
        self.listed = listed
        self.titles = self._find_titles()

    def is_heading(self, candidate: Candidate) -> bool:
        below = self._below[candidate.start]
        if candidate.start in self.listed or candidate.start in self.titles:
            return True
        if candidate.start in self._numbered:
            return below >= (Below.NOTHING if candidate.prominence else Below.TABLE)
        if not candidate.prominence or _is_sentence(candidate.text) or below is Below.TABLE_ROW:
            return False
        return candidate.look in self._proven and self._has_its_place(candidate, below)

    def _has_its_place(self, candidate: Candidate, below: Below) -> bool:
        """Return whether the position of a candidate with a proven look fits a heading."""
        pages = self._proven[candidate.look]
        beside = below is not Below.TEXT and self.page_lines.has_neighbour(candidate)
        is_established = pages >= _ESTABLISHED and candidate.prominence >= Prominence.BOLD
        is_large = is_established and candidate.prominence is Prominence.LARGE
        if below is Below.TABLE and beside and not is_large:
            return False
        if below >= Below.TABLE and (pages > 1 or below is Below.TEXT or len(self.page_lines.pages) <= _FEW_PAGES):
            return True
        if not is_established or self.page_lines.is_caption(candidate):
            return False
        return is_large or not (beside or self._is_misused(candidate))

    def _is_misused(self, candidate: Candidate) -> bool:
        """Return whether the page uses this look mostly for lines without text or tables below."""
        same = [other for other in self._by_look[candidate.look] if other.page == candidate.page]
        return 2 * sum(self._is_above_text(other) for other in same) < len(same)

    def _is_above_text(self, candidate: Candidate) -> bool:
        return self._below[candidate.start] >= Below.TABLE

    def _proven_looks(self) -> dict[Look, int]:
        """Return the looks of headings, each with the number of pages on which it is above text or tables."""
        lines = Counter(
            look
            for look, elsewhere in zip(self.page_lines.looks, self.page_lines.elsewhere, strict=True)
            if not elsewhere
        )
        proven: dict[Look, int] = {}
        for look, candidates in self._by_look.items():
            prominence = max(candidate.prominence for candidate in candidates)
            if not prominence:
                continue
            above = [candidate for candidate in candidates if self._is_above_text(candidate)]
            pages = len({candidate.page for candidate in above})
            recurs = pages > 1 or prominence is not Prominence.SLIGHT or len(self.page_lines.pages) <= _FEW_PAGES
            size = sum(candidate.end - candidate.start for candidate in candidates)
            if (
                recurs
                and len(above) >= _ABOVE_TEXT[prominence] * len(candidates)
                and size >= _CANDIDATES[prominence] * lines[look]
            ):
                proven[look] = pages
        return proven

    def _find_titles(self) -> set[int]:
        """Return the first lines of the parts of the document's title on the first page."""
        first, *others = self.page_lines.pages
        large = [
            candidate
            for candidate in self.page_lines.candidates
            if candidate.page == first and candidate.prominence >= Prominence.BOLD
        ]
        words = {candidate.start: set(_words(candidate.text)) for candidate in large}
        recurring = {start: 0 for start, own in words.items() if len(own) > 1}
        for page in others:
            wanted = [start for start, count in recurring.items() if count < _RECURS]
            if not wanted:
                break
            texts = [set(_words(self.page_lines.lines[index].text)) for index in self.page_lines.pages[page]]
            for start in wanted:
                recurring[start] += any(words[start] <= text for text in texts)
        titles = [candidate for candidate in large if recurring.get(candidate.start, 0) >= _RECURS]
        if not titles and not self._is_cover(first):
            titles = [candidate for candidate in large if candidate.prominence is Prominence.LARGE]
        largest = max((candidate.look.size for candidate in titles), default=0.0)
        return {candidate.start for candidate in titles if candidate.look.size >= _TITLE * largest}

    def _is_cover(self, page: int) -> bool:
        sizes = {
            number: sum(len(word.text) for index in indexes for word in self.page_lines.lines[index].words)
            for number, indexes in self.page_lines.pages.items()
        }
        return sizes[page] < _COVER * median(sizes.values())


def _is_sentence(text: str) -> bool:
    return text.endswith((".", "。")) or (text.endswith((":", "：")) and len(text) > _LONG_INTRODUCTION)


def _numbered(candidates: Sequence[Candidate], below: Mapping[int, Below]) -> tuple[set[int], set[int]]:
    """Return the first lines of numbered headings, such as "Note 10", and of the numbered captions among them.

    The numbers of a name must ascend. Captions, such as "Table 2", are directly above tables.
    """
    named: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for candidate in candidates:
        if found := _NAMED.match(candidate.text):
            named[found["name"].casefold()].append((int(found["number"]), candidate.start))
    headings, captions = set[int](), set[int]()
    for found_numbers in named.values():
        numbers = [number for number, _ in found_numbers]
        starts = {start for _, start in found_numbers}
        rising = sum(one <= other for one, other in pairwise(numbers))
        if len(set(numbers)) >= _FEWEST_NUMBERS and rising >= _ASCENDING * (len(numbers) - 1):
            headings |= starts
            above_table = sum(below[start] is Below.TABLE for start in starts)
            captions |= starts if above_table > _CAPTIONS * len(starts) else set()
    return headings, captions


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _levels(
    chosen: Sequence[Candidate], listed: Mapping[int, int], titles: Collection[int], fewest: int
) -> dict[int, int]:
    """Return the level of each heading: from the bookmarks or table of contents, otherwise from its style.

    A look has the level of its listed headings if these are most of its headings; all other looks are below the listed
    headings. A look with fewer headings than ``fewest`` shares the level of the next one: it divides nothing. A look
    that only ``titles`` have gets the deepest level, because the title of a long document may be a slogan and must not
    be above all sections.
    """
    outer: dict[Look, list[int]] = defaultdict(list)
    for candidate in chosen:
        if candidate.start in listed:
            outer[candidate.look].append(listed[candidate.start])
    sizes = Counter(candidate.look for candidate in chosen)
    outer = {look: levels for look, levels in outer.items() if len(levels) > _LISTED * sizes[look]}
    inner = {candidate.look: candidate.prominence for candidate in chosen if candidate.start not in titles}
    ranked = _ranked({look: prominence for look, prominence in inner.items() if look not in outer}, chosen)
    deepest = max(listed.values(), default=0)
    levels: dict[Look, int] = {}
    for look in ranked:
        levels[look] = deepest + 1
        deepest += sizes[look] >= fewest
    levels |= {look: round(median(found)) for look, found in outer.items()}
    return {
        candidate.start: min(listed.get(candidate.start, levels.get(candidate.look, _DEEPEST)), _DEEPEST)
        for candidate in chosen
    }


def _ranked(looks: Mapping[Look, Prominence], chosen: Sequence[Candidate]) -> list[Look]:
    """Return the looks, the outermost first: the most prominent, unless it stands directly below the less prominent."""
    pairs = {(one.look, other.look, one.text) for one, other in pairwise(chosen) if one.end == other.start}
    directly = Counter((above, below) for above, below, _ in pairs)
    ranked: list[Look] = []
    for look in sorted(looks, key=lambda look: (-looks[look], -look.size, not look.style.bold)):
        below = (
            place
            for place, other in enumerate(ranked)
            if directly[look, other] >= _DIRECTLY and directly[look, other] > _LEAD * directly[other, look]
        )
        ranked.insert(next(below, len(ranked)), look)
    return ranked
