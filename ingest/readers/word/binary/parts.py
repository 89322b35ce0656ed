"""Converts the styles and lists of a .doc, and its paragraph and character properties, to the XML of a .docx."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ingest.readers.shared.package_writer import quoted
from ingest.readers.word.binary.file import Properties, WordFile, properties_of, word

_STYLES, _LISTS, _LIST_USES = 1, 73, 74
_DELETED, _STYLE, _SHIFT, _FONT, _OUTLINE, _LEVEL, _LIST = 0x0800, 0x4A30, 0x2A48, 0x4A4F, 0x2640, 0x260A, 0x460B
_POSITION = 0x4845
_SWITCHES = {0x0837: "strike", 0x2A53: "dstrike", 0x083C: "vanish"}
_SAME_AS_STYLE = 0x80
_SHIFTS = {1: "superscript", 2: "subscript"}
_NO_STYLE, _NO_LIST, _TITLE = 0xFFF, 0x7FF, 62
_FORMATS = {1: "upperRoman", 2: "lowerRoman", 3: "upperLetter", 4: "lowerLetter", 5: "ordinal", 22: "decimalZero",
            23: "bullet", 255: "none"}  # fmt: skip


def is_deleted(properties: Properties) -> bool:
    """Return whether characters are marked as deleted."""
    return properties.get(_DELETED, b"\0")[:1] != b"\0"


def run_properties(found: Properties, fonts: list[str]) -> str:
    """Return the properties of characters that carry meaning."""
    parts = [f'<w:rStyle w:val="{word(found[_STYLE], 0)}"/>'] if _STYLE in found else []
    for code, name in _SWITCHES.items():
        value = found.get(code, bytes([_SAME_AS_STYLE]))[0]
        if value != _SAME_AS_STYLE:
            parts.append(f'<w:{name} w:val="{int(value != 0)}"/>')
    if _SHIFT in found:
        parts.append(f'<w:vertAlign w:val="{_SHIFTS.get(found[_SHIFT][0], "baseline")}"/>')
    if _POSITION in found:
        parts.append(f'<w:position w:val="{int.from_bytes(found[_POSITION][:2], "little", signed=True)}"/>')
    if _FONT in found and word(found[_FONT], 0) < len(fonts):
        parts.append(f"<w:rFonts w:ascii={quoted(fonts[word(found[_FONT], 0)])}/>")
    return f"<w:rPr>{''.join(parts)}</w:rPr>" if parts else ""


def paragraph_properties(found: Properties, style: int, *, is_end_deleted: bool = False) -> str:
    """Return the style, list and outline level of a paragraph."""
    numbering = ""
    if _LEVEL in found:
        numbering += f'<w:ilvl w:val="{found[_LEVEL][0]}"/>'
    if _LIST in found:
        number = word(found[_LIST], 0)
        numbering += f'<w:numId w:val="{number if number < _NO_LIST else 0}"/>'
    outline = f'<w:outlineLvl w:val="{found[_OUTLINE][0]}"/>' if _OUTLINE in found else ""
    end = "<w:rPr><w:del/></w:rPr>" if is_end_deleted else ""
    return f'<w:pPr><w:pStyle w:val="{style}"/><w:numPr>{numbering}</w:numPr>{outline}{end}</w:pPr>'


def styles(file: WordFile) -> str:
    """Return the styles. Headings and titles get their English names, by which ``word.py`` recognises them."""
    data = file.part(_STYLES)
    return "".join(_style(file, index, entry) for index, entry in enumerate(_style_entries(data)) if entry)


def _style_entries(data: bytes) -> Iterator[bytes]:
    at = 2 + word(data, 0)
    while at + 2 <= len(data):
        yield data[at + 2 : at + 2 + word(data, at)]
        at += 2 + word(data, at)


def _style(file: WordFile, index: int, entry: bytes) -> str:
    base_size = word(file.part(_STYLES), 4)
    identity, kind, base = word(entry, 0) & 0xFFF, word(entry, 2) & 0xF, word(entry, 2) >> 4
    length = word(entry, base_size)
    name = entry[base_size + 2 : base_size + 2 + 2 * length].decode("utf-16-le", "replace")
    if 1 <= identity <= 9:
        name = f"heading {identity}"
    formats = list(_style_formats(entry, base_size + 4 + 2 * length))
    parent = f'<w:basedOn w:val="{base}"/>' if base != _NO_STYLE else ""
    paragraph = paragraph_properties(properties_of(formats[0][2:]), index) if kind == 1 and formats else ""
    characters = run_properties(properties_of(formats[kind == 1]), file.fonts) if len(formats) > (kind == 1) else ""
    shown = quoted("title" if identity == _TITLE else name)
    return f'<w:style w:styleId="{index}"><w:name w:val={shown}/>{parent}{paragraph}{characters}</w:style>'


def _style_formats(entry: bytes, at: int) -> Iterator[bytes]:
    while at + 2 <= len(entry):
        size = word(entry, at)
        yield entry[at + 2 : at + 2 + size]
        at += 2 + size + size % 2


def lists(file: WordFile) -> str:
    """Return the definitions of lists, and the lists that use them, some with another start number."""
    data, known = file.part(_LISTS), []
    start = int.from_bytes(file.main[154 + 8 * _LISTS : 158 + 8 * _LISTS], "little")
    levels = _Levels(file.table[start + len(data) :])
    for at in range(2, min(2 + 28 * word(data, 0), len(data) - 27), 28):
        identity, is_simple = int.from_bytes(data[at : at + 4], "little"), data[at + 26] & 1
        named = struct.unpack_from("<9H", data, at + 8)
        content = "".join(levels.read(level, named[level]) for level in range(1 if is_simple else 9))
        known.append(f'<w:abstractNum w:abstractNumId="{identity}">{content}</w:abstractNum>')
    return "".join(known) + "".join(_list_uses(file.part(_LIST_USES)))


def _list_uses(data: bytes) -> Iterator[str]:
    count = min(int.from_bytes(data[:4], "little"), (len(data) - 4) // 16)
    rest = _Levels(data[4 + 16 * count :])
    for number in range(count):
        at = 4 + 16 * number
        overrides = "".join(rest.override() for _ in range(data[at + 12])) if rest.skip(4) else ""
        identity = int.from_bytes(data[at : at + 4], "little")
        yield f'<w:num w:numId="{number + 1}"><w:abstractNumId w:val="{identity}"/>{overrides}</w:num>'


class _Levels:
    """Reads the levels of lists one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def skip(self, size: int) -> bool:
        self._at += size
        return self._at <= len(self._data)

    def override(self) -> str:
        """Read an override of a level: another start number or another format."""
        start, flags = struct.unpack_from("<iI", self._data, self._at)
        self._at += 8
        level = flags & 0xF
        begin = f'<w:startOverride w:val="{start}"/>' if flags & 0x10 else ""
        content = self.read(level, _NO_STYLE) if flags & 0x20 else ""
        return f'<w:lvlOverride w:ilvl="{level}">{begin}{content}</w:lvlOverride>'

    def read(self, level: int, style: int) -> str:
        """Read a level. Characters below 9 in its pattern are placeholders for the numbers of levels."""
        start, kind, flags = struct.unpack_from("<iBB", self._data, self._at)
        characters, paragraphs, restart = self._data[self._at + 24 : self._at + 27]
        at = self._at + 28 + characters + paragraphs
        length = word(self._data, at)
        pattern = self._data[at + 2 : at + 2 + 2 * length].decode("utf-16-le", "replace")
        self._at = at + 2 + 2 * length
        shown = "".join(f"%{ord(each) + 1}" if each < "\t" else each for each in pattern)
        return (
            f'<w:lvl w:ilvl="{level}"><w:start w:val="{start}"/><w:numFmt w:val="{_FORMATS.get(kind, "decimal")}"/>'
            f"<w:lvlText w:val={quoted(shown)}/>"
            + (f'<w:pStyle w:val="{style}"/>' if style != _NO_STYLE else "")
            + ("<w:isLgl/>" if flags & 4 else "")
            + (f'<w:lvlRestart w:val="{restart}"/>' if flags & 8 else "")
            + "</w:lvl>"
        )
