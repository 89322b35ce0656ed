"""Joins the lines of a PDF table into rows. A wrapped label or cell makes a row several lines high."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from ingest.readers.pdf.lines import Line
from ingest.readers.shared.header_rows import is_figure

Band = tuple[float, float]
"""Bottom and top of a ruled row, in points."""

_WRAPPED_GAP = 0.75  # ratio to the gap between rows: lines with a smaller gap are one row
_SAME_PITCH = 1.3  # ratio to the gap between rows: maximum gap between the lines of a label
_OVERLAP = 0.3  # share of the height: lines that overlap more are one row, such as values beside a label of two lines
_BORDER = 2  # points: maximum difference between the borders of adjacent cells
_MIN_PITCH = 0.1  # line heights: minimum gap between rows for the ratios above


class _Part(NamedTuple):
    """A line of the table and its text in each column."""

    line: Line
    cells: Sequence[str]

    @property
    def label(self) -> str:
        return self.cells[0]

    @property
    def has_values(self) -> bool:
        return any(self.cells[1:])


def join_wrapped(above: str, below: str) -> str:
    """Join two lines of a cell, and the halves of a word divided between them."""
    if above.endswith("-") and below[:1].islower():
        return above[:-1] + below
    return f"{above} {below}".strip()


def gap(one: Line, other: Line) -> float:
    """Return the vertical space between two lines in line heights, or 0 if they overlap."""
    space = max(one.bottom - other.top, other.bottom - one.top, 0.0)
    return space / max(one.height, other.height, 1.0)


def near(line: Line, table: Sequence[Line], reach: float) -> bool:
    """Return whether the line is within ``reach`` of a line of the table, or in an adjacent ruled row."""
    if min(gap(line, other) for other in table) <= reach:
        return True
    edges = [edge for other in table if other.band for edge in other.band]
    return line.band is not None and any(abs(edge - own) <= _BORDER for edge in edges for own in line.band)


def overlap(one: Line, other: Line) -> float:
    """Return the vertical overlap of two lines as a share of the smaller height."""
    return (min(one.top, other.top) - max(one.bottom, other.bottom)) / max(min(one.height, other.height), 1.0)


def join_rows(lines: Sequence[Line], cells: Sequence[Sequence[str]], limit: float) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a table from its lines and their cells. ``limit`` is the right edge of the label column."""
    parts = [_Part(*part) for part in zip(lines, cells, strict=True)]
    layout = _Layout(parts, limit)
    rows: list[_Part] = []
    members: list[Line] = []
    for part in parts:
        if rows and layout.continues(rows[-1], members, part):
            rows[-1] = _Part(part.line, [join_wrapped(*pair) for pair in zip(rows[-1].cells, part.cells, strict=True)])
            members.append(part.line)
        else:
            rows.append(part)
            members = [part.line]
    return tuple(tuple(row.cells) for row in rows)


def _meet(one: Band, other: Band) -> bool:
    return one[0] < other[1] and other[0] < one[1]


class _Layout:
    """How one table separates its rows: by space, or by drawn lines and shading."""

    def __init__(self, parts: Sequence[_Part], limit: float) -> None:
        starts = [part.line for part in parts if part.label]
        self._pitch = max(median([gap(above, below) for above, below in pairwise(starts)] or [0.0]), _MIN_PITCH)
        self._limit = limit
        labelled: Counter[Band] = Counter()
        full: Counter[Band] = Counter()
        for part in parts:
            if part.line.band:
                labelled[part.line.band] += bool(part.label)
                full[part.line.band] += bool(part.label and part.has_values)
        self._single = {band for band, count in labelled.items() if count == 1}
        """Bands with one label line. All other lines in them belong to its row."""
        self._wrapped = {band for band, count in labelled.items() if count > 1 and full[band] <= 1}
        """Bands with several label lines, of which at most one has values. Empty unless most bands are rows."""
        if 2 * len(self._single | self._wrapped) <= len(labelled):
            self._wrapped = set()

    def continues(self, row: _Part, members: Sequence[Line], part: _Part) -> bool:
        """Return whether ``part`` continues ``row``, which consists of the lines ``members``."""
        overlaps = any(overlap(member, part.line) > _OVERLAP for member in members)
        if overlaps and row.has_values != part.has_values:
            return True
        if not overlaps and self._is_own_row(row, part):
            return False
        same_band = row.line.band == part.line.band
        if same_band and part.line.band in self._single:
            return True
        distance = min(gap(member, part.line) for member in members) / self._pitch
        if not part.label:
            own = part.line.band
            is_apart = own and all(each.band and not _meet(each.band, own) for each in members)
            return not is_apart and own not in self._single and distance < _WRAPPED_GAP
        if row.label.endswith(":") or (row.has_values and part.has_values):
            return False
        if part.label[0].islower():
            return distance < _SAME_PITCH
        return same_band and part.line.band in self._wrapped and not row.has_values and self._fills(row, part)

    def _is_own_row(self, row: _Part, part: _Part) -> bool:
        """Return whether a part without a label is a separate row: at least two of its figures are below figures.

        Figures never wrap.
        """
        pairs = zip(row.cells[1:], part.cells[1:], strict=True)
        return not part.label and sum(is_figure(above) and is_figure(below) for above, below in pairs) > 1

    def _fills(self, row: _Part, part: _Part) -> bool:
        """Return whether the label must wrap: the first word of the next line does not fit on its line."""
        word = part.line.words[0]
        return row.line.words[-1].x1 + (word.x1 - word.x0) > self._limit
