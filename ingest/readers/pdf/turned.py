"""Puts lines that a PDF stores out of order into reading order: those of turned pages, and titles stored last."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from math import inf
from operator import itemgetter

from ingest.readers.pdf.words import ON_ONE_LINE, Word, overlaps

_FOOTER_LINES = 3
_FOOTER_GAP = 1.5  # line heights: minimum space above a footer

_Stored = list[tuple[int, Word]]
_Box = tuple[float, float, float]
_top = itemgetter(2)


def from_top_to_bottom(found: Sequence[_Stored]) -> list[_Stored]:
    """Return the lines of a rotated page in reading order. PDFium returns some of them from bottom to top.

    A line goes before the last one if nothing is between and below it. Other lines that stand higher than the last one
    begin a column.
    """
    boxes = [_box([word for _, word in line]) for line in found]
    by_top = sorted(boxes, key=_top)
    runs: list[list[int]] = []
    for place in range(len(found)):
        if runs and _is_next_above(by_top, boxes[place], boxes[place - 1]):
            runs[-1].insert(0, place)
        else:
            runs.append([place])
    ordered: list[_Stored] = []
    for line in (_from_left(found[place]) for run in runs for place in run):
        last = ordered[-1] if ordered else []
        if last and line[0][1].x0 >= last[-1][1].x1 and overlaps(last[0][1], line[0][1], ON_ONE_LINE):
            ordered[-1] = last + line
        else:
            ordered.append(line)
    return ordered


def with_titles_first(found: Sequence[_Stored]) -> list[_Stored]:
    """Return the lines with each one at the beginning that stands above all lines before it.

    Some programs write the title of a page after its table. Further lines of a title follow it, from top to bottom. A
    line beside the highest one begins a column, and stays.
    """
    titles: list[_Stored] = []
    body: list[_Stored] = []
    last: _Stored = []  # if it was moved
    edge, highest = (inf, inf, 0.0), 0.0  # of the highest line that stays, and of all lines
    for line in found:
        words = [word for _, word in line]
        box, foot = _box(words), min(word.bottom for word in words)
        is_over = box[0] < edge[1] and box[1] > edge[0] and foot >= edge[2]
        follows = bool(last) and not overlaps(last[0][1], line[0][1], ON_ONE_LINE)
        last = line if is_over and (follows or foot >= highest) else []
        if last:
            insort(titles, line, key=lambda each: -_box([word for _, word in each])[2])
        else:
            body.append(line)
            edge = max(edge, box, key=_top)
        highest = max(highest, box[2])
    return titles + body


def with_footers_last(found: Sequence[_Stored]) -> list[_Stored]:
    """Return the lines with those at the foot of the page at the end. Some programs write them before the text."""
    edges = [(min(word.bottom for _, word in line), max(word.top for _, word in line)) for line in found]
    from_foot = sorted(range(len(found)), key=lambda place: edges[place])
    for count in range(1, min(_FOOTER_LINES + 1, len(found))):
        foot, rest = from_foot[:count], from_foot[count:]
        top, height = max(edges[place][1] for place in foot), max(edges[place][1] - edges[place][0] for place in foot)
        if min(edges[place][0] for place in rest) - top > _FOOTER_GAP * height:
            return [found[place] for place in (*sorted(rest), *sorted(foot))]
    return list(found)


def _box(words: Sequence[Word]) -> _Box:
    """Return where a line begins and ends, and its upper edge."""
    return min(word.x0 for word in words), max(word.x1 for word in words), max(word.top for word in words)


def _is_next_above(by_top: Sequence[_Box], line: _Box, other: _Box) -> bool:
    """Return whether a line is the next one above the other."""
    if line[2] <= other[2]:
        return False
    between = slice(bisect_right(by_top, other[2], key=_top), bisect_right(by_top, line[2], key=_top))
    above = (each for each in by_top[between] if each[0] < other[1] and each[1] > other[0])
    return list(islice(above, 2)) == [line]


def _from_left(line: _Stored) -> _Stored:
    """Return the words of a line from left to right, or as they are in a script that runs from right to left."""
    directions = Counter(unicodedata.bidirectional(character) for _, word in line for character in word.text)
    if directions["R"] + directions["AL"] > directions["L"]:
        return line
    return sorted(line, key=lambda word: word[1].x0)
