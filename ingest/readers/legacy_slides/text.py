"""Converts the text of a .ppt shape to paragraphs of a .pptx, with lists, formatting and links."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from ingest.readers.legacy_slides.records import Record
from ingest.readers.shared.package_writer import escaped, quoted

HEADER, _UNICODE, _BYTES, _STYLES, _NUMBERS = 0x0F9F, 0x0FA0, 0x0FA8, 0x0FA1, 0x0FAC
_FIELDS = {0x0FD8, 0x0FF7, 0x0FF8, 0x0FF9, 0x0FFA, 0x1015}  # slide number, dates, header, footer
_LINK, _LINK_RANGE, _LINK_ATOM = 0x0FF2, 0x0FDF, 0x0FF3
_SCHEMES = {0: "alphaLcPeriod", 1: "alphaUcPeriod", 2: "arabicParenR", 3: "arabicPeriod", 4: "romanLcParenBoth",
            5: "romanLcParenR", 6: "romanLcPeriod", 7: "romanUcPeriod", 8: "alphaLcParenBoth", 9: "alphaLcParenR",
            10: "alphaUcParenBoth", 11: "alphaUcParenR", 12: "arabicParenBoth", 14: "romanUcParenBoth",
            15: "romanUcParenR"}  # fmt: skip
_PARAGRAPH_FIELDS = ((0xF, 2), (0x80, 2), (0x10, 2), (0x40, 2), (0x20, 4), (0x800, 2), (0x1000, 2), (0x2000, 2),
                     (0x4000, 2), (0x100, 2), (0x400, 2), (0x8000, 2))  # fmt: skip
"""The fields of a paragraph's format in order: the bits of the mask that mark each as present, and its size."""
_HAS_BULLET = 0x1
_TAB_STOPS, _LAST_PARAGRAPH_FIELDS = 0x100000, ((0x10000, 2), (0xE0000, 2), (0x200000, 2))
_RUN_FIELDS = ((0x3FFF, 2), (0x10000, 2), (0x200000, 2), (0x400000, 2), (0x800000, 2), (0x20000, 2), (0x40000, 4),
               (0x80000, 2))  # fmt: skip
_BREAK = re.compile("([\x0b\r\t])")


class _Style(NamedTuple):
    shift: int = 0
    font: int = -1
    numbering: int = 0


class _Level(NamedTuple):
    depth: int = 0
    has_bullet: bool | None = None


@dataclass
class Text:
    """The text of a shape. ``kind`` tells titles (0, 6) and lists (1, 7, 8)."""

    kind: int = 4
    text: str = ""
    has_fields: bool = False
    levels: list[_Level] = field(default_factory=list)
    styles: list[_Style] = field(default_factory=list)
    links: list[tuple[int, int, int]] = field(default_factory=list)
    """Start, end and number of each link."""

    def paragraphs(self, numbers: Mapping[int, str], fonts: list[str], addresses: Mapping[int, str]) -> str:
        """Return the paragraphs. ``numbers`` are automatic numbers, ``addresses`` the names of relations."""
        parts, start = [], 0
        for paragraph in self.text.split("\r"):
            level = self.levels[start] if start < len(self.levels) else _Level()
            style = self.styles[start] if start < len(self.styles) else _Style()
            number = numbers.get(style.numbering, "") if level.has_bullet is not False else ""
            bullet = number or {True: "<buChar/>", False: "<buNone/>", None: ""}[level.has_bullet]
            runs = "".join(self._runs(start, start + len(paragraph), fonts, addresses))
            parts.append(f'<p><pPr lvl="{level.depth}">{bullet}</pPr>{runs}</p>')
            start += len(paragraph) + 1
        return "".join(parts)

    def _runs(self, start: int, end: int, fonts: list[str], addresses: Mapping[int, str]) -> Iterator[str]:
        """Yield runs of characters with the same style and link."""
        for (style, link), places in groupby(range(start, end), lambda at: (self._style(at), self._linked.get(at))):
            at = list(places)
            form = f"<latin typeface={quoted(fonts[style.font])}/>" if 0 <= style.font < len(fonts) else ""
            form += f'<hlinkClick r:id="{addresses[link]}"/>' if link in addresses else ""
            for part in _BREAK.split(self.text[at[0] : at[-1] + 1]):
                run = f'<r><rPr baseline="{1000 * style.shift}">{form}</rPr><t>{escaped(part)}</t></r>'
                yield "<br/>" if part == "\x0b" else run

    @cached_property
    def _linked(self) -> Mapping[int, int]:
        """The number of the link by the place of each linked character."""
        linked: dict[int, int] = {}
        end = 0
        for first, last, link in sorted(self.links):
            linked |= dict.fromkeys(range(max(first, end), min(last, len(self.text))), link)
            end = max(end, last)
        return linked

    def _style(self, at: int) -> _Style:
        return self.styles[at] if at < len(self.styles) else _Style()


