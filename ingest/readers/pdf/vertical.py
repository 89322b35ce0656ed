"""Finds vertical columns of text, as Japanese and Chinese books have them, and puts them into reading order.

PDFium returns such columns from left to right, or each character as a line, depending on what else the page holds.
Columns are read from right to left, one tier of them after another. Each becomes a line, as if the page were turned, so
that type sizes and the spaces between lines mean what they mean on other pages.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from ingest.readers.pdf.tables.stored import Stored
from ingest.readers.pdf.words import Word

_FIRST_WIDE = "\u1100"
_PROOF = 3  # minimum characters of a column that proves vertical text
_SHARE = 0.5  # minimum share of such columns in the characters of a page with vertical text
_RATIO = 1 / 3  # minimum share of wide characters on such a page
# In sizes of a character:
_ASIDE = 0.3  # maximum distance of the middles of two wide characters of one column
_SPACE = 0.4  # maximum space between them; the cells of a table have more
_SIGN_ASIDE, _SIGN_SPACE = 0.7, 1.2  # the same for signs, digits and turned letters
_BLANK, _TURNED_BLANK = 0.8, 0.15  # the space of a blank, also between turned letters
_APART = 1.6  # the space between two tiers
_SMALLER, _BESIDE = 0.62, 0.5  # size of a character that tells how its neighbour is read, and how far it is beside it
_TIER = 6  # height of a column that proves a tier
_COLUMNS = 3  # minimum columns of a tier


class Glyph(NamedTuple):
    """A character with its PDFium index and its box."""

    place: int
    text: str
    left: float
    bottom: float
    right: float
    top: float

    def squared(self) -> Glyph:
        """Return a character of full width as high as it is wide. The heights of fonts are of all sorts."""
        if unicodedata.east_asian_width(self.text) not in "WF":
            return self
        half = (self.right - self.left) / 2
        return self._replace(bottom=self.centre - half, top=self.centre + half)

    @property
    def size(self) -> float:
        return max(self.right - self.left, self.top - self.bottom)

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    @property
    def centre(self) -> float:
        return (self.bottom + self.top) / 2

    @property
    def is_wide(self) -> bool:
        return is_wide(self.text)


@dataclass(frozen=True, slots=True)
class Column:
    """Characters below each other."""

    glyphs: tuple[Glyph, ...]
    size: float
    middle: float
    bottom: float
    top: float


@dataclass(frozen=True, slots=True)
class _Item:
    """A column or a line of other text, with its extents."""

    words: Stored
    column: Column | None
    left: float
    right: float
    bottom: float
    top: float


def is_wide(character: str) -> bool:
    """Return whether the character is a letter or number of a script that may be written in columns."""
    if character < _FIRST_WIDE:
        return False
    return unicodedata.east_asian_width(character) in "WF" and unicodedata.category(character)[0] in "LN"


def may_be_vertical(characters: Iterable[str]) -> bool:
    """Return whether enough characters of a page are wide ones."""
    wide = [is_wide(character) for character in characters if character.strip()]
    return sum(wide) >= max(_PROOF, _RATIO * len(wide))


def find_columns(glyphs: Sequence[Glyph]) -> list[Column]:
    """Return the columns of a page, or none if most of its text is in lines. Glyphs are in the order of the PDF."""
    runs = [run for run in _runs(glyphs) if len(run) > 1 and any(glyph.is_wide for glyph in run)]
    if sum(len(run) for run in runs if len(run) >= _PROOF) < _SHARE * len(glyphs):
        return []
    columns: list[Column] = []
    for run in sorted(map(_column, runs), key=lambda run: -run.top):
        at = next((at for at, each in enumerate(columns) if _is_above(each, run)), None)
        if at is None:
            columns.append(run)
        else:
            columns[at] = _column([*columns[at].glyphs, *run.glyphs])
    taken = {glyph.place for column in columns for glyph in column.glyphs}
    return _with_others(columns, [glyph for glyph in glyphs if glyph.place not in taken])


def find_readings(glyphs: Iterable[Glyph], columns: Sequence[Column]) -> set[int]:
    """Return the indexes of the small kana to the right of columns, which tell how their characters are read."""
    largest = max((column.size for column in columns), default=0)
    small = (glyph for glyph in glyphs if glyph.size <= _SMALLER * largest and _is_kana(glyph.text))
    return {glyph.place for glyph in small if any(_reads(glyph, column) for column in columns)}


def write_column(column: Column) -> str:
    """Return the text of a column, with the forms that signs have in lines."""
    glyphs = _in_order(column)
    text = glyphs[0].text
    for last, glyph in pairwise(glyphs):
        text += " " * (last.bottom - glyph.top >= _blank(last, glyph) * column.size) + glyph.text
    return "".join(unicodedata.normalize("NFKC", each) if "︐" <= each <= "﹈" else each for each in text)


def _blank(last: Glyph, glyph: Glyph) -> float:
    """Return the smallest space of a blank between two characters, in sizes of a wide character."""
    if last.is_wide:
        return _BLANK
    return _TURNED_BLANK if last.text.isalpha() and glyph.text.isalpha() and not glyph.is_wide else _SIGN_SPACE


def as_word(column: Column) -> tuple[int, Word]:
    """Return the column as one word, with the index of its first character."""
    left, right = column.middle - column.size / 2, column.middle + column.size / 2
    return _in_order(column)[0].place, Word(write_column(column), left, right, column.bottom, column.top)


def with_columns(lines: Sequence[Stored], columns: Sequence[Column]) -> list[Stored]:
    """Return the lines and the columns of a page in reading order, the columns turned into lines."""
    items = [_item(column, [as_word(column)]) for column in columns]
    items += [_item(_single(line), line) for line in lines]
    return _turned(_ordered(items))


def _runs(glyphs: Iterable[Glyph]) -> Iterator[list[Glyph]]:
    """Yield runs of characters of which each stands below the one before."""
    run: list[Glyph] = []
    for glyph in glyphs:
        if run and not _continues(run, glyph):
            yield run
            run = []
        run.append(glyph)
    if run:
        yield run


def _continues(run: Sequence[Glyph], glyph: Glyph) -> bool:
    last, wide = run[-1], next((each for each in reversed(run) if each.is_wide), None)
    middle = wide.middle if wide else sum(each.middle for each in run) / len(run)
    size = max((wide or last).size, glyph.size if glyph.is_wide else 0)
    aside, space = abs(glyph.middle - middle) / size, (last.bottom - glyph.top) / size
    if last.is_wide and glyph.is_wide:
        return aside < _ASIDE and -_ASIDE < space < _SPACE
    return aside < (_ASIDE if glyph.is_wide else _SIGN_ASIDE) and -_SIGN_SPACE < space < _SIGN_SPACE


def _column(glyphs: Sequence[Glyph]) -> Column:
    wide = [glyph for glyph in glyphs if glyph.is_wide]
    return Column(
        tuple(glyphs),
        median(glyph.size for glyph in wide),
        median(glyph.middle for glyph in wide),
        min(glyph.bottom for glyph in glyphs),
        max(glyph.top for glyph in glyphs),
    )


def _is_above(column: Column, run: Column) -> bool:
    size = max(column.size, run.size)
    return abs(column.middle - run.middle) < _ASIDE * size and column.bottom - run.top < _APART * size


def _with_others(columns: Sequence[Column], others: Iterable[Glyph]) -> list[Column]:
    """Return the columns with the signs and digits that stand in them or above them but are stored elsewhere."""
    whole = list(columns)
    for glyph in sorted(others, key=lambda glyph: glyph.centre):
        at = next((at for at, column in enumerate(whole) if _stands_in(glyph, column)), None)
        if at is not None:
            whole[at] = _column([*whole[at].glyphs, glyph])
    return whole


def _stands_in(glyph: Glyph, column: Column) -> bool:
    aside, reach = abs(glyph.middle - column.middle) / column.size, _BLANK * column.size
    is_beside = aside < (_ASIDE if glyph.is_wide else _SIGN_ASIDE)
    return is_beside and column.bottom - reach < glyph.centre < column.top + reach


def _is_kana(text: str) -> bool:
    return "\u3041" <= text <= "\u30ff"


def _reads(glyph: Glyph, column: Column) -> bool:
    aside, reach = (glyph.middle - column.middle) / column.size, _BESIDE * column.size
    is_beside = _BESIDE < aside < 1 and column.bottom - reach < glyph.centre < column.top + reach
    return is_beside and glyph.size <= _SMALLER * column.size


def _in_order(column: Column) -> list[Glyph]:
    """Return the characters from top to bottom; digits beside each other from left to right."""
    rows: list[list[Glyph]] = []
    for glyph in sorted(column.glyphs, key=lambda glyph: -glyph.centre):
        if rows and rows[-1][0].centre - glyph.centre < column.size / 4:
            rows[-1].append(glyph)
        else:
            rows.append([glyph])
    return [glyph for row in rows for glyph in sorted(row, key=lambda glyph: glyph.left)]


def _single(line: Stored) -> Column | None:
    """Return a line of one wide character as a column: the end of a sentence may stand alone in one."""
    (index, word), *others = line
    if others or len(word.text) > 1 or not is_wide(word.text):
        return None
    return _column([Glyph(index, word.text, word.x0, word.bottom, word.x1, word.top)])


def _item(column: Column | None, words: Stored) -> _Item:
    found = [word for _, word in words]
    left, right = min(word.x0 for word in found), max(word.x1 for word in found)
    return _Item(words, column, left, right, min(word.bottom for word in found), max(word.top for word in found))


def _ordered(items: Sequence[_Item]) -> list[_Item]:
    """Return the items from right to left, tier after tier. A column beside two tiers comes before both."""
    if not any(item.column for item in items):
        return list(items)
    tiers = _tiers(items)
    if len(tiers) > 1:
        return [item for tier in tiers for item in _ordered(tier)]
    from_right = sorted(items, key=lambda item: (-round(item.left), -item.top))
    for start in range(1, len(from_right)):
        if len(_tiers(from_right[start:])) > 1:
            return from_right[:start] + _ordered(from_right[start:])
    return from_right


def _tiers(items: Sequence[_Item]) -> list[list[_Item]]:
    """Return groups of items with an empty band between them, from top to bottom. The items keep their order."""
    groups: list[list[int]] = []
    bottom = 0.0
    for at in sorted(range(len(items)), key=lambda at: -items[at].top):
        if groups and items[at].top > bottom:
            groups[-1].append(at)
            bottom = min(bottom, items[at].bottom)
        else:
            groups.append([at])
            bottom = items[at].bottom
    tiers: list[list[_Item]] = []
    for group in groups:
        tier = [items[at] for at in sorted(group)]
        if tiers and not _is_tier(tiers[-1], tier):
            tiers[-1] += tier
        else:
            tiers.append(tier)
    return tiers


def _is_tier(above: Sequence[_Item], below: Sequence[_Item]) -> bool:
    """Return whether two groups are read one after the other. Short columns below each other may be one column."""
    columns = [[item.column for item in group if item.column] for group in (above, below)]
    if not all(len(found) == len(group) for found, group in zip(columns, (above, below), strict=True)):
        return True
    return max(map(len, columns)) >= _COLUMNS and all(
        any(column.top - column.bottom >= _TIER * column.size for column in found) for found in columns
    )


def _turned(items: Sequence[_Item]) -> list[Stored]:
    """Return the words of the items. Columns that follow each other become lines directly below each other."""
    found: list[Stored] = []
    left, bottom, last = 0.0, 0.0, None
    for item in items:
        if item.column is None:
            found.append(item.words)
        else:
            left, top = (item.left, item.top) if last is None else (left, bottom)
            bottom = top - item.column.size
            index, word = item.words[0]
            found.append([(index, Word(word.text, left, left + item.top - item.bottom, bottom, top))])
        last = item.column
    return found
