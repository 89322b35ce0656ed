"""Removes the watermarks of a PDF: rotated, large or light text at the same position on many pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ingest.readers.pdf.lines import Line

_MIN_PAGES = 3  # minimum pages with a watermark
_SHARE = 0.5  # minimum share of the pages with a watermark
_SAME_PLACE = 5.0  # points: grid on which positions are compared
_LARGE = 1.5  # ratio to the usual type size above which type is large
_LIGHT = 0.6  # share of the brightness of white above which type is light

_Mark = tuple[str, int, int]
"""The text of a line and its position on the grid."""


def without_watermarks(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return the lines of the pages without watermarks. Keeps the first occurrence of each, so no word is lost."""
    sizes = Counter(round(line.size) for lines in pages for line in lines)
    usual = sizes.most_common(1)[0][0] if sizes else 1
    marks = Counter(mark for lines in pages for mark in {_mark(line) for line in lines if _stands_out(line, usual)})
    repeated = {mark for mark, count in marks.items() if count >= max(_MIN_PAGES, _SHARE * len(pages))}
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
