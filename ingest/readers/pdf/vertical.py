"""Finds columns of vertical Japanese or Chinese text and puts them into reading order.

PDFium returns such columns from left to right, or each character as a line, depending on what else the page holds.
Columns are read from right to left, one tier of them after another. Each becomes a line, as if the page were turned, so
that type sizes and the spaces between lines mean what they mean on other pages.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise
from math import inf
from statistics import median
from typing import NamedTuple

from ingest.readers.pdf.tables.stored import Stored
from ingest.readers.pdf.words import Word

_FIRST_WIDE = "\u1100"
_PROOF = 3  # minimum characters of a column that proves vertical text
_NOTE = 5  # minimum wide characters of a column beside text in lines
_RATIO, _SHARE = 1 / 3, 0.5  # minimum share of wide characters on a page, and of those in such columns among them
# In sizes of a character:
_ASIDE, _SPACE = 0.3, 0.4  # maximum distance of the middles of two characters of a column, and space between them
_SIGN_ASIDE, _SIGN_SPACE = 0.7, 1.2  # the same for signs, digits and turned letters
_BLANK, _TURNED_BLANK = 0.8, 0.15  # the space of a blank, also between turned letters
_TIERS = 2.1  # distance of a character from the end of the tier above
_SMALLER, _BESIDE = 0.62, 0.5  # size and distance of a character that tells how its neighbour is read
_TIER, _COLUMNS, _HEADS = 6, 3, 20  # height of a column that proves a tier, columns of a tier, most lines above boxes


class Glyph(NamedTuple):
    """A character with its PDFium index and its extents."""

    place: int
    text: str
    size: float
    middle: float
    bottom: float
    top: float

    @property
    def centre(self) -> float:
        return (self.bottom + self.top) / 2

    @property
    def is_wide(self) -> bool:
        """Whether it is a letter or number of a script that may be written in columns."""
        return _is_wide(self.text)


class Column(NamedTuple):
    """Characters below each other, with the extents of the column."""

    glyphs: Sequence[Glyph]
    size: float
    middle: float
    bottom: float
    top: float


class _Item(NamedTuple):
    """A line or a column with its extents."""

    words: Stored
    is_column: bool
    left: float
    right: float
    bottom: float
    top: float


def may_be_vertical(characters: Sequence[str]) -> bool:
    """Return whether enough characters of a page are wide ones."""
    if max(characters, default="") < _FIRST_WIDE:
        return False
    wide = [_is_wide(character) for character in characters if character.strip()]
    return sum(wide) >= max(_PROOF, _RATIO * len(wide))


def find_columns(glyphs: Sequence[Glyph]) -> list[Column]:
    """Return the columns of a page. If most text is in lines, return only long columns. Glyphs are in PDF order."""
    runs: list[list[Glyph]] = []
    for glyph in glyphs:
        if runs and _continues(runs[-1], glyph):
            runs[-1].append(glyph)
        else:
            runs.append([glyph])
    runs = [run for run in runs if len(run) > 1 and any(glyph.is_wide for glyph in run)]
    proven = sum(glyph.is_wide for run in runs if len(run) >= _PROOF for glyph in run)
    if proven < _SHARE * sum(glyph.is_wide for glyph in glyphs):
        runs = [run for run in runs if sum(glyph.is_wide for glyph in run) >= _NOTE]
    return _joined(runs, glyphs)


def find_readings(glyphs: Iterable[Glyph], columns: Sequence[Column]) -> set[int]:
    """Return the places of furigana: small kana to the right of columns that show the pronunciation."""
    largest = max((column.size for column in columns), default=0)
    small = (glyph for glyph in glyphs if "\u3041" <= glyph.text <= "\u30ff" and glyph.size <= _SMALLER * largest)
    return {
        glyph.place
        for glyph in small
        if any(glyph.size <= _SMALLER * each.size and _is_near(each, glyph, _BESIDE, 1, _BESIDE) for each in columns)
    }


def as_word(column: Column) -> tuple[int, Word]:
    """Return the column as one word, with the index of its first character. Punctuation gets its horizontal forms."""
    glyphs = _from_top(column)
    text = glyphs[0].text
    between = [last.bottom - glyph.top for last, glyph in pairwise(glyphs) if _are_letters(last, glyph)]
    closest = (
        max(min(between, default=0), 0) / column.size
    )  # letters below each other are further apart than turned ones
    for last, glyph in pairwise(glyphs):
        blank = _BLANK if last.is_wide else closest + _TURNED_BLANK if _are_letters(last, glyph) else _SIGN_SPACE
        text += " " * (last.bottom - glyph.top >= blank * column.size) + glyph.text
    text = "".join(unicodedata.normalize("NFKC", each) if "︐" <= each <= "﹈" else each for each in text)
    left = column.middle - column.size / 2
    return glyphs[0].place, Word(text, left, left + column.size, column.bottom, column.top)


def _are_letters(*glyphs: Glyph) -> bool:
    return all(glyph.text.isalpha() and not glyph.is_wide for glyph in glyphs)


def with_columns(lines: Sequence[Stored], columns: Sequence[Stored]) -> list[Stored]:
    """Return the lines and the columns of a page in reading order, the columns turned into lines."""
    return _turned(_ordered([_item(words, words in columns) for words in (*columns, *lines)]))


def are_notes(lines: Sequence[Stored], columns: Sequence[Stored]) -> bool:
    """Return whether the columns are notes beside horizontal text, which then has more wide characters."""
    in_lines, in_columns = (
        sum(_is_wide(each) for words in part for _, word in words for each in word.text) for part in (lines, columns)
    )
    return in_columns < _SHARE * (in_lines + in_columns)


def below(lines: Sequence[Stored], columns: Sequence[Stored]) -> list[Stored]:
    """Return vertical notes as lines below the text of the page."""
    found = with_columns([], columns)
    floor = min(word.bottom for words in lines for _, word in words)
    _, first = found[0][0]
    down = floor - 2 * (first.top - first.bottom) - first.top
    moved = ((index, replace(word, bottom=word.bottom + down, top=word.top + down)) for ((index, word),) in found)
    return [[each] for each in moved]


@lru_cache(maxsize=5000)  # characters repeat
def _is_wide(character: str) -> bool:
    if character < _FIRST_WIDE:
        return False
    return unicodedata.east_asian_width(character) in "WF" and unicodedata.category(character)[0] in "LN"


def _continues(run: Sequence[Glyph], glyph: Glyph) -> bool:
    """Return whether the character stands below the last one of the run."""
    last, wide = run[-1], next((each for each in reversed(run) if each.is_wide), None)
    middle = wide.middle if wide else sum(each.middle for each in run) / len(run)
    size = max((wide or last).size, glyph.size if glyph.is_wide else 0)
    aside, space = abs(glyph.middle - middle) / size, (last.bottom - glyph.top) / size
    if last.is_wide and glyph.is_wide:
        return aside < _ASIDE and -_ASIDE < space < _SPACE
    return aside < (_ASIDE if glyph.is_wide else _SIGN_ASIDE) and -_SIGN_SPACE < space < _SIGN_SPACE


def _column(glyphs: Sequence[Glyph]) -> Column:
    wide = [glyph for glyph in glyphs if glyph.is_wide]
    size, middle = median(glyph.size for glyph in wide), median(glyph.middle for glyph in wide)
    return Column(glyphs, size, middle, min(glyph.bottom for glyph in glyphs), max(glyph.top for glyph in glyphs))


def _joined(runs: Sequence[Sequence[Glyph]], glyphs: Sequence[Glyph]) -> list[Column]:
    """Join runs below each other, and add the signs and digits that stand in columns but are stored elsewhere."""
    taken = {glyph.place for run in runs for glyph in run}
    columns: list[Column] = []
    for run in sorted(runs, key=lambda run: -run[0].top):
        first = next(glyph for glyph in run if glyph.is_wide)._replace(bottom=run[0].bottom, top=run[0].top)
        _add(run, [_is_near(each, first, -_ASIDE, _ASIDE, _TIERS) for each in columns], columns)
    others = (glyph for glyph in glyphs if glyph.place not in taken)
    for glyph in sorted(others, key=lambda glyph: glyph.centre):
        aside = _ASIDE if glyph.is_wide else _SIGN_ASIDE
        if any(near := [_is_near(each, glyph, -aside, aside, _BLANK) for each in columns]):
            _add([glyph], near, columns)
    return columns


def _add(glyphs: Sequence[Glyph], near: Sequence[bool], columns: list[Column]) -> None:
    """Add characters to the first column that is near, or as a column of their own."""
    if any(near):
        at = near.index(True)
        columns[at] = _column([*columns[at].glyphs, *glyphs])
    else:
        columns.append(_column(glyphs))


def _is_near(column: Column, glyph: Glyph, left: float, right: float, reach: float) -> bool:
    """Return whether the character is within this distance of a column, beside it or near one of its ends."""
    more = reach * column.size
    is_beside = column.bottom - more < glyph.centre < column.top + more
    return is_beside and left < (glyph.middle - column.middle) / column.size < right


def _from_top(column: Column) -> list[Glyph]:
    """Return the characters from top to bottom; digits beside each other from left to right."""
    rows: list[list[Glyph]] = []
    for glyph in sorted(column.glyphs, key=lambda glyph: -glyph.centre):
        if rows and rows[-1][0].centre - glyph.centre < column.size / 4:
            rows[-1].append(glyph)
        else:
            rows.append([glyph])
    return [glyph for row in rows for glyph in sorted(row, key=lambda glyph: glyph.middle)]


def _item(words: Stored, is_column: bool) -> _Item:
    """Return a line or column. A line of one wide character is a column: the end of a sentence may stand alone."""
    found = [word for _, word in words]
    is_single = len(found) == 1 and len(found[0].text) == 1 and _is_wide(found[0].text)
    left, bottom = min(word.x0 for word in found), min(word.bottom for word in found)
    right, top = max(word.x1 for word in found), max(word.top for word in found)
    return _Item(words, is_column or is_single, left, right, bottom, top)


def _ordered(items: Sequence[_Item]) -> list[_Item]:
    """Return columns from right to left, tier after tier, and lines as they are. One beside two tiers comes first."""
    if not any(item.is_column for item in items):
        return sorted(items, key=lambda item: item.words[0][0])
    from_top = sorted(items, key=lambda item: -item.top)
    heads = range(min(next(at for at, item in enumerate(from_top) if item.is_column), _HEADS))
    width, start = max(((_sides(from_top[start:])[0], -start) for start in heads), default=(0, 0))
    if width > 0:
        _, right, left = _sides(from_top[-start:])
        return [*from_top[:-start], *_ordered(right), *_ordered(left)]
    from_right = sorted(items, key=lambda item: (-round(item.left), -item.top))
    for start in range(len(items)):
        for above, below in _tiers(from_right[start:]):
            return [*from_right[:start], *_ordered(above), *_ordered(below)]
    return from_right


def _sides(items: Sequence[_Item]) -> tuple[float, list[_Item], list[_Item]]:
    """Return the widest empty band and the items on its sides. It is 0 if no line stands above the columns of each."""
    from_right = sorted(items, key=lambda item: -item.right)
    edges = accumulate((item.left for item in from_right), min)
    gaps = [left - item.right for left, item in zip(edges, from_right[1:], strict=False)]
    at = max(range(len(gaps)), key=gaps.__getitem__, default=-1) + 1
    right, left = from_right[:at], from_right[at:]
    return gaps[at - 1] if _is_headed(right) and _is_headed(left) else 0, right, left


def _is_headed(side: Sequence[_Item]) -> bool:
    return any(item.is_column for item in side) and not max(side, key=lambda item: item.top).is_column


def _tiers(items: Sequence[_Item]) -> Iterable[tuple[list[_Item], list[_Item]]]:
    """Yield the items above and below each empty band that separates tiers, or a line from columns."""
    ordered, bottom = sorted(items, key=lambda item: -item.top), inf
    for at, item in enumerate(ordered):
        if item.top <= bottom < inf:
            above, below = ordered[:at], ordered[at:]
            lowest = min(above, key=lambda each: each.bottom)
            if item.is_column != lowest.is_column or (item.is_column and _are_tiers(above, below)):
                yield [each for each in items if each in above], [each for each in items if each in below]
        bottom = min(bottom, item.bottom)


def _are_tiers(*groups: Sequence[_Item]) -> bool:
    """Return whether two groups are tiers. Short columns below each other may be parts of one."""
    is_high = [any(each.top - each.bottom >= _TIER * _width(each) for each in group) for group in groups]
    return max(map(len, groups)) >= _COLUMNS and all(is_high)


def _width(item: _Item) -> float:
    return item.words[0][1].x1 - item.left if item.is_column else inf


def _turned(items: Sequence[_Item]) -> list[Stored]:
    """Return the words of the items. Columns that follow each other become lines directly below each other."""
    found: list[Stored] = []
    left = bottom = inf
    for item in items:
        if not item.is_column:
            found.append(item.words)
            left = inf
            continue
        left, top = (item.left, item.top) if left == inf else (left, bottom)
        index, word = item.words[0]
        bottom = top - _width(item)
        found.append([(index, Word(word.text, left, left + item.top - item.bottom, bottom, top))])
    return found
