"""Removes repeated text that would interrupt the text of a PDF: page headers, footers, numbers and watermarks.

Watermarks are rotated, large or light text at the same position on many pages. The others are at the top or bottom of
their page, separate from the body, and repeat from page to page except for the page number. One occurrence of each
stays, so no word is lost.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from ingest.readers.pdf.lines import Line, joined

_EDGE_ROWS = 4  # at the top and at the bottom of a page
_APART = 0.75  # in line heights: the space to the body
# Minimum pages with a header or watermark; in documents of fewer than five pages, half of the pages, but at least two.
_MIN_PAGES = 3
_SHARE, _ENOUGH_PAGES = 0.1, 8  # of a document's pages; 8 are enough in any document, for headers of chapters
_DENSITY = 1 / 3  # of the pages from the first occurrence to the last: fewer repeat by chance
_FEW_HEIGHTS = 10  # of a line, between two lines that are not the header and the footer of a page
_NUMBER = re.compile(r"\d{1,5}")
_AT_AN_END = re.compile(r"^\d+\s*|\s*\d+$")
_MARKED = 0.5  # minimum share of the pages with a watermark
_SAME_PLACE = 5.0  # points: grid on which positions are compared
_LARGE = 1.5  # ratio to the usual type size above which type is large
_LIGHT = 0.6  # share of the brightness of white above which type is light


@dataclass(frozen=True, slots=True, order=True)
class _Position:
    """Position of a line: the index of its page, and its index on that page."""

    page: int
    line: int


@dataclass(frozen=True, slots=True)
class _Key:
    """What a page header has in common on different pages: its edge and its text.

    For a line with a page number, ``text`` is the text before and after the number.
    """

    at_top: bool
    text: tuple[str, ...]


def without_page_headers(pages: Sequence[Sequence[Line]]) -> list[Line]:
    """Return all lines except page headers, page footers and page numbers.

    The first occurrence of a header and the last of a footer stay: there they are before and after the text they belong
    to, and not inside a table or a sentence that continues after a page break.
    """
    removed: set[_Position] = set()
    repeated: dict[_Key, list[_Position]] = {}
    counted: dict[_Key, list[tuple[int, _Position]]] = {}
    numbered: dict[tuple[bool, int], list[_Position]] = {}
    for page, lines in enumerate(pages):
        for at_top in (True, False):
            for index in _edge(lines, at_top=at_top):
                position, text = _Position(page, index), lines[index].text
                repeated.setdefault(_Key(at_top, (text,)), []).append(position)
                for number, around in _numbers(text):
                    counted.setdefault(_Key(at_top, around), []).append((number, position))
                    if not all(around):
                        numbered.setdefault((at_top, number - page), []).append(position)
    fewest = min(_MIN_PAGES, max(2, (len(pages) + 1) // 2))
    enough = max(fewest, min(round(_SHARE * len(pages)), _ENOUGH_PAGES))
    if len(pages) == 2:  # two pages may be the same form
        repeated.clear()
    runs = [(key, positions) for key, positions in repeated.items() if _repeat(positions, enough)]
    runs += [(key, run) for key, numbers in counted.items() for run in _counting_runs(numbers, fewest)]
    removed.update(position for key, positions in runs for position in _except_one(key, positions))
    for positions in numbered.values():
        if _repeat(positions, enough):
            removed.update(_repeated_elsewhere(positions, pages, removed))
    removed.update(list(_close_to_the_body(pages, removed)))
    alike = removed.union(*(positions for _, positions in runs))
    for page, lines in enumerate(pages):
        whole = {_Position(page, index) for index in range(len(lines))}
        if lines and whole <= alike and _has_text(lines):
            removed -= whole
    return [
        line
        for page, lines in enumerate(pages)
        for index, line in enumerate(lines)
        if _Position(page, index) not in removed
    ]


def _has_text(lines: Sequence[Line]) -> bool:
    """Return whether a page has more lines than a header and a footer, as a certificate or an invoice of many has."""
    heights = (max(line.top for line in lines) - min(line.bottom for line in lines)) / max(lines[0].height, 1.0)
    return len(lines) > 2 or (len(lines) == 2 and heights < _FEW_HEIGHTS)


def _edge(lines: Sequence[Line], *, at_top: bool) -> list[int]:
    """Return the indexes of the lines at the top or bottom that are separate from the body, outermost first."""
    inwards = sorted(range(len(lines)), key=lambda index: -lines[index].top if at_top else lines[index].bottom)
    rows = 1
    edge = 0
    for position, (outer, inner) in enumerate(pairwise(inwards), start=1):
        space = max(lines[outer].bottom - lines[inner].top, lines[inner].bottom - lines[outer].top)
        rows += space > -0.5 * lines[inner].height
        if rows > _EDGE_ROWS + 1:
            break
        if space >= _APART * max(lines[inner].height, 1.0):
            edge = position
    return inwards[:edge]


def _close_to_the_body(pages: Sequence[Sequence[Line]], removed: Collection[_Position]) -> Iterator[_Position]:
    """Yield the outermost lines that are not separate, but headers, footers or page numbers of earlier pages."""
    seen: dict[object, list[int]] = defaultdict(list)
    for at in sorted(removed):
        for mark in _common(pages[at.page][at.line].text, at.page):
            seen[mark].append(at.page)
    for (page, lines), at_top in product(enumerate(pages), (True, False)):
        if lines and not _edge(lines, at_top=at_top):
            index = (max if at_top else min)(range(len(lines)), key=lambda at: lines[at].top)
            before = (seen[mark] for mark in _common(lines[index].text, page))
            if any(len(found) >= _MIN_PAGES and found[0] < page for found in before):
                yield _Position(page, index)


def _common(text: str, page: int) -> Iterator[object]:
    """Yield what a header has in common on all pages: its text, or the text around the number of its page."""
    yield text
    yield from ((number - page, around) for number, around in _numbers(text))


def _numbers(text: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield every number that may be a page number, with the text before and after it."""
    for number in _NUMBER.finditer(text):
        yield int(number[0]), (text[: number.start()], text[number.end() :])


