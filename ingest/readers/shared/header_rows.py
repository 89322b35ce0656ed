"""Finds the header rows of a table and merges them into one row.

For example, a table prints ``Three Months Ended`` once, centred above two columns with a year each. The merged header
repeats it for each column, so that a reader needs only the header and one row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

Row = Sequence[str]

_UNIT = r"(?:%|[kKMBTx]|bn|mn|bps|pp)?"
_NOTE = r"(?:\^[\w*†‡]+|\[\w+\])?"
_FIGURE = re.compile(rf"^[(+\-–−—]?[$€£¥₹]? ?[(+\-–−—]?\d[\d.,:\u00a0\u202f ]*{_UNIT}\)?{_NOTE}$|^[$€£¥₹]? ?[-–—]$")
_YEAR = re.compile(r"^(?:19|20)\d\d$")
_COUNTED = re.compile(r"^[$€£¥₹(]*\d")  # also matches "11.3 years"
_LABELS = 3  # maximum consecutive lines of labels without heads inside a header


def is_header(row: Row) -> bool:
    """Return whether the row can be a header: no cell after the first is a figure. Years are not figures."""
    return not any(is_figure(cell) for cell in row[1:])


def header_height(rows: Sequence[Row], known: int = 0) -> int:
    """Return the number of header rows, of which the first ``known`` are given.

    A table without figures has at most one header row. At most one header row has both a label and heads; the next such
    row is a row of the table. Rows with only a label belong to the header if heads are below them.
    """
    if known < 2 and (not rows or not is_header(rows[0])):
        return 0
    if not holds_figures(rows):
        return 1
    height, named = known, any(row[0] and any(row[1:]) for row in rows[:known])
    for index, row in enumerate(rows[known:], start=known):
        if not any(row[1:]):
            if index - height >= _LABELS:
                break
            continue
        if not is_header(row) or (row[0] and (named or (height and not _names_columns(row)))):
            break
        height, named = index + 1, named or bool(row[0])
    return height


def heads_words(rows: Sequence[Row]) -> bool:
    """Return whether the figures of the first row are heads, such as versions: no column has a figure below them."""
    return len(rows) > 2 and not any(is_figure(cell) for row in rows[1:] for cell in row[1:])


def merged_height(rows: Sequence[Row]) -> int:
    """Return the number of header rows of a table whose merged cells are repeated in each column and row.

    More than one only if a head is repeated over adjacent columns, because then the row below tells them apart. It
    needs no figures below if it repeats the first label.
    """
    first = rows[0]
    if not any(left and left == right for left, right in pairwise(first[1:])):
        return 1
    below = [("" if row[:1] == first[:1] else row[0], *row[1:]) for row in rows[1:]]
    labelled = len(rows) > 2 and bool(first[0]) and rows[1][0] == first[0]
    return max(header_height([first, *below]), 2 if labelled else 1)


def is_title(rows: Sequence[Row]) -> bool:
    """Return whether the first row is only a title over all columns: one text, above a header."""
    title, *others = rows[0]
    if len(rows) < 3 or len(others) < 2 or not title or set(others) not in ({""}, {title}):
        return False
    return is_header(rows[1]) and sum(map(bool, rows[1])) > 1 and len(set(rows[1])) > 2


def fill_heads(rows: Sequence[list[str]]) -> Sequence[list[str]]:
    """Return the rows with each head repeated over its columns, if the row below has heads and no label."""
    first, below = rows[0], rows[1] if len(rows) > 2 else [""]
    if below[0] or not (all(first[:2]) and all(below[1:]) and is_header(below)) or all(first):
        return rows
    filled = [next(filter(None, reversed(first[: at + 1]))) for at in range(len(first))]
    return [filled, [first[0], *below[1:]], *rows[2:]]


def record_starts(rows: Sequence[Row]) -> list[int]:
    """Return where the records of a list of names and values begin: the rows with its first label.

    A list of records repeats its first two labels. All other tables are one record.
    """
    labels = [row[0].strip().casefold() for row in rows if sum(map(bool, row)) <= 2]
    if len(labels) < len(rows) or len(labels) < 2 or labels[0] == labels[1] or "" in labels[:2]:
        return [0] if rows else []
    starts = [index for index, label in enumerate(labels) if label == labels[0]]
    return starts if labels.count(labels[1]) > 1 and len(starts) > 1 else [0]


def _names_columns(row: Row) -> bool:
    """Return whether a row with a label belongs to the header above it, such as a unit followed by years."""
    return any(row[1:]) and is_header(row) and not any(_COUNTED.match(cell) and not _is_year(cell) for cell in row[1:])


def merge_headers(header: Sequence[Row]) -> list[str]:
    """Merge the header rows: join the cells of each column from top to bottom, without repeated text."""
    return [" ".join(dict.fromkeys(cell for cell in column if cell)) for column in zip(*header, strict=True)]


def is_figure(cell: str) -> bool:
    """Return whether the cell is a figure or a dash. A year is not a figure."""
    return bool(_FIGURE.match(cell)) and not _is_year(cell)


def _is_year(cell: str) -> bool:
    return bool(_YEAR.match(cell))


def holds_figures(rows: Sequence[Row]) -> bool:
    """Return whether most cells except labels are figures, starting at the first row with a figure."""
    first = next((index for index, row in enumerate(rows) if any(map(is_figure, row[1:]))), len(rows))
    values = [cell for row in rows[first:] for cell in row[1:] if cell]
    return 2 * sum(map(is_figure, values)) > len(values)
