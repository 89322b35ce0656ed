"""Finds print that runs in other directions: slanted column heads, and labels in the margins of a page."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from math import cos, pi, sin

import pypdfium2.raw as pdfium
from pypdfium2 import PdfTextPage

from ingest.readers.pdf.drawing import Rule
from ingest.readers.pdf.words import Found, Word

_SLANT = 0.25  # minimum sine of the angle: 15 degrees
_UPRIGHT = 0.99  # minimum sine of sideways print
_BLANK = 0.15  # of its size: minimum gap between words
_HEADS = 3  # minimum heads whose lower ends are at one height
_LETTERS = 3  # minimum letters of a label that is written downwards
_ASIDE, _SPACE = 0.3, 0.5  # of their height: maximum distance of their middles, and space between two of them
_APART = 2.0  # of their width: space of a blank between them
_PITCH = 1.35  # of a head's size: maximum distance of its lines
_LEVEL = 0.5  # of a head's size: maximum distance of these heights


def with_level_heads(text_page: PdfTextPage, words: Sequence[Found]) -> Iterator[Found]:
    """Yield the words of an upright page, with each slanted head as one word where its lower end is."""
    parts: list[list[Found]] = []
    heads: dict[int, Word] = {}
    for found in words:
        is_slanted = abs(sin(pdfium.FPDFText_GetCharAngle(text_page, found[0]))) > _SLANT
        if is_slanted and len(parts) - 1 in heads and _continues(text_page, parts[-1][-1], found[0]):
            parts[-1].append(found)
        else:
            parts.append([found])
        if is_slanted:
            heads[len(parts) - 1] = _level(text_page, parts[-1])
    for at, part in enumerate(parts):
        head = heads.get(at)
        if (
            head
            and sum(abs(head.bottom - each.bottom) < _LEVEL * (head.top - head.bottom) for each in heads.values())
            >= _HEADS
        ):
            yield part[0][0], head, part[-1][2]
        else:
            yield from part


def take_margins(text_page: PdfTextPage, words: list[Found], turn: int) -> list[list[tuple[int, Word]]]:
    """Remove sideways lines beside the text of a page from its words, and return them.

    Beside a rotated table, these are the header and the footer of the page.
    """
    if not _has_sideways(words):
        return []
    sides = [_side(text_page, index, turn) for index, _, _ in words]
    upright = [word for (_, word, _), side in zip(words, sides, strict=True) if not side and word.text]
    found = sorted(
        (
            (side, side * (word.x0 + word.x1) / 2, side * word.middle[1], index, word)
            for (index, word, _), side in zip(words, sides, strict=True)
            if side and word.text and not any(word.x0 < each.x1 and each.x0 < word.x1 for each in upright)
        ),
        key=lambda each: (each[0], round(each[1]), each[2]),
    )
    taken = {each[3] for each in found}
    words[:] = [each for each in words if each[0] not in taken]
    floor = min((word.bottom for word in upright), default=0)
    lines = [[each[3:] for each in line] for _, line in groupby(found, key=lambda each: (each[0], round(each[1])))]
    return [[(line[0][0], _laid(line, floor))] for line in lines]


def with_laid_heads(text_page: PdfTextPage, words: list[Found], turn: int, rules: Sequence[Rule]) -> list[Found]:
    """Return the words with each sideways head as one upright word at its lower end. Its lines may be in any order."""
    if not _has_sideways(words):
        return words
    sides = [_side(text_page, index, turn) if word.text else 0 for index, word, _ in words]
    heads: dict[int, Word] = {}
    for side in {*sides} - {0}:
        own = [(place, word) for place, (_, word, _) in enumerate(words) if sides[place] == side]
        for head in _heads(_sideways_lines(own, side), side, rules):
            heads[min(place for line in head for place, _ in line)] = _laid_head(head)
    return [
        (index, heads.get(place, word), place in heads or ends)
        for place, (index, word, ends) in enumerate(words)
        if place in heads or not sides[place]
    ]


_Sideways = list[tuple[int, Word]]
"""Words of a sideways line with their places, in reading order."""


def _has_sideways(words: Sequence[Found]) -> bool:
    return any(word.top - word.bottom > 2 * (word.x1 - word.x0) for _, word, _ in words if len(word.text) > 2)


def _sideways_lines(words: Sequence[tuple[int, Word]], side: int) -> list[_Sideways]:
    """Return the sideways lines in reading order. Words far from each other belong to different lines."""
    lines: list[_Sideways] = []
    for each in sorted(words, key=lambda each: (side * each[1].middle[0], side * each[1].middle[1])):
        line = next((line for line in lines if _is_on_line(line[-1][1], each[1])), None)
        if line is None:
            lines.append([each])
        else:
            line.append(each)
    ordered = [sorted(line, key=lambda each: side * each[1].middle[1]) for line in lines]
    return [part for line in ordered for part in _without_wide_gaps(line)]


def _is_on_line(last: Word, word: Word) -> bool:
    return abs(last.middle[0] - word.middle[0]) < _ASIDE * (word.x1 - word.x0)


def _without_wide_gaps(line: _Sideways) -> Iterator[_Sideways]:
    start = 0
    for at, ((_, last), (_, word)) in enumerate(pairwise(line), start=1):
        if max(word.bottom - last.top, last.bottom - word.top) > _APART * (word.x1 - word.x0):
            yield line[start:at]
            start = at
    yield line[start:]


def _heads(lines: Sequence[_Sideways], side: int, rules: Sequence[Rule]) -> list[list[_Sideways]]:
    """Return the lines of each head: close to each other, with no drawn line between them."""
    heads: list[list[_Sideways]] = []
    for line in lines:
        head = next((head for head in heads if _continues_head(head[-1], line, side, rules)), None)
        if head is None:
            heads.append([line])
        else:
            head.append(line)
    return heads


def _continues_head(last: _Sideways, line: _Sideways, side: int, rules: Sequence[Rule]) -> bool:
    above, below = ([word for _, word in each] for each in (last, line))
    bottom = max(min(word.bottom for word in each) for each in (above, below))
    top = min(max(word.top for word in each) for each in (above, below))
    left, right = sorted((above[0].middle[0], below[0].middle[0]))
    size = below[0].x1 - below[0].x0
    is_ruled = any(left < x < right and start < top and end > bottom for x, start, end in rules)
    return 0 < side * (below[0].middle[0] - above[0].middle[0]) < _PITCH * size and top > bottom and not is_ruled


def _laid_head(head: Sequence[_Sideways]) -> Word:
    words = [word for line in head for _, word in line]
    bottom, size = min(word.bottom for word in words), words[0].x1 - words[0].x0
    text = " ".join(_laid(line, bottom).text for line in head)
    return Word(text, min(word.x0 for word in words), max(word.x1 for word in words), bottom, bottom + size)


def take_stacks(words: list[Found]) -> list[list[tuple[int, Word]]]:
    """Take labels out of the words of a page whose letters stand upright below each other, beside the text."""
    runs: list[list[Found]] = []
    for found in words:
        if not runs or not _is_below(runs[-1][-1][1], found[1]):
            runs.append([])
        runs[-1].append(found)
    stacks = [run for run in runs if len(run) >= _LETTERS and _is_beside_text(run, words)]
    words[:] = [each for each in words if not any(each in run for run in stacks)]
    floor = min((word.bottom for _, word, _ in words), default=0)
    return [[(run[0][0], _laid([each[:2] for each in run], floor, _APART))] for run in stacks]


def _is_below(last: Word, word: Word) -> bool:
    """Return whether a letter stands closely below the last one."""
    height = last.top - last.bottom
    is_close = abs(word.middle[0] - last.middle[0]) < _ASIDE * height and abs(last.bottom - word.top) < _SPACE * height
    return len(last.text) == len(word.text) == 1 and is_close


def _is_beside_text(run: Sequence[Found], words: Sequence[Found]) -> bool:
    """Return whether a run stands apart. A column of a table has a neighbour in each row."""
    others = [each[1] for each in words if each[1].text and each not in run]
    left, right = min(word.x0 for _, word, _ in run), max(word.x1 for _, word, _ in run)
    has_neighbours = (
        any(abs(word.middle[1] - each.middle[1]) < _LEVEL / 2 * (word.top - word.bottom) for each in others)
        for _, word, _ in run
    )
    return not any(each.x0 < right and left < each.x1 for each in others) and not all(has_neighbours)


def _laid(line: Sequence[tuple[int, Word]], floor: float, blank: float = _BLANK) -> Word:
    """Return a sideways line as one word below the text of the page. Its parts may be single characters."""
    text, size = line[0][1].text, line[0][1].x1 - line[0][1].x0
    for (_, last), (_, word) in pairwise(line):
        gap = max(word.bottom - last.top, last.bottom - word.top)
        text += f"{' ' * (gap > blank * size)}{word.text}"
    return Word(text, line[0][1].x0, line[0][1].x1, floor - 3 * size, floor - 2 * size)


def _side(text_page: PdfTextPage, index: int, turn: int) -> int:
    """Return 1 for print that runs upwards on the turned page, -1 for print that runs downwards, 0 for others."""
    angle = sin(pdfium.FPDFText_GetCharAngle(text_page, index) + turn * pi / 2)
    return -round(angle) if abs(angle) > _UPRIGHT else 0  # PDFium measures clockwise


def _continues(text_page: PdfTextPage, last: Found, index: int) -> bool:
    """Return whether a word stands in the line of the last one: heads may follow each other without a line end."""
    angle = pdfium.FPDFText_GetCharAngle(text_page, index)
    (x0, y0), (x1, y1) = (_origin(text_page, each) for each in (last[0], index))
    aside = abs((x1 - x0) * sin(angle) + (y1 - y0) * cos(angle))  # PDFium measures clockwise
    return not last[2] and aside < _LEVEL * pdfium.FPDFText_GetFontSize(text_page, index)


def _origin(text_page: PdfTextPage, index: int) -> tuple[float, float]:
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text_page, index, x, y)
    return x.value, y.value


def _level(text_page: PdfTextPage, head: Sequence[Found]) -> Word:
    """Return the head as a narrow upright word at the lower of its two ends."""
    places = (head[0][0], head[-1][0] + len(head[-1][1].text) - 1)
    boxes = (text_page.get_charbox(index, loose=True) for index in places)
    bottom, middle = min((bottom, (left + right) / 2) for left, bottom, right, _ in boxes)
    half = pdfium.FPDFText_GetFontSize(text_page, head[0][0]) / 2
    return Word(" ".join(word.text for _, word, _ in head), middle - half, middle + half, bottom, bottom + 2 * half)
