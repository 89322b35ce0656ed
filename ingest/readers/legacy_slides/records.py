"""Reads the records of the last saved version of a .ppt. Each save appends its changes (MS-PPT, 2.1.2).

Raises ``struct.error``, ``IndexError``, ``KeyError`` or ``ValueError`` for damaged files.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import NamedTuple

import olefile

_USER_EDIT = 0x0FF5
_MAX_DEPTH = 30


class Record(NamedTuple):
    """A record: an atom with data, or a container of records."""

    kind: int
    instance: int
    data: memoryview

    def children(self) -> Iterator[Record]:
        """Yield the records in this container."""
        at = 0
        while at + 8 <= len(self.data):
            yield _record(self.data, at)
            at += 8 + struct.unpack_from("<I", self.data, at + 4)[0]

    def all(self, kind: int) -> Iterator[Record]:
        """Yield the records of a kind in this container."""
        return (record for record in self.children() if record.kind == kind)

    def first(self, *kinds: int) -> Record:
        """Return the record at the end of a path of kinds, or an empty one."""
        found = self
        for kind in kinds:
            found = next(found.all(kind), Record(kind, 0, memoryview(b"")))
        return found

    def number(self, at: int, size: int = 4) -> int:
        """Return a number in the data of an atom, or 0 beyond its end."""
        return int.from_bytes(self.data[at : at + size], "little")

    def string(self) -> str:
        """Return the data of an atom as text."""
        return bytes(self.data[: len(self.data) // 2 * 2]).decode("utf-16-le", "replace").rstrip("\0")

    def deep(self, kind: int, depth: int = 0) -> Iterator[Record]:
        """Yield the records of a kind at any depth."""
        for record in self.children():
            if record.kind == kind:
                yield record
            elif depth < _MAX_DEPTH and record.kind in _NESTED:
                yield from record.deep(kind, depth + 1)


_NESTED = {0x1388, 0x138A, 0x138B}  # extensions of later versions, which are binary data with records in it


def _record(data: memoryview, at: int) -> Record:
    version, kind, size = struct.unpack_from("<HHI", data, at)
    return Record(kind, version >> 4, data[at + 8 : at + 8 + size])


class Presentation:
    """An opened .ppt: the records that its last save refers to, by their number."""

    def __init__(self, data: bytes) -> None:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            self._stream = memoryview(file.openstream("PowerPoint Document").read())
            user = file.openstream("Current User").read(20)
        self._places: dict[int, int] = {}
        self._left = 4 * len(self._stream)
        self.document = self._read_edits(int.from_bytes(user[16:20], "little"))

    def _read_edits(self, at: int) -> Record:
        """Read the saves from the last one back. Return the document of the last one."""
        documents, seen = [], set[int]()
        while at and at not in seen:
            seen.add(at)
            edit = _record(self._stream, at)
            if edit.kind != _USER_EDIT:
                raise ValueError("its list of saves is damaged")
            self._read_places(_record(self._stream, edit.number(12)))
            documents.append(edit.number(16))
            at = edit.number(8)
        return self.persisted(documents[0])

    def _read_places(self, directory: Record) -> None:
        at = 0
        while at + 4 <= len(directory.data):
            first, count = directory.number(at) & 0xFFFFF, directory.number(at) >> 20
            for index in range(min(count, len(directory.data) // 4)):
                self._places.setdefault(first + index, directory.number(at + 4 + 4 * index))
            at += 4 + 4 * count

    def persisted(self, number: int) -> Record:
        """Return the record with this number."""
        found = _record(self._stream, self._places[number])
        self._left -= len(found.data)
        if self._left < 0:  # forged: slides do not overlap
            raise ValueError("its slides overlap")
        return found
