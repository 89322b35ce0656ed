"""Takes the headings of a PDF by evidence, or not at all.

A candidate (``candidates.py``) is a heading if there is evidence for it:

- the outline of the document lists it on its page;
- it has a name and a number, such as "Note 10", the numbers of that name ascend, and text is below it;
- its type stands out from the page's text, and the document uses this look mostly for lines above text or tables;
- it is a title: the largest type on the first page, and its words recur on other pages or it begins a page of text.

So slogans, words scattered over a page, figures in large type and their captions, heads of columns, labels in tables
and emphasised sentences are no headings.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from ingest.readers.pdf.bookmarks import Bookmark
from ingest.readers.pdf.candidates import Below, Candidate, Look, PageLines, Prominence
from ingest.readers.pdf.lines import Line

_DEEPEST = 6
_FEW_PAGES = 3  # of a short document: a look need not recur
_ESTABLISHED = 3  # pages: a look that recurs on as many proves headings without text below, as above a chart
_TITLE = 0.8  # of the size of a first page's largest title: its other parts
_RECURS = 2  # other pages that have the words of a title
_COVER = 0.5  # of the characters of most pages: a first page with fewer is a cover
_LONG_INTRODUCTION = 40  # characters: a longer text that ends with a colon introduces, and names no section
_ASCENDING = 0.6  # of the numbers of a name; some sections count anew
_FEWEST_NUMBERS = 3
_NAMED = re.compile(r"^(?P<name>[^\W\d_]{2,12})\.? (?P<number>\d{1,3})(?!\d)")

# Shares of a look's candidates above text or tables, and of its lines that are candidates. Weaker looks need more.
_ABOVE_TEXT = {Prominence.SLIGHT: 0.6, Prominence.BOLD: 0.4, Prominence.LARGE: 0.4}
_CANDIDATES = {Prominence.SLIGHT: 0.5, Prominence.BOLD: 0.4, Prominence.LARGE: 0.4}


class Heading(NamedTuple):
    """Lines [start, end) are a heading of this level."""

    start: int
    end: int
    level: int


def find_headings(
    lines: Sequence[Line], elsewhere: Sequence[tuple[int, int]], bookmarks: Sequence[Bookmark] = ()
) -> list[Heading]:
    """Return the headings in order. Lines in the spans ``elsewhere`` belong to tables and lists of contents."""
    if not lines:
        return []
    evidence = _Evidence(PageLines(lines, elsewhere), bookmarks)
    chosen = [candidate for candidate in evidence.page_lines.candidates if evidence.is_heading(candidate)]
    is_short = len(evidence.page_lines.pages) <= _FEW_PAGES
    levels = _levels(chosen, evidence.listed, () if is_short else evidence.titles)
    return [Heading(candidate.start, candidate.end, levels[candidate.start]) for candidate in chosen]


class _Evidence:
    """What proves the headings of one document. Candidates are known by the index of their first line."""

    def __init__(self, page_lines: PageLines, bookmarks: Sequence[Bookmark]) -> None:
        self.page_lines = page_lines
        candidates = page_lines.candidates
        self._below = {candidate.start: page_lines.below(candidate) for candidate in candidates}
        self._by_look: dict[Look, list[Candidate]] = defaultdict(list)
        for candidate in candidates:
            self._by_look[candidate.look].append(candidate)
        self._proven = self._proven_looks()
        self._numbered = _ascending(candidates)
        self.listed = _listed(candidates, bookmarks)
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
        """Return whether a candidate of a proven look is used like a heading."""
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
        """Return whether its page uses the look mostly for lines that are not above text."""
        same = [other for other in self._by_look[candidate.look] if other.page == candidate.page]
        return 2 * sum(self._is_above_text(other) for other in same) < len(same)

    def _is_above_text(self, candidate: Candidate) -> bool:
        return self._below[candidate.start] >= Below.TABLE

    def _proven_looks(self) -> dict[Look, int]:
        """Return the looks that prove headings, each with the number of pages on which it is above text."""
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
        """Return the title of the document on its first page, which may have several parts."""
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


def _ascending(candidates: Sequence[Candidate]) -> set[int]:
    """Return the candidates with a name and a number, such as "Note 10", if the numbers of that name ascend."""
    named: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for candidate in candidates:
        if found := _NAMED.match(candidate.text):
            named[found["name"].casefold()].append((int(found["number"]), candidate.start))
    ascending: set[int] = set()
    for found_numbers in named.values():
        numbers = [number for number, _ in found_numbers]
        rising = sum(one <= other for one, other in pairwise(numbers))
        if len(set(numbers)) >= _FEWEST_NUMBERS and rising >= _ASCENDING * (len(numbers) - 1):
            ascending.update(start for _, start in found_numbers)
    return ascending


def _listed(candidates: Sequence[Candidate], bookmarks: Sequence[Bookmark]) -> dict[int, int]:
    """Return the levels of the candidates that the outline lists on their page."""
    levels = {(bookmark.page, "".join(_words(bookmark.title))): bookmark.level for bookmark in bookmarks}
    keys = ((candidate.start, (candidate.page, "".join(_words(candidate.text)))) for candidate in candidates)
    return {start: levels[key] for start, key in keys if key in levels}


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _levels(chosen: Sequence[Candidate], listed: Mapping[int, int], titles: Collection[int]) -> dict[int, int]:
    """Return the level of each heading: that of the outline, otherwise by its look, the most prominent first.

    Looks that the outline does not list are below those that it lists. A look of nothing but ``titles`` is the deepest
    level: the title of a long document is not above all its sections, as it may be a slogan.
    """
    outer: dict[Look, list[int]] = defaultdict(list)
    for candidate in chosen:
        if candidate.start in listed:
            outer[candidate.look].append(listed[candidate.start])
    inner = {candidate.look: candidate.prominence for candidate in chosen if candidate.start not in titles}
    ranked = sorted(
        (look for look in inner if look not in outer), key=lambda look: (-inner[look], -look.size, not look.style.bold)
    )
    deepest = max(listed.values(), default=0)
    levels = {look: deepest + rank for rank, look in enumerate(ranked, start=1)}
    levels |= {look: round(median(found)) for look, found in outer.items()}
    return {
        candidate.start: min(listed.get(candidate.start, levels.get(candidate.look, _DEEPEST)), _DEEPEST)
        for candidate in chosen
    }
