"""Groups the paragraphs of a .doc into tables. Each row ends with a paragraph that defines its cells."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from ingest.readers.word.binary.file import Properties

_IN_TABLE, _DEPTH, _ROW_END, _INNER_CELL_END, _INNER_ROW_END = 0x2416, 0x6649, 0x2417, 0x244B, 0x244C
_DEFINITION, _HEADER, _VERTICAL = 0xD608, 0x3404, 0xD62B
_CELL_MARK = "\x07"
_MAX_DEPTH = 10
_SAME_EDGE = 60  # twentieths of a point: edges of cells that are as close are one


class Paragraph(NamedTuple):
    """A paragraph as XML, with its mark and properties."""

    xml: str
    mark: str
    properties: Properties

    @property
    def depth(self) -> int:
        """The nesting level of its table; 0 outside of tables."""
        is_inside = self.mark == _CELL_MARK or self.properties.get(_IN_TABLE, b"\0")[:1] != b"\0"
        return min(max(int.from_bytes(self.properties.get(_DEPTH, b""), "little"), int(is_inside)), _MAX_DEPTH)

    @property
    def ends_row(self) -> bool:
        return any(self.properties.get(code, b"\0")[:1] != b"\0" for code in (_ROW_END, _INNER_ROW_END))

    @property
    def ends_cell(self) -> bool:
        return self.mark == _CELL_MARK or self.properties.get(_INNER_CELL_END, b"\0")[:1] != b"\0"


def blocks(paragraphs: Iterable[Paragraph]) -> str:
    """Return the paragraphs and tables as XML."""
    body: list[str] = []
    tables: list[_Table] = []
    for paragraph in paragraphs:
        while len(tables) > paragraph.depth:
            _close(tables, body)
        while len(tables) < paragraph.depth:
            tables.append(_Table())
        if tables and paragraph.ends_row:
            tables[-1].end_row(paragraph.properties)
        else:
            (tables[-1].cell if tables else body).append(paragraph.xml)
            if tables and paragraph.ends_cell:
                tables[-1].end_cell()
    while tables:
        _close(tables, body)
    return "".join(body)


def _close(tables: list[_Table], body: list[str]) -> None:
    table = tables.pop()
    (tables[-1].cell if tables else body).append(table.xml())


class _Cell(NamedTuple):
    xml: str
    left: int
    right: int
    merge: str


@dataclass
class _Table:
    cell: list[str] = field(default_factory=list)
    _cells: list[str] = field(default_factory=list)
    _rows: list[tuple[list[_Cell], bool]] = field(default_factory=list)

    def end_cell(self) -> None:
        self._cells.append("".join(self.cell))
        self.cell = []

    def end_row(self, properties: Properties) -> None:
        if self.cell:
            self.end_cell()
        is_header = properties.get(_HEADER, b"\0")[:1] != b"\0"
        self._rows.append((list(_defined(self._cells, properties)), is_header))
        self._cells = []

    def xml(self) -> str:
        if self.cell or self._cells:  # the last row has no end
            self.end_row({})
        edges = list(_edges(cell for cells, _ in self._rows for cell in cells))
        is_even = len({len(cells) for cells, _ in self._rows}) < 2
        return f"<w:tbl>{''.join(_row(*row, [] if is_even else edges) for row in self._rows)}</w:tbl>"


def _defined(cells: list[str], properties: Properties) -> Iterator[_Cell]:
    """Yield the cells of a row with their edges. A cell that is merged with the one before widens it."""
    data = properties.get(_DEFINITION, b"\0")
    count = data[0] if len(data) >= 2 * data[0] + 3 else 0
    edges = struct.unpack_from(f"<{count + 1}h", data, 1) if count else ()
    vertical = properties.get(_VERTICAL, b"")
    found: list[_Cell] = []
    for index, xml in enumerate(cells):
        at = 3 + 2 * count + 20 * index
        flags = int.from_bytes(data[at : at + 2], "little")
        if vertical[:1] == bytes([index]):
            flags = flags & ~0x60 | vertical[1] << 5
        merge = "restart" if flags & 0x40 else "continue" if flags & 0x20 else ""
        left, right = edges[index : index + 2] if index < count else (0, 0)
        if flags & 2 and found:
            found[-1] = found[-1]._replace(xml=found[-1].xml + xml, right=right)
        else:
            found.append(_Cell(xml, left, right, merge))
    yield from found


def _edges(cells: Iterable[_Cell]) -> Iterator[int]:
    """Yield the edges of the columns."""
    last: int | None = None
    for edge in sorted({edge for cell in cells for edge in (cell.left, cell.right) if cell.right > cell.left}):
        if last is None or edge - last > _SAME_EDGE:
            yield edge
            last = edge


def _row(cells: list[_Cell], is_header: bool, edges: list[int]) -> str:
    properties = "<w:trPr><w:tblHeader/></w:trPr>" if is_header else ""
    return f"<w:tr>{properties}{''.join(_cell(cell, edges) for cell in cells)}</w:tr>"


def _cell(cell: _Cell, edges: list[int]) -> str:
    middles = [(left + right) / 2 for left, right in pairwise(edges)]
    width = max(sum(cell.left < middle < cell.right for middle in middles), 1)
    merge = f'<w:vMerge w:val="{cell.merge}"/>' if cell.merge else ""
    return f'<w:tc><w:tcPr><w:gridSpan w:val="{width}"/>{merge}</w:tcPr>{cell.xml}</w:tc>'
