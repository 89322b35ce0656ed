"""Leaves out the running headers, footers and page numbers of a PDF, which would stand in the middle of its text.

They are told by what makes them: they stand at the top or bottom of their page, apart from what is between, and say the
same on page after page, but for the number that counts the pages. Of each one occurrence stays, so no word is lost.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ingest.readers.pdf.lines import Line, joined

_EDGE_ROWS = 4  # at the top and at the bottom of a page
_APART = 0.75  # in line heights: the space to the body
_FEWEST_PAGES = 3  # in documents of five and more; half of the pages in shorter ones, but two at least
_SHARE, _ENOUGH_PAGES = 0.1, 8  # of a document's pages; this many are enough in any, for the headers of chapters
_DENSITY = 1 / 3  # of the pages from the first occurrence to the last: less is chance
_NUMBER = re.compile(r"\d{1,5}")
_AT_AN_END = re.compile(r"^\d+\s*|\s*\d+$")


@dataclass(frozen=True, slots=True)
class _Place:
    """A line: the index of its page and its index among the lines there."""

    page: int
    line: int


@dataclass(frozen=True, slots=True)
class _Key:
    """What running lines of different pages have in common: where they stand and what they say.

    Of a line that counts, ``text`` is what stands before and after the number.
    """

    at_top: bool
    text: tuple[str, ...]


def without_page_headers(pages: Sequence[Sequence[Line]]) -> list[Line]:
    """All lines but the running ones: page numbers go; of words the first at the top and the last at the bottom stay.

    There they stand before and after what they belong to, and not in a table or a sentence over a page break.
    """
    left_out: set[_Place] = set()
    said: dict[_Key, list[_Place]] = {}
    counted: dict[_Key, list[tuple[int, _Place]]] = {}
    numbered: dict[tuple[bool, int], list[_Place]] = {}
    for page, lines in enumerate(pages):
        for at_top in (True, False):
            for index in _edge(lines, at_top=at_top):
                place, text = _Place(page, index), lines[index].text
                said.setdefault(_Key(at_top, (text,)), []).append(place)
                for number, around in _numbers(text):
                    counted.setdefault(_Key(at_top, around), []).append((number, place))
                    if not all(around):
                        numbered.setdefault((at_top, number - page), []).append(place)
    fewest = min(_FEWEST_PAGES, max(2, (len(pages) + 1) // 2))
    enough = max(fewest, min(round(_SHARE * len(pages)), _ENOUGH_PAGES))
    if len(pages) == 2:  # which may be alike since they are the same form twice
        said.clear()
    for key, places in said.items():
        if _repeat(places, enough):
            left_out.update(_but_one(key, places))
    for key, numbers in counted.items():
        for places in _counting_runs(numbers, fewest):
            left_out.update(_but_one(key, places))
    for places in numbered.values():
        if _repeat(places, enough):
            left_out.update(_said_elsewhere(places, pages, left_out))
    return [
        line
        for page, lines in enumerate(pages)
        for index, line in enumerate(lines)
        if _Place(page, index) not in left_out
    ]


def _edge(lines: Sequence[Line], *, at_top: bool) -> list[int]:
    """The lines at the top or bottom of a page that stand apart from its body, the outermost first."""
    inwards = sorted(range(len(lines)), key=lambda index: -lines[index].top if at_top else lines[index].bottom)
    rows = 1
    edge = 0
    for position, (outer, inner) in enumerate(pairwise(inwards), start=1):
        space = _space(lines[outer], lines[inner])
        rows += space > -0.5 * lines[inner].height
        if rows > _EDGE_ROWS + 1:
            break
        if space >= _APART * max(lines[inner].height, 1.0):
            edge = position
    return inwards[:edge]


def _space(one: Line, other: Line) -> float:
    """The space between two lines; negative where they stand beside each other."""
    return max(one.bottom - other.top, other.bottom - one.top)


def _numbers(text: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """Every number that may count pages, with what stands around it."""
    for number in _NUMBER.finditer(text):
        yield int(number[0]), (text[: number.start()], text[number.end() :])


def _repeat(places: Sequence[_Place], enough: int) -> bool:
    """Whether a line that says the same at these places is a running one."""
    pages = {place.page for place in places}
    return len(pages) >= enough and len(pages) >= _DENSITY * (places[-1].page - places[0].page + 1)


def _counting_runs(numbers: Sequence[tuple[int, _Place]], fewest: int) -> Iterator[list[_Place]]:
    """Runs of places whose numbers count: from one to the next by at least one, and by no more than the pages do."""
    run: list[tuple[int, _Place]] = []
    for number, place in numbers:
        if run and not 1 <= number - run[-1][0] <= place.page - run[-1][1].page:
            if len(run) >= fewest:
                yield [place for _, place in run]
            run = []
        run.append((number, place))
    if len(run) >= fewest:
        yield [place for _, place in run]


def _said_elsewhere(
    places: Sequence[_Place], pages: Sequence[Sequence[Line]], left_out: Collection[_Place]
) -> Iterator[_Place]:
    """Those lines with a page's number of which all names, of a chapter or of what is on the page, stand elsewhere."""
    numbered = {*places, *left_out}
    said = {
        joined(cell)
        for page, lines in enumerate(pages)
        for index, line in enumerate(lines)
        if _Place(page, index) not in numbered
        for cell in (*line.cells, line.words)
    }
    for place in places:
        if place in left_out:
            continue
        names = {_AT_AN_END.sub("", joined(cell)) for cell in pages[place.page][place.line].cells} - {""}
        if names <= said:
            yield place
        said |= names


def _but_one(key: _Key, places: Sequence[_Place]) -> Sequence[_Place]:
    """All places but the one that keeps what the line says; all of a line that is nothing but a number."""
    if not any(character.isalpha() for text in key.text for character in text):
        return places
    return places[1:] if key.at_top else places[:-1]
