"""Finds the tables among the lines of a PDF: rows by their cells, columns by their alignment.

The core of a table consists of lines that split into cells. Adjacent lines that fit its columns extend it, such as
headers with narrow gaps and the second lines of wrapped cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ingest.readers.pdf.lines import Line, joined
from ingest.readers.pdf.tables.columns import (
    Columns,
    cells_in,
    find_columns,
    row_of,
    split_at_narrow_gaps,
    split_figures,
)
from ingest.readers.pdf.tables.grids import Grid, find_grid
from ingest.readers.pdf.tables.header_lines import fits_size, framed_heads, header_start
from ingest.readers.pdf.tables.rows import gap, join_rows, near, overlap
from ingest.readers.pdf.tables.spanning import place_heads
from ingest.readers.pdf.words import Word
from ingest.readers.shared.header_rows import (
    header_height,
    heads_words,
    holds_figures,
    is_figure,
    is_header,
    merge_headers,
)

_ROWS = 3  # minimum rows of a table
_ROWS_OF_MANY_CELLS = 2  # the same if a row has more than two cells
_LABELS = 4  # maximum consecutive lines with only a label inside a table, such as "Assets" and "Current assets:"
_HEADER_LINES = 60  # lines to search below the start of a header for its rows; each header cell may be a line
_FRAMED_HEADS = 20  # the same above a framed table
_WRAPPED_LABELS = 8  # the same for closely spaced lines, such as a label of five lines
_ROWS_APART = 0.5  # line heights: maximum space between closely spaced lines
_LINE_GAP = 0.45  # line heights: maximum space between two lines of one cell
_LABEL_GAP = 2.0  # line heights: maximum space between label lines
_HEADER_GAP = 1.0  # line heights: maximum space between header lines
_LARGER = 1.3  # ratio of type sizes from which a line does not belong to the table, such as a heading
_ROW_GAP = 1.3  # ratio to the gap between rows: maximum distance of a line that belongs to the table
_ANOTHER_SIZE = 1.1  # ratio from which two type sizes are different
_ROW_LINES = 4.0  # maximum lines of text in a ruled row; a taller frame may contain a whole table
_SAME_ROW = 0.6  # minimum vertical overlap of lines in one row, as a share of their height
_TOUCHING = 0.15  # line heights: cells with a smaller gap are one cell


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table in lines [start, end) of one page."""

    start: int
    end: int
    rows: tuple[tuple[str, ...], ...]
    has_header: bool


def find_tables(lines: Sequence[Line]) -> list[PageTable]:
    """Return the tables in reading order. They do not overlap."""
    tables: list[PageTable] = []
    position = 0
    while position < len(lines):
        grid = find_grid(lines, position)
        if grid is not None and not _is_head_of(grid, lines):
            tables.append(_framed_table(grid, lines, tables[-1].end if tables else 0))
            position = grid.end
            continue
        end = _core_end(lines, position)
        if end == position:
            position += 1
            continue
        if framed := _frames_below(lines, position, end):
            position = framed
            continue
        end = next((at for at in range(position + _ROWS, end) if _begins_table(lines[at - 1], lines[at])), end)
        first = tables[-1].end if tables else 0
        rows = _rows_below(lines, position, end)
        if rows is not None:
            position, end = rows
        start, core, end = _extend(lines, position, end, first)
        tables.append(_table(lines, start, core, end))
        position = tables[-1].end
    return tables


