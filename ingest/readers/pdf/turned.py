"""Puts the lines of a turned page into reading order. PDFium returns some of them upside down, and cells as lines."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from ingest.readers.pdf.words import ON_ONE_LINE, Word, overlaps

_DOWNWARDS = 0.6  # share of the lines of a turned page that are below the line before, if they are in order


def from_top_to_bottom(found: Sequence[list[tuple[int, Word]]]) -> list[list[tuple[int, Word]]]:
    """Return the lines in reading order. Lines that already run from top to bottom keep their order: columns may."""
    tops = [max(word.top for _, word in line) for line in found]
    steps = [later < earlier for earlier, later in pairwise(tops)]
    if not steps or sum(steps) >= _DOWNWARDS * len(steps):
        return [_from_left(line) for line in found]
    rows: list[list[tuple[int, Word]]] = []
    for word in sorted((word for line in found for word in line), key=lambda word: -word[1].top):
        row = next((row for row in reversed(rows[-2:]) if overlaps(row[0][1], word[1], ON_ONE_LINE)), None)
        if row is None:
            rows.append([word])
        else:
            row.append(word)
    return [_from_left(row) for row in rows]


def _from_left(line: list[tuple[int, Word]]) -> list[tuple[int, Word]]:
    """Return the words of a line from left to right, or as they are in a script that runs from right to left."""
    directions = Counter(unicodedata.bidirectional(character) for _, word in line for character in word.text)
    if directions["R"] + directions["AL"] > directions["L"]:
        return line
    return sorted(line, key=lambda word: word[1].x0)
