"""Reads the text of a .doc from its piece table, and the formatting of its characters and paragraphs.

A piece locates a part of the text. Text outside all pieces is deleted (MS-DOC, 2.4.1).
Formatting is stored by file position, in pages of 512 bytes. Raises ``struct.error``, ``IndexError`` or
``ValueError`` for damaged files.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import olefile

WORD_97 = 193
_PAGE = 512
_PIECES, _CHARACTER_PAGES, _PARAGRAPH_PAGES, _FONTS = 33, 12, 13, 15
_IN_DATA = (0x6645, 0x6646)  # a paragraph's properties are in the stream Data
_SIZES = {0: 1, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2, 7: 3}
_TABLE_DEFINITION, _TABS = 0xD608, 0xC615
_SHORT_CODES = {0x18: 0x2416, 0x19: 0x2417, 0x41: 0x0800, 0x57: 0x0837, 0x5C: 0x083C, 0x68: 0x2A48, 0x73: 0x2A53}
"""Properties of a piece that are stored in one byte each."""

Properties = dict[int, bytes]
"""Operands by the code of their property (Sprm)."""


_Entry = Callable[[bytes, int], bytes]
"""Returns the properties at a place of a page."""


class _Piece(NamedTuple):
    start: int
    end: int
    place: int
    width: int
    properties: bytes


class Run(NamedTuple):
    """Characters with the same formatting."""

    start: int
    end: int
    properties: Properties


class WordFile:
    """An opened .doc of Word 97 or later."""

    def __init__(self, data: bytes) -> None:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            streams: dict[str, bytes] = {
                name: file.openstream(name).read() for (name, *rest) in file.listdir() if not rest
            }
        self.main = streams.get("WordDocument", b"")
        self.version = word(self.main, 2)
        self.table = streams.get("1Table" if word(self.main, 10) & 0x200 else "0Table", b"")
        self.data = streams.get("Data", b"")

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The numbers of characters in text, notes, headers, macros, comments, endnotes, text boxes, header boxes."""
        return struct.unpack_from("<8I", self.main, 76)

    def part(self, index: int) -> bytes:
        """Return a part of the table stream by its number in the file information block."""
        start, size = struct.unpack_from("<II", self.main, 154 + 8 * index)
        return self.table[start : start + size]

    def places(self, index: int, size: int) -> tuple[list[int], list[bytes]]:
        """Return the positions of a list, and its entries of ``size`` bytes: one per position except the last."""
        data = self.part(index)
        count = max((len(data) - 4) // (4 + size), 0)
        places = struct.unpack_from(f"<{count + 1}I", data) if data else ()
        start = 4 * (count + 1)
        return list(accumulate(places, max)), [data[start + size * n : start + size * (n + 1)] for n in range(count)]

    @cached_property
    def text(self) -> str:
        """The text of the whole document: main text, notes, headers, comments and text boxes, in this order."""
        return "".join(map(self._piece_text, self._pieces))

    def _piece_text(self, piece: _Piece) -> str:
        """Return one character per unit of UTF-16, because positions count units."""
        size = piece.end - piece.start
        data = self.main[piece.place : piece.place + piece.width * size].ljust(piece.width * size, b"\0")
        if piece.width == 1:
            return data.decode("cp1252", errors="replace")
        return "".join(map(chr, struct.unpack(f"<{size}H", data)))

    @cached_property
    def _pieces(self) -> list[_Piece]:
        data, changes, at = self.part(_PIECES), list[bytes](), 0
        while data[at] == 1:
            changes.append(data[at + 3 : at + 3 + word(data, at + 1)])
            at += 3 + word(data, at + 1)
        count = (int.from_bytes(data[at + 1 : at + 5], "little") - 4) // 12
        starts = struct.unpack_from(f"<{count + 1}I", data, at + 5)
        if list(starts) != sorted(starts) or starts[-1] > 4 * len(self.main):
            raise ValueError("its table of pieces is damaged")
        entries = [struct.unpack_from("<HIH", data, at + 5 + 4 * (count + 1) + 8 * n) for n in range(count)]
        return [
            _Piece(start, end, (place & 0x3FFFFFFF) >> (place >> 30 & 1), 2 - (place >> 30 & 1), _change(code, changes))
            for start, end, (_, place, code) in zip(starts, starts[1:], entries, strict=False)
        ]

    def runs(self, start: int, end: int) -> Iterator[Run]:
        """Yield the formatting of the characters from ``start`` to ``end``."""
        index = max(bisect_right(self._pieces, start, key=lambda piece: piece.start) - 1, 0)
        for number in range(index, len(self._pieces)):
            piece = self._pieces[number]
            at, until = max(start, piece.start), min(end, piece.end)
            if piece.start >= end:
                return
            while at < until:
                place = piece.place + piece.width * (at - piece.start)
                last, found = _formatting(self._characters, place)
                following = min(until, at + max((last - place) // piece.width, 1))
                yield Run(at, following, properties_of(found + piece.properties))
                at = following

    def paragraph(self, mark: int) -> tuple[int, Properties]:
        """Return the style and the properties of the paragraph that ends with this character."""
        piece = self._pieces[max(bisect_right(self._pieces, mark, key=lambda piece: piece.start) - 1, 0)]
        _, found = _formatting(self._paragraphs, piece.place + piece.width * (mark - piece.start))
        properties = properties_of(found[2:] + piece.properties)
        for code in _IN_DATA:
            if code in properties:
                at = int.from_bytes(properties[code], "little")
                properties |= properties_of(self.data[at + 2 : at + 2 + word(self.data, at)])
        style = properties.get(0x4600, found[:2])
        return int.from_bytes(style, "little"), properties

    @cached_property
    def _characters(self) -> list[tuple[int, int, bytes]]:
        return sorted(self._page_entries(_CHARACTER_PAGES, 1, lambda page, at: page[at + 1 : at + 1 + page[at]]))

    @cached_property
    def _paragraphs(self) -> list[tuple[int, int, bytes]]:
        return sorted(self._page_entries(_PARAGRAPH_PAGES, 13, _paragraph_entry))

    def _page_entries(self, index: int, size: int, entry: _Entry) -> Iterator[tuple[int, int, bytes]]:
        _, numbers = self.places(index, 4)
        for number in dict.fromkeys(int.from_bytes(each, "little") & 0x3FFFFF for each in numbers):
            page = self.main[_PAGE * number : _PAGE * (number + 1)]
            if len(page) < _PAGE:
                continue
            count = page[-1]
            places = struct.unpack_from(f"<{count + 1}I", page)
            for each in range(count):
                at = 2 * page[4 * (count + 1) + size * each]
                yield places[each], places[each + 1], entry(page, at) if at else b""

    @cached_property
    def fonts(self) -> list[str]:
        """The names of the fonts by their number."""
        data, fonts, at = self.part(_FONTS), list[str](), 4
        while at + 40 < len(data):
            fonts.append(data[at + 40 : at + 1 + data[at]].decode("utf-16-le", "replace").partition("\0")[0])
            at += 1 + data[at]
        return fonts


def _paragraph_entry(page: bytes, at: int) -> bytes:
    return page[at + 1 : at + 2 * page[at]] if page[at] else page[at + 2 : at + 2 + 2 * page[at + 1]]


def _formatting(entries: list[tuple[int, int, bytes]], place: int) -> tuple[int, bytes]:
    """Return the end of the formatting at this file position, and its properties."""
    index = bisect_right(entries, place, key=lambda entry: entry[0]) - 1
    if index >= 0 and place < entries[index][1]:
        return entries[index][1:]
    return entries[index + 1][0] if index + 1 < len(entries) else place + (1 << 30), b""


def _change(code: int, changes: list[bytes]) -> bytes:
    """Return the properties that a piece changes. It stores one of them, or an index into ``changes``."""
    if code & 1:
        return changes[code >> 1] if code >> 1 < len(changes) else b""
    short = _SHORT_CODES.get(code >> 1 & 0x7F)
    return struct.pack("<HB", short, code >> 8) if short else b""


def properties_of(data: bytes) -> Properties:
    """Return the operands of a list of properties by their codes."""
    found, at = {}, 0
    while at + 2 < len(data):
        code = word(data, at)
        size, skipped = _operand_size(code, data, at + 2)
        found[code] = data[at + 2 + skipped : at + 2 + skipped + size]
        at += 2 + skipped + size
    return found


def _operand_size(code: int, data: bytes, at: int) -> tuple[int, int]:
    """Return the size of an operand in bytes, and the size of the length field before it."""
    if code >> 13 != 6:
        return _SIZES[code >> 13], 0
    if code == _TABLE_DEFINITION:
        return max(word(data, at) - 1, 0), 2
    if code == _TABS and data[at] == 255:
        deleted = 4 * data[at + 1]
        return 2 + deleted + 3 * data[at + 2 + deleted], 1
    return data[at], 1


def word(data: bytes, at: int) -> int:
    """Return two bytes as a number."""
    return int.from_bytes(data[at : at + 2], "little")