def _repeat(positions: Sequence[_Position], enough: int) -> bool:
    """Return whether a text repeated at these positions is a page header or footer."""
    pages = {position.page for position in positions}
    return len(pages) >= enough and len(pages) >= _DENSITY * (positions[-1].page - positions[0].page + 1)


def _counting_runs(numbers: Sequence[tuple[int, _Position]], fewest: int) -> Iterator[list[_Position]]:
    """Yield runs of positions whose numbers increase by at least one, and by no more than the page index does."""
    run: list[tuple[int, _Position]] = []
    for number, position in numbers:
        if run and not 1 <= number - run[-1][0] <= position.page - run[-1][1].page:
            if len(run) >= fewest:
                yield [position for _, position in run]
            run = []
        run.append((number, position))
    if len(run) >= fewest:
        yield [position for _, position in run]


def _repeated_elsewhere(
    positions: Sequence[_Position], pages: Sequence[Sequence[Line]], removed: Collection[_Position]
) -> Iterator[_Position]:
    """Yield the lines with a page number whose names (of a chapter or section) also occur elsewhere in the text."""
    numbered = {*positions, *removed}
    seen = {
        joined(cell)
        for page, lines in enumerate(pages)
        for index, line in enumerate(lines)
        if _Position(page, index) not in numbered
        for cell in (*line.cells, line.words)
    }
    for position in positions:
        if position in removed:
            continue
        names = {_AT_AN_END.sub("", joined(cell)) for cell in pages[position.page][position.line].cells} - {""}
        if names <= seen:
            yield position
        seen |= names


def _except_one(key: _Key, positions: Sequence[_Position]) -> Sequence[_Position]:
    """Return all positions except the one that keeps the text. A line without letters is not kept at all."""
    if not any(character.isalpha() for text in key.text for character in text):
        return positions
    return positions[1:] if key.at_top else positions[:-1]


_Mark = tuple[str, int, int]
"""The text of a line and its position on the grid."""


def without_watermarks(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return the lines without watermarks. The first occurrence of each watermark is kept, so that no word is lost."""
    sizes = Counter(round(line.size) for lines in pages for line in lines)
    usual = sizes.most_common(1)[0][0] if sizes else 1
    marks = Counter(mark for lines in pages for mark in {_mark(line) for line in lines if _stands_out(line, usual)})
    repeated = {mark for mark, count in marks.items() if count >= max(_MIN_PAGES, _MARKED * len(pages))}
    if not repeated:
        return [list(lines) for lines in pages]
    seen: set[_Mark] = set()
    kept: list[list[Line]] = []
    for lines in pages:
        found = {_mark(line) for line in lines} & repeated
        kept.append([line for line in lines if _mark(line) not in found & seen])
        seen |= found
    return kept


def _mark(line: Line) -> _Mark:
    """Return the text and the position of the line."""
    return line.text, round(line.words[0].x0 / _SAME_PLACE), round(line.bottom / _SAME_PLACE)


def _stands_out(line: Line, usual: float) -> bool:
    """Return whether the line is rotated, large or light."""
    is_light = sum(line.style.colour) > _LIGHT * 3 * 255
    return not line.style.upright or line.size > _LARGE * usual or is_light
