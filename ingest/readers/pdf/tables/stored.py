"""Puts the cells of a table into rows.

Some PDFs store a table by its columns, its labels before its figures, or each wrapped cell before the rest of its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from math import inf
from statistics import median

from ingest.readers.pdf.words import Word

Stored = list[tuple[int, Word]]
"""A line as the PDF stores it: its words, each with the index of its first character."""

_BELOW = 2.5  # line heights: maximum space between the lines of one block
_INDENT = 2.0  # line heights: maximum distance of the edges of such lines, unless one is centred
_EDGE = 0.3  # line heights: maximum distance of two edges of one column
_LARGER = 1.2  # ratio from which a line below is larger than the line above
_RUNNING = 7  # a line of running text has more words
_PROSE_WORDS = 4  # minimum words in the median line of prose
_FULL = 0.75  # share of the width of a block that a full line of prose has at least
_FULL_LINES = 0.6  # minimum share of full lines in prose
_SHORT = 2  # maximum words of a cell without a digit
_CELLS = 0.6  # minimum share of the lines of a block that are cells
_MATCHED = 0.7  # minimum share of lines with a line beside them
_BESIDE = 0.6  # minimum vertical overlap of two lines of one row, as a share of their height
_REACH = 60  # maximum blocks between two columns of a table; keeps pages of scattered words fast
_FIGURES = 3  # minimum rows of a table with figures
_WITHIN = 0.3  # line heights: maximum overlap of the lines of one cell
_MOST_LINES = 12  # maximum lines of a cell of text; more may be a column of the page
_MANY = 5  # minimum rows of a table without figures


def in_rows(lines: Sequence[Stored]) -> list[Stored]:
    """Return the lines with the cells of each table row in one line, from top to bottom.

    Only the lines of tables that are stored in another order are moved. Columns of running text keep their order.
    """
    found: list[Stored] = []
    blocks = _blocks(_by_cells([_measured(line) for line in lines]))
    at = 0
    while at < len(blocks):
        end = _region_end(blocks, at)
        members = [line for block in blocks[at:end] for line in block.lines]
        found += [line.words for line in members] if end == at + 1 else _rows(members)
        at = end
    return found


@dataclass(frozen=True, slots=True)
class _Line:
    words: Stored
    left: float
    right: float
    bottom: float
    top: float

    @property
    def height(self) -> float:
        return max(self.top - self.bottom, 1.0)


@dataclass(slots=True)
class _Block:
    """Lines directly below each other."""

    lines: list[_Line] = field(default_factory=list)

    @property
    def left(self) -> float:
        return min(line.left for line in self.lines)

    @property
    def right(self) -> float:
        return max(line.right for line in self.lines)

    @property
    def bottom(self) -> float:
        return min(line.bottom for line in self.lines)

    @property
    def top(self) -> float:
        return max(line.top for line in self.lines)


def _measured(words: Stored) -> _Line:
    return _Line(
        words,
        min(word.x0 for _, word in words),
        max(word.x1 for _, word in words),
        min(word.bottom for _, word in words),
        max(word.top for _, word in words),
    )


def _by_cells(lines: Sequence[_Line]) -> list[_Line]:
    """Return the lines with those of each row together whose cells are stored one after the other."""
    found: list[_Line] = []
    at = 0
    while at < len(lines):
        cells, end = _row_of_cells(lines, at)
        found += _joined(lines[at:end]) if _is_row(cells) else lines[at:end]
        at = end
    return found


def _joined(lines: Sequence[_Line]) -> Iterable[_Line]:
    """Return the lines as rows, unless two cells in a row are too close to be told apart."""
    rows = _in_rows(lines)
    pairs = (pair for row in rows for pair in pairwise(row))
    is_close = any(after.left - before.right < before.height for before, after in pairs)
    return lines if is_close else (_measured([word for line in row for word in line.words]) for row in rows)


def _row_of_cells(lines: Sequence[_Line], start: int) -> tuple[list[_Block], int]:
    """Return the cells of one row, from left to right, and the end of their lines."""
    cells, before = [_Block([lines[start]])], -inf
    for at, line in enumerate(lines[start + 1 :], start + 1):
        cell = cells[-1]
        above = cell.lines[-1]
        is_next = -_WITHIN * above.height < above.bottom - line.top < above.height
        if is_next and before <= line.left < cell.right and line.right > cell.left:
            if len(cell.lines) == _MOST_LINES:
                return cells[:1], at
            cell.lines.append(line)
        elif line.left >= max(cell.right, before) and _are_level(line, cells):
            before = max(cell.right, before)
            cells.append(_Block([line]))
        else:
            return cells, at
    return cells, len(lines)


def _are_level(line: _Line, cells: Sequence[_Block]) -> bool:
    return line.top > min(cell.bottom for cell in cells) and line.bottom < max(cell.top for cell in cells)


def _is_row(cells: Sequence[_Block]) -> bool:
    """Return whether the cells are a row of a table: at most one has long lines, and a line of the others has a gap."""
    texts = [cell for cell in cells if not all(map(_is_cell, cell.lines))]
    if len(cells) < 2 or len(texts) > 1:
        return False
    short = [line for cell in cells if cell not in texts for line in cell.lines]
    return any(map(_has_gap, (*(cell.lines[0] for cell in texts), *short)))


def _has_gap(line: _Line) -> bool:
    """Return whether the line has a gap as wide as between two cells."""
    return any(after.x0 - before.x1 > line.height for (_, before), (_, after) in pairwise(line.words))


def _blocks(lines: Sequence[_Line]) -> list[_Block]:
    blocks: list[_Block] = []
    for line in lines:
        if blocks and _is_below(blocks[-1].lines[-1], line):
            blocks[-1].lines.append(line)
        else:
            blocks.append(_Block([line]))
    return blocks


def _is_below(above: _Line, line: _Line) -> bool:
    if _is_running(above) != _is_running(line) or line.height > _LARGER * above.height:
        return False
    space = above.bottom - line.top
    height = max(above.height, line.height)
    if not -height / 2 < space < _BELOW * height or line.left >= above.right or above.left >= line.right:
        return False
    sides = abs(line.left - above.left), abs(line.right - above.right)
    is_centred = abs(line.left + line.right - above.left - above.right) < 2 * height
    return is_centred or min(sides) < _INDENT * height or _share_an_edge(above, line)


def _share_an_edge(above: _Line, line: _Line) -> bool:
    """Return whether a cell begins or ends at the same place in both lines."""
    slack = _EDGE * line.height
    pairs = product((word for _, word in above.words), (word for _, word in line.words))
    return any(abs(one.x0 - two.x0) < slack or abs(one.x1 - two.x1) < slack for one, two in pairs)


def _is_running(line: _Line) -> bool:
    """Return whether the line is running text."""
    return len(line.words) > _RUNNING and not _is_cell(line)


def _region_end(blocks: Sequence[_Block], start: int) -> int:
    """Return the end of the blocks from ``start`` that are columns of one table."""
    if _is_prose(blocks[start]):
        return start + 1
    end, columns = start + 1, 1
    left, bottom = blocks[start].left, blocks[start].bottom
    for at in range(start + 1, len(blocks)):
        block = blocks[at]
        if at - end > _REACH or _is_prose(block) or block.left < left or block.top < bottom:
            break
        is_column = _begins if columns == 1 else _joins
        before = blocks[max(start, at - _REACH) : at]
        if _has_cells(block) and any(is_column(block, other) for other in before):
            end, columns = at + 1, columns + 1
            bottom = min(bottom, block.bottom)
    has_labels = not all(map(_is_figure, blocks[start].lines))
    return end if columns > 2 or has_labels else start + 1


def _is_prose(block: _Block) -> bool:
    """Return whether most lines of the block are full."""
    if len(block.lines) < 3 or _has_cells(block) or median(len(line.words) for line in block.lines) < _PROSE_WORDS:
        return False
    width = block.right - block.left
    full = sum(line.right - line.left >= _FULL * width for line in block.lines)
    return full >= _FULL_LINES * len(block.lines)


def _begins(block: _Block, other: _Block) -> bool:
    """Return whether two blocks are columns of a table: one has figures, or many short lines, beside the other's lines.

    Heads of a few lines may be stored by columns above rows that are not.
    """
    if min(len(block.lines), len(other.lines)) < _FIGURES or not _joins(block, other):
        return False
    rows = _beside(block, other)
    figures = sum(map(_is_figure, rows))
    return len(rows) >= _MANY or figures >= max(_FIGURES, _CELLS * len(rows))


def _joins(block: _Block, other: _Block) -> bool:
    """Return whether most lines of one block have a line of the other block beside them."""
    if block.bottom >= other.top or other.bottom >= block.top:
        return False
    return any(len(_beside(one, two)) >= _MATCHED * len(one.lines) for one, two in ((block, other), (other, block)))


def _has_cells(block: _Block) -> bool:
    """Return whether most lines are figures or short."""
    return sum(map(_is_cell, block.lines)) >= _CELLS * len(block.lines)


def _is_cell(line: _Line) -> bool:
    """Return whether the line consists of cells: it is short, holds mostly figures, or has wide gaps."""
    with_digits = sum(any(map(str.isdigit, word.text)) for _, word in line.words)
    return len(line.words) <= _SHORT or 2 * with_digits >= len(line.words) or _has_gap(line)


def _is_figure(line: _Line) -> bool:
    """Return whether a line has at least as many digits as letters."""
    text = "".join(word.text for _, word in line.words)
    digits = sum(map(str.isdigit, text))
    return digits > 0 and digits >= sum(map(str.isalpha, text))


def _beside(block: _Block, other: _Block) -> list[_Line]:
    """Return the lines of a block that have a line of the other block beside them."""
    return [line for line in block.lines if any(_same_row(line, mate) and _apart(line, mate) for mate in other.lines)]


def _apart(one: _Line, other: _Line) -> bool:
    return one.left >= other.right or other.left >= one.right


def _same_row(one: _Line, other: _Line) -> bool:
    shared = min(one.top, other.top) - max(one.bottom, other.bottom)
    return shared > _BESIDE * min(one.height, other.height)


def _rows(lines: Sequence[_Line]) -> list[Stored]:
    return [[word for line in row for word in line.words] for row in _in_rows(lines)]


def _in_rows(lines: Sequence[_Line]) -> list[list[_Line]]:
    rows: list[list[_Line]] = []
    for line in sorted(lines, key=lambda line: -line.bottom):
        row = next((row for row in reversed(rows[-2:]) if _same_row(row[0], line)), None)
        if row is None:
            rows.append([line])
        else:
            row.append(line)
    return [sorted(row, key=lambda line: line.left) for row in rows]
