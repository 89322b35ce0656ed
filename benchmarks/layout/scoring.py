"""Score the output of a library against the gold data."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from benchmarks.formats import order_kept, word_recall, words_of
from benchmarks.layout.gold import Cell, Page
from benchmarks.layout.reading import Reading, Row, Table, Text

_WORD = re.compile(r"\w+")
_NO_VALUE = re.compile(r"[\s$€£¥₹%]+")
_DASHES = re.compile(r"[‐-―−]")
_FIGURE = re.compile(r"^[(+-]?[\d.,]+\)?$")
_NOTHING = re.compile(r"^[-.]*$")
_YEAR = re.compile(r"^(?:19|20)\d\d$")
_FOOTNOTE = re.compile(r"\(\d\)")
_NUMBERING = re.compile(r"^(?:note\s+)?(?:\(?\d+(?:\.\d+)*[.):]*|\(?[a-z][.)]:?)\s+", re.IGNORECASE)
_PARTS = 3  # gold headings per heading block at most: title, subtitle and unit


@dataclass(frozen=True, slots=True)
class CellResult:
    """The scores of a cell: label and value in one row, innermost head above the value, all heads above the value."""

    cell: Cell
    in_row: bool
    under_head: bool
    under_all_heads: bool
    read: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageResult:
    """The scores of a page: gold headings found and missed, number of right heading blocks, and wrong ones."""

    page: Page
    found: tuple[str, ...]
    missed: tuple[str, ...]
    right: int
    wrong: tuple[str, ...]
    taken: tuple[str, ...]
    """The entries of ``not_headings`` that a wrong heading block contains."""


@dataclass(frozen=True, slots=True)
class WordResult:
    """The share of a page's words that were read, and the share of those that are in order. None for too few words."""

    words: float | None
    order: float | None


def score_words(recognised: str, read: str) -> WordResult:
    """Compare the text of a page with the text that was recognised on its picture."""
    reference, found = words_of(recognised), words_of(read)
    return WordResult(word_recall(reference, found), order_kept(reference, found))


def score_cell(cell: Cell, reading: Reading) -> CellResult:
    """Score the best match of the cell in the tables of its page."""
    matches = list(_matches(cell, reading.tables or ()))
    heads = [[_has_words(head, column) for head in cell.columns] for column in matches]
    under_head = any(not found or found[-1] for found in heads)
    return CellResult(
        cell,
        in_row=bool(matches),
        under_head=under_head,
        under_all_heads=any(all(found) for found in heads),
        read=() if under_head else tuple(_read_instead(cell, reading)),
    )


def _matches(cell: Cell, tables: Sequence[Table]) -> Iterator[str]:
    """Yield the text above each cell with the value, in rows with the label."""
    for table in tables:
        for index, row in enumerate(table):
            if row.page == cell.page and _squeezed(cell.row) in _squeezed(row.text):
                for column, text in enumerate(row.cells):
                    if _value(text) == _value(cell.value):
                        yield _head(table[:index], column)


def _head(above: Sequence[Row], column: int) -> str:
    """Return the text of the cells above a cell in its column, without figures."""
    cells = (row.cells[column] for row in above if column < len(row.cells))
    return " ".join(cell for cell in cells if not _is_figure(cell))


def _is_figure(text: str) -> bool:
    """Return whether a cell is a figure, a dash or empty. Years do not count as figures, because they are heads."""
    plain = _plain(text)
    return bool(_NOTHING.match(plain) or _FIGURE.match(plain)) and not _YEAR.match(plain)


def _has_words(head: str, text: str) -> bool:
    return set(_words(head)) <= set(_words(text)) or _squeezed(head) in _squeezed(text)


