"""Joins the lines of a PDF table that form one row because a label or a cell is wrapped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from ingest.readers.pdf.grids import join_wrapped
from ingest.readers.pdf.lines import Line
from ingest.readers.pdf.table_headers import is_figure

Band = tuple[float, float]

_WRAPPED_GAP = 0.75  # times the gap between rows: lines closer than this are one row
_SAME_PITCH = 1.3  # times the gap between rows: a label continues in lines no further apart
_OVERLAP = 0.3  # of their height: lines that overlap more are one row, for example values beside a label of two lines
_BORDER = 2  # points by which the borders of neighbouring cells may differ
_MIN_PITCH = 0.1  # in line heights


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


def gap(one: Line, other: Line) -> float:
    """Return the space between two lines in line heights; 0 if they are next to each other."""
    space = max(one.bottom - other.top, other.bottom - one.top, 0.0)
    return space / max(one.height, other.height, 1.0)


def near(line: Line, table: Sequence[Line], reach: float) -> bool:
    """Return whether the line is close to a line of the table, or in the ruled row above or below one."""
    if min(gap(line, other) for other in table) <= reach:
        return True
    edges = [edge for other in table if other.band for edge in other.band]
    return line.band is not None and any(abs(edge - own) <= _BORDER for edge in edges for own in line.band)


def overlap(one: Line, other: Line) -> float:
    """Return in which share of their height two lines overlap."""
    return (min(one.top, other.top) - max(one.bottom, other.bottom)) / max(min(one.height, other.height), 1.0)


def join_rows(lines: Sequence[Line], cells: Sequence[Sequence[str]], limit: float) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a table from its lines and their cells. ``limit`` is the right end of the label column."""
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


class _Layout:
    """How the rows of one table are separated: by space, or by drawn lines and shades."""

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
        """Bands between drawn lines with one label line: all other lines in them belong to its row."""
        self._wrapped = {band for band, count in labelled.items() if count > 1 and full[band] <= 1}
        """Bands with several label lines, at most one of them with values, if most bands are rows."""
        if 2 * len(self._single | self._wrapped) <= len(labelled):
            self._wrapped = set()

    def continues(self, row: _Part, members: Sequence[Line], part: _Part) -> bool:
        """Return whether ``part`` continues the row that consists of the lines ``members``."""
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
            return part.line.band not in self._single and distance < _WRAPPED_GAP
        if row.label.endswith(":") or (row.has_values and part.has_values):
            return False
        if part.label[0].islower():
            return distance < _SAME_PITCH
        return same_band and part.line.band in self._wrapped and not row.has_values and self._fills(row, part)

    def _is_own_row(self, row: _Part, part: _Part) -> bool:
        """Return whether a part without label is a row under the label above: two of its figures are below figures.

        Figures are not wrapped.
        """
        pairs = zip(row.cells[1:], part.cells[1:], strict=True)
        return not part.label and sum(is_figure(above) and is_figure(below) for above, below in pairs) > 1

    def _fills(self, row: _Part, part: _Part) -> bool:
        """Return whether the label had to be wrapped: the next line's first word does not fit on its line."""
        word = part.line.words[0]
        return row.line.words[-1].x1 + (word.x1 - word.x0) > self._limit