def texts(records: Iterable[Record]) -> list[Text]:
    """Return the texts in a sequence of records, each of which begins with its kind."""
    found: list[Text] = []
    link = 0
    for record in records:
        if record.kind == HEADER:
            found.append(Text(record.number(0)))
        elif not found:
            continue
        elif record.kind == _UNICODE:
            data = bytes(record.data)  # one character per UTF-16 code unit, because styles are stored by code unit
            found[-1].text = "".join(map(chr, struct.unpack(f"<{len(data) // 2}H", data[: len(data) // 2 * 2])))
        elif record.kind == _BYTES:
            found[-1].text = bytes(record.data).decode("latin-1")
        elif record.kind == _STYLES:
            found[-1].levels, found[-1].styles = _read_styles(record, len(found[-1].text) + 1)
        elif record.kind in _FIELDS:
            found[-1].has_fields = True
        elif record.kind == _LINK:
            link = record.first(_LINK_ATOM).number(4)
        elif record.kind == _LINK_RANGE:
            found[-1].links.append((record.number(0), record.number(4), link))
    return found


def _read_styles(record: Record, length: int) -> tuple[list[_Level], list[_Style]]:
    """Return the format of each character. The file stores all paragraph formats, then all run formats."""
    levels: list[_Level] = []
    styles: list[_Style] = []
    at = 0
    while len(levels) < length and at + 10 <= len(record.data):
        count, depth, mask = record.number(at), record.number(at + 4, 2), record.number(at + 6)
        values, at = _read_fields(record, at + 10, mask, _PARAGRAPH_FIELDS)
        if mask & _TAB_STOPS:
            at += 2 + 4 * record.number(at, 2)
        _, at = _read_fields(record, at, mask, _LAST_PARAGRAPH_FIELDS)
        has_bullet = bool(values[0xF] & 1) if mask & _HAS_BULLET else None
        levels += [_Level(min(depth, 8), has_bullet)] * min(count, length - len(levels))
    while len(styles) < length and at + 8 <= len(record.data):
        count, mask = record.number(at), record.number(at + 4)
        values, at = _read_fields(record, at + 8, mask, _RUN_FIELDS)
        shift = values.get(0x80000, 0)
        font = values.get(0x800000, values.get(0x10000, -1))
        style = _Style(shift - 0x10000 if shift > 0x7FFF else shift, font, values.get(0x3FFF, 0) >> 10 & 0xF)
        styles += [style] * min(count, length - len(styles))
    return levels, styles


def _read_fields(record: Record, at: int, mask: int, fields: Iterable[tuple[int, int]]) -> tuple[dict[int, int], int]:
    values = {}
    for bits, size in fields:
        if mask & bits:
            values[bits] = record.number(at, size)
            at += size
    return values, at


def read_numbers(extension: Record) -> Iterator[tuple[int, str]]:
    """Yield the automatic numbers that the runs of a text refer to, by their place (MS-PPT, 2.9.67)."""
    for record in extension.deep(_NUMBERS):
        at, place = 0, 0
        while at + 4 <= len(record.data):
            values, at = _read_fields(
                record, at + 4, record.number(at), ((0x800000, 2), (0x2000000, 2), (0x1000000, 4))
            )
            scheme = values.get(0x1000000, 3 | 1 << 16)
            if values.get(0x2000000):
                name = _SCHEMES.get(scheme & 0xFFFF, "arabicPeriod")
                yield place, f'<buAutoNum type="{name}" startAt="{scheme >> 16}"/>'
            _, at = _read_fields(record, at + 4, record.number(at), ((0x100000, 4),))
            others = ((1, 2), (2, 2), (4, 2), (0x20, 4), (0x40, 2))
            _, at = _read_fields(record, at + 4, record.number(at), others)
            place += 1