def with_heads(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of a page with the framed heads of each table directly above it, wherever they are stored."""
    ordered = list(lines)
    position = 0
    while position < len(ordered):
        grid = find_grid(ordered, position)
        end = grid.end if grid else _core_end(ordered, position)
        if end > position:
            columns = grid.columns if grid else find_columns(ordered[position:end])
            heads = framed_heads(ordered, position, end, columns)
            before = [line for at, line in enumerate(ordered[:position]) if at not in heads]
            after = [line for at, line in enumerate(ordered[end:], start=end) if at not in heads]
            moved = sorted((ordered[at] for at in heads), key=lambda line: -line.top)
            ordered = [*before, *moved, *ordered[position:end], *after]
            end = len(before) + len(moved) + end - position
        position = max(end, position + 1)
    return ordered


def _is_head_of(grid: Grid, lines: Sequence[Line]) -> bool:
    """Return whether the frames are only the heads of the rows below them, which have none."""
    if holds_figures(grid.rows) or _core_end(lines, grid.end) == grid.end:
        return False
    return _has_figures(lines[grid.end]) and gap(lines[grid.end - 1], lines[grid.end]) < _LABEL_GAP


def _rows_below(lines: Sequence[Line], start: int, end: int) -> tuple[int, int] | None:
    """Return the rows below if the lines [start, end) are their header and not a table, otherwise None."""
    if any(_has_figures(line) for line in lines[start:end]):
        return None
    for position in range(end, min(end + _HEADER_LINES, len(lines))):
        rows_end = _core_end(lines, position)
        if rows_end > position:
            columns = find_columns(lines[position:rows_end])
            is_below = header_start(lines, position, start, columns) < end
            return (position, rows_end) if is_below and _has_figures(lines[position]) else None
    return None


def _frames_below(lines: Sequence[Line], start: int, end: int) -> int | None:
    """Return the start of the framed table below, if the lines [start, end) are its heads and it has none."""
    if any(_has_figures(line) for line in lines[start:end]):
        return None
    below = (find_grid(lines, at) for at in range(end, min(end + _FRAMED_HEADS, len(lines))))
    grid = next(filter(None, below), None)
    if grid is None or _own_heads(grid, lines, start) or _heads_above(grid, lines, start) >= end:
        return None
    return grid.start


def _own_heads(grid: Grid, lines: Sequence[Line], first: int) -> int:
    """Return the number of header rows in the frames. If heads are above the frames, a row with a number is data."""
    if is_figure(grid.rows[0][0]) and _heads_above(grid, lines, first) < grid.start:
        return 0
    heights = (height for height in (grid.header_rows, 1) if all(map(is_header, grid.rows[:height])))
    return next(heights, int(heads_words(grid.rows)))


def _heads_above(grid: Grid, lines: Sequence[Line], first: int) -> int:
    """Return the first line of the heads above a framed table, or its start if there are none."""
    return header_start(lines, grid.start, first, grid.columns) if len(grid.columns) > 1 else grid.start


def _framed_table(grid: Grid, lines: Sequence[Line], first: int) -> PageTable:
    height = _own_heads(grid, lines, first)
    start = grid.start if height else _heads_above(grid, lines, first)
    above = place_heads(_join_lines(lines[start : grid.start]), grid.columns) if start < grid.start else []
    heads = [*above, *grid.rows[:height]]
    header = [tuple(merge_headers(heads))] if heads else []
    return PageTable(start, grid.end, (*header, *grid.rows[height:]), has_header=bool(heads))


def _core_end(lines: Sequence[Line], start: int) -> int:
    """Return the end of the rows from ``start``, or ``start`` if there are too few for a table."""
    end = start
    while end < len(lines) and lines[end].page == lines[start].page and _is_row(lines, end, start):
        end += 1
    core = lines[start:end]
    many_cells = max((len(line.cells) for line in core), default=0) > 2
    enough = _ROWS_OF_MANY_CELLS if many_cells else _ROWS
    return end if sum(len(line.cells) > 1 for line in core) >= enough else start


def _begins_table(above: Line, line: Line) -> bool:
    """Return whether the line, below a row with figures, has several cells, but neither a label nor a figure."""
    if len(line.cells) < 2 or not _has_figures(above) or not is_header(["", *map(joined, line.cells)]):
        return False
    return line.words[0].x0 >= above.cells[0][-1].x1 and gap(above, line) >= _LINE_GAP


def _is_row(lines: Sequence[Line], index: int, start: int) -> bool:
    """Return whether the line is part of the table core.

    It has several cells, belongs to a row with several cells, or is a label between such rows.
    """
    line = lines[index]
    if not fits_size(line, lines[start]) and not fits_size(lines[start], line):
        return False
    if len(line.cells) > 1:
        return True
    if index > start and (_is_unit(lines, index, start) or _in_row(line, lines[max(index - 3, start) : index + 4])):
        return True
    before = next((at for at in range(index, start - 1, -1) if len(lines[at].cells) > 1), None)
    last = min(index + _WRAPPED_LABELS + 2, len(lines))
    after = next((at for at in range(index, last) if len(lines[at].cells) > 1), None)
    if before is None or after is None or lines[after].page != line.page or not fits_size(line, lines[before]):
        return False
    if len(lines[before].cells) == 2 == len(lines[after].cells):
        columns = find_columns([lines[before], lines[after]])
        if split_at_narrow_gaps(line, columns, columns):
            return True
    if line.words[-1].x1 >= min(lines[at].cells[1][0].x0 for at in (before, after)):
        return after - before == 2 and _is_long_label(line, lines[before], lines[after])
    return after - before == 2 or _continues_after_labels(lines[before : after + 1])


def _is_long_label(line: Line, above: Line, below: Line) -> bool:
    """Return whether a line between two rows is a label that extends over some columns, but not over all."""
    if max(gap(above, line), gap(line, below)) > _ROWS_APART or not (_has_figures(above) and _has_figures(below)):
        return False
    begins_left = line.words[0].x0 < min(row.cells[0][-1].x1 for row in (above, below))
    return begins_left and line.words[-1].x1 < min(row.cells[-1][0].x0 for row in (above, below))


def _in_row(line: Line, around: Sequence[Line]) -> bool:
    """Return whether the line is in the same ruled row as a line with several cells. The ruled row must be low."""
    if line.band is None or line.band[1] - line.band[0] > _ROW_LINES * line.height:
        return False
    return any(other.band == line.band and other.page == line.page and len(other.cells) > 1 for other in around)


def _is_unit(lines: Sequence[Line], index: int, start: int) -> bool:
    """Return whether the line is directly below header rows and applies to all columns, such as a unit."""
    header = lines[start:index]
    if len(header) < _ROWS_OF_MANY_CELLS or any(len(line.cells) < 2 or _has_figures(line) for line in header):
        return False
    in_columns = lines[index].words[0].x0 >= max(line.cells[0][-1].x1 for line in header)
    return in_columns and gap(header[-1], lines[index]) < _HEADER_GAP


def _has_figures(line: Line) -> bool:
    return not is_header([joined(cell) for cell in line.cells])


def _continues_after_labels(lines: Sequence[Line]) -> bool:
    """Return whether the table continues after several label lines. A row without figures starts another table."""
    gaps = [gap(*pair) for pair in pairwise(lines)]
    wide = sum(space >= _ROWS_APART for space in gaps)  # closely spaced lines after a blank row have one wide gap
    few = len(lines) <= (_WRAPPED_LABELS if wide < 2 else _LABELS) + 2
    return few and max(gaps) < _LABEL_GAP and _has_figures(lines[-1])


def _extend(lines: Sequence[Line], start: int, end: int, first: int) -> tuple[int, int, int]:
    """Extend the table by adjacent lines that fit its columns, but not above line ``first``.

    Returns the start of the table, the end of the heads above its rows, and the end of the table.
    """
    page = lines[start].page
    columns = find_columns(lines[start:end])
    reach = _ROW_GAP * max([gap(above, below) for above, below in pairwise(lines[start:end])] + [0.3])
    core = top = start
    while top > first and lines[top - 1].page == page and _joins_above(lines, top, end, columns, reach):
        top -= 1
        if len(cells_in(lines[top], columns)) > 1 or _in_row(lines[top], lines[top + 1 : start + 1]):
            start = top
    heads = header_start(lines, core, first, columns)
    above_heads = start < heads
    start = min(start, heads)
    wraps = not holds_figures([row_of(line.cells, columns) for line in lines[core:end]])
    while end < len(lines) and lines[end].page == page:
        if not wraps and not any(is_figure(joined(cell)) for cell in lines[end].cells):
            break  # a line without figures below such a table belongs to the next table
        if not _joins_below(lines, start, end, columns, reach):
            break
        end += 1
    return start, start if above_heads else core, end


def _joins_above(lines: Sequence[Line], top: int, end: int, columns: Columns, reach: float) -> bool:
    """Return whether the line above ``top`` fits the columns and is close to the table."""
    line = lines[top - 1]
    sizes = line.size, lines[top].size
    if max(sizes) >= _LARGER * min(sizes):  # a heading above a table is larger
        return False
    fits = len(cells_in(line, columns)) > 1 or _column_of(line, columns) >= 0
    return fits and near(line, lines[top:end], reach)


def _joins_below(lines: Sequence[Line], start: int, index: int, columns: Columns, reach: float) -> bool:
    line = lines[index]
    if not near(line, lines[start:index], reach):
        return False
    return len(cells_in(line, columns)) > 1 or _column_of(line, columns) > 0


def _column_of(line: Line, columns: Columns) -> int:
    """Return the index of the column that contains the whole line, or -1."""
    slack = line.height / 2
    left, right = line.words[0].x0, line.words[-1].x1
    limits = [start for start, _ in columns[1:]] + [float("inf")]
    for index, ((start, _), limit) in enumerate(zip(columns, limits, strict=True)):
        if start - slack <= left and right <= limit:
            return index
    return -1


def _table(lines: Sequence[Line], start: int, core: int, end: int) -> PageTable:
    """Return the table. The lines before ``core`` are heads; more heads may follow."""
    table = [split_figures(line) for line in _join_lines(lines[start:end])]
    columns = find_columns(table)
    plain = [row_of(cells_in(line, columns), columns) for line in table]
    numeric = holds_figures(plain)
    first = next((index for index, row in enumerate(plain) if not is_header(row)), 0) if numeric else _styled(table)
    if len(below := find_columns(table[first:])) == len(columns):
        columns = below  # heads may be wider than their columns
    above = [index for index, line in enumerate(table) if line.bottom > lines[core].top - line.height / 2]
    known = 1 + max((index for index in above if numeric and core > start and any(plain[index][1:])), default=-1)
    first = max(first, known)
    heads = place_heads(table[:first], columns)
    plain = [*heads, *(row_of(cells_in(line, columns), columns) for line in table[len(heads) :])]
    height = header_height(plain, known) if numeric or first < 2 else first
    # figures in the only bold line are column heads
    is_styled = len(table) > 2 and table[0].style.bold and not any(line.style.bold for line in table[1:])
    if height == 0 and (heads_words(plain) or is_styled):
        height = 1
    limit = columns[0][1]
    if height > 1:
        body = join_rows(table[height:], plain[height:], limit)
        return PageTable(start, end, (tuple(merge_headers(plain[:height])), *body), has_header=True)
    return PageTable(start, end, join_rows(table, plain, limit), has_header=height == 1)


def _styled(table: Sequence[Line]) -> int:
    """Return the number of header lines of a table of text: the first lines, if their style differs from the last line.

    Returns 0 for a single line, which ``header_height`` handles.
    """
    last = table[-1]
    same = (
        index
        for index, line in enumerate(table)
        if line.style.bold == last.style.bold and max(line.size, last.size) < _ANOTHER_SIZE * min(line.size, last.size)
    )
    height = next(same)
    closely = all(gap(*pair) < _HEADER_GAP for pair in pairwise(table[:height]))
    return height if closely and 1 < height < len(table) / 2 else 0


def _join_lines(lines: Sequence[Line]) -> list[Line]:
    """Return the lines from top to bottom. Joins lines at the same height: a header may have one line per cell."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: -line.bottom):
        if rows and overlap(rows[-1][0], line) > _SAME_ROW:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [_joined_line(row) for row in rows]


def _joined_line(row: Sequence[Line]) -> Line:
    if len(row) == 1:
        return row[0]
    cells: list[tuple[Word, ...]] = []
    for cell in sorted((cell for line in row for cell in line.cells), key=lambda cell: cell[0].x0):
        if cells and cell[0].x0 - cells[-1][-1].x1 < _TOUCHING * row[0].height:
            cells[-1] += cell  # a footnote mark and the text after it
        else:
            cells.append(cell)
    words = tuple(word for cell in cells for word in cell)
    underlines = tuple(sorted({extent for line in row for extent in line.underlines}))
    return replace(row[0], words=words, cells=tuple(cells), boxes=(None,) * len(cells), underlines=underlines)