def _read_instead(cell: Cell, reading: Reading) -> Iterator[str]:
    """Yield the parsed text around the cell: rows with its value or label, or other texts with the value."""
    rows = [(table, row) for table in reading.tables or () for row in table if row.page == cell.page]
    with_value = [(table, row) for table, row in rows if any(_value(text) == _value(cell.value) for text in row.cells)]
    for table, row in with_value[:2]:
        column = next(index for index, text in enumerate(row.cells) if _value(text) == _value(cell.value))
        yield f"value in the row {row.text[:120]!r} under {_head(table[: table.index(row)], column)[:80]!r}"
    if not with_value:
        yield from (f"value inside the row {row.cells!r}"[:240] for _, row in rows if cell.value in row.text)
        texts = (*(reading.headings or ()), *reading.others)
        yield from (
            f"value in {other.kind}: {other.text[:160]!r}"
            for other in texts
            if abs(other.page - cell.page) <= 1 and cell.value in other.text
        )
    if not any(_squeezed(cell.row) in _squeezed(row.text) for _, row in with_value):
        words = _squeezed(cell.row)
        yield from (f"label in the row {row.text[:120]!r}" for _, row in rows if words in _squeezed(row.text))


def score_page(page: Page, reading: Reading) -> PageResult:
    """Score the heading blocks of a page. A block may join a title with its subtitle."""
    blocks = [one.text for one in reading.headings or () if one.page == page.page]
    entries = (*page.headings, *page.optional)
    found: set[str] = set()
    right, wrong = 0, []
    for block in blocks:
        parts = _parts(block, entries)
        if not parts:
            wrong.append(block)
        gold = set(parts) & set(page.headings)
        right += bool(gold)
        found |= gold
    return PageResult(
        page,
        found=tuple(one for one in page.headings if one in found),
        missed=tuple(one for one in page.headings if one not in found),
        right=right,
        wrong=tuple(wrong),
        taken=tuple(one for one in page.not_headings if any(_contains(block, one) for block in wrong)),
    )


def kind_of(heading: str, page: int, texts: Sequence[Text], tables: Sequence[Table]) -> str:
    """Return the kind and the text of the block or table row with a missed heading."""
    wanted = _squeezed(heading)
    for text in texts:
        if abs(text.page - page) <= 1 and wanted in _squeezed(text.text):
            return f"{text.kind}: {text.text[:160]!r}"
    for table in tables:
        for row in table:
            if row.page == page and wanted in _squeezed(row.text):
                return f"row of a table: {row.cells!r}"[:160]
    return "not found in one block"


def _parts(block: str, entries: Sequence[str]) -> tuple[str, ...]:
    """Return the gold headings that make up the block. The result is empty if there are none."""
    wanted = {_squeezed(block), _heading(block)}
    near = [entry for entry in entries if _heading(entry) in _squeezed(block)]
    for count in range(1, _PARTS + 1):
        for some in permutations(near, count):
            plain = ("".join(map(_squeezed, some)), _heading(some[0]) + "".join(map(_squeezed, some[1:])))
            if wanted & set(plain):
                return some
    return ()


def _heading(text: str) -> str:
    """Return the heading without number and footnote marks, normalized for comparison."""
    return _squeezed(_NUMBERING.sub("", _FOOTNOTE.sub("", text)))


def _contains(block: str, text: str) -> bool:
    return f" {' '.join(_words(text))} " in f" {' '.join(_words(block))} "


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _squeezed(text: str) -> str:
    """Return only the letters and digits. The comparison ignores hyphens and spaces inside words."""
    return "".join(_words(text)).replace("_", "")


def _value(text: str) -> str:
    """Return the value, normalized for comparison.

    Figures lose currency sign, percent sign and closing bracket. Words lose punctuation.
    """
    plain = _plain(text)
    return plain.removesuffix(")") if _FIGURE.match(plain) else _squeezed(text)


def _plain(text: str) -> str:
    """Return the text without spaces, currency signs and percent signs."""
    return _NO_VALUE.sub("", _DASHES.sub("-", unicodedata.normalize("NFKC", text)))
