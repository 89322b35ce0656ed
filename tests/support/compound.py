"""Writes compound files (the format of .msg and of old Office files) for tests. No installed library writes them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Union

Tree = Mapping[str, Union[bytes, "Tree"]]

_SECTOR = 512
_END, _FREE, _TABLE, _NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF
_STORAGE, _STREAM, _ROOT = 1, 2, 5


def write_compound(path: Path, tree: Tree) -> Path:
    """Write a compound file with these streams (bytes) and storages (mappings of streams and storages)."""
    entries: list[bytes] = []
    sectors: list[bytes] = []
    chain: list[int] = []

    def add_sectors(data: bytes) -> int:
        """Add the data as sectors and return the index of the first."""
        first = len(sectors)
        parts = [data[at : at + _SECTOR].ljust(_SECTOR, b"\0") for at in range(0, len(data), _SECTOR)]
        sectors.extend(parts)
        chain.extend([*range(first + 1, first + len(parts)), _END])
        return first

    def add(name: str, kind: int, content: bytes | Tree) -> int:
        index = len(entries)
        entries.append(b"")
        start, size, child = _END, 0, _NONE
        if isinstance(content, bytes):
            # Padded, because smaller streams would need a second allocation table.
            start, size = add_sectors(content.ljust(4096, b"\0")), max(len(content), 4096)
        else:
            child = siblings(content)
        entries[index] = entry(name, kind, child, start, size)
        return index

    def siblings(content: Tree) -> int:
        """Add the entries of a storage, each as the right neighbour of the one before; return the first."""
        first, last = _NONE, _NONE
        for name, inner in sorted(content.items(), key=lambda item: (len(item[0]), item[0].upper())):
            index = add(name, _STREAM if isinstance(inner, bytes) else _STORAGE, inner)
            if last == _NONE:
                first = index
            else:
                entries[last] = entries[last][:72] + struct.pack("<I", index) + entries[last][76:]
            last = index
        return first

    add("Root Entry", _ROOT, tree)
    entries.extend([entry("", 0, _NONE, 0, 0)] * (-len(entries) % 4))
    directory = add_sectors(b"".join(entries))
    table = len(sectors)
    chain.extend([_TABLE] * (1 + (len(chain) + 1) // 128))
    tables = chain[table:]
    chain.extend([_FREE] * (-len(chain) % 128))
    sectors.extend(struct.pack("<128I", *chain[at : at + 128]) for at in range(0, len(chain), 128))
    listed = [table + number for number in range(len(tables))]
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack("<IIIIIIIII", 0, len(tables), directory, 0, 4096, _END, 0, _END, 0)
    head += struct.pack("<109I", *listed, *[_FREE] * (109 - len(listed)))
    path.write_bytes(head + b"".join(sectors))
    return path


def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    """Return a directory entry without neighbours."""
    encoded = name.encode("utf-16-le") + b"\0\0" if name else b""
    return (
        encoded.ljust(64, b"\0")
        + struct.pack("<HBBIII", len(encoded), kind, 1, _NONE, _NONE, child)
        + bytes(36)
        + struct.pack("<IQ", start, size)
    )
