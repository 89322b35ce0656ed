"""Writes Word 97 files (.doc) with only what a test needs. No installed library writes them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.compound import write_compound

_TEXT_AT = 2048
Runs = Sequence[tuple[str, bytes]]


def sprm(code: int, operand: bytes | int) -> bytes:
    """Return a property with its operand: a byte, or bytes that include their own size where there is one."""
    return struct.pack("<H", code) + (bytes([operand]) if isinstance(operand, int) else operand)


def write_doc(
    path: Path,
    runs: Runs,
    paragraphs: Sequence[bytes] = (),
    *,
    styles: Sequence[int] = (),
    lengths: Mapping[int, int] | None = None,
    parts: Mapping[int, bytes] | None = None,
    data: bytes = b"",
) -> Path:
    """Write runs of text with the properties of their characters.

    ``paragraphs`` and ``styles`` are the properties and styles of the paragraphs in order, ``lengths`` of the stories,
    ``parts`` parts of the table stream by their number.
    """
    text = "".join(run for run, _ in runs)
    encoded = text.encode("utf-16-le")
    size = len(encoded) // 2
    places = [_TEXT_AT]
    for run, _ in runs:
        places.append(places[-1] + len(run.encode("utf-16-le")))
    characters = _page(places, [bytes([len(each)]) + each if each else b"" for _, each in runs], 1)
    ends = [_TEXT_AT]
    marks = [index for index, each in enumerate(text) if each in "\r\x07\x0c"]
    ends += [_TEXT_AT + len(text[: index + 1].encode("utf-16-le")) for index in marks]
    entries = []
    for number in range(len(marks)):
        style = styles[number] if number < len(styles) else 0
        content = struct.pack("<H", style) + (paragraphs[number] if number < len(paragraphs) else b"")
        content += b"\0" * (len(content) % 2)
        entries.append(bytes([0, len(content) // 2]) + content)
    body = encoded.ljust(-(-len(encoded) // 512) * 512, b"\0")
    page = (_TEXT_AT + len(body)) // 512
    main = bytearray(_TEXT_AT) + body + characters + _page(ends, entries, 13)
    table, places_of_parts = bytearray(), {}
    all_parts = {
        33: b"\x02" + struct.pack("<IIIHIH", 16, 0, size, 0, _TEXT_AT, 0),
        12: struct.pack("<III", places[0], places[-1], page),
        13: struct.pack("<III", ends[0], ends[-1], page + 1),
        **(parts or {}),
    }
    for index, content in all_parts.items():
        places_of_parts[index] = len(table), len(content)
        table += content
    struct.pack_into("<HHHHHH", main, 0, 0xA5EC, 193, 0, 0, 0, 0x200)
    for index, length in {0: size, **(lengths or {})}.items():
        struct.pack_into("<I", main, 76 + 4 * index, length)
    struct.pack_into("<H", main, 152, 93)
    for index, (start, length) in places_of_parts.items():
        struct.pack_into("<II", main, 154 + 8 * index, start, length)
    return write_compound(path, {"WordDocument": bytes(main), "1Table": bytes(table), "Data": data})


def _page(places: Sequence[int], entries: Sequence[bytes], size: int) -> bytes:
    """Return a page of formatting: the places, where the properties of each stretch are, and the properties."""
    page = bytearray(512)
    struct.pack_into(f"<{len(places)}I", page, 0, *places)
    end = 510
    for number, entry in enumerate(entries):
        if entry:
            end = (end - len(entry)) // 2 * 2
            page[end : end + len(entry)] = entry
            page[4 * len(places) + size * number] = end // 2
    page[511] = len(entries)
    return bytes(page)
