"""Reads AsciiDoc: headings, lists, tables with merged cells, code, captions, image descriptions."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.entities import html5
from itertools import chain, takewhile, zip_longest

from ingest.decoding import decode
from ingest.reader import Reader, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.form import linked, lowered, raised, struck
from ingest.readers.shared.merged_cells import Cell, repeat_merged
from ingest.readers.shared.ooxml import number
from vectorstore.models import Scalar

_HEADING = re.compile(r"(={1,6}) +(\S.*)$")
_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):[ \t]*(.*)$")
_AUTHOR = re.compile(
    r"= .*\n(?P<author>[^\W\d:][^<>;\n]{0,80}?)(?: <(?P<email>[^<>\n]{1,80})>)?[ \t]*"
    r"(?:\nv?(?P<revnumber>\d[\w.]{0,20})(?:, *(?P<revdate>[^:\n]{1,40}))?(?:: *(?P<revremark>[^\n]{1,200}))?|\n|$)"
)
"""The author below the title, and the revision below the author."""
_SUBSTITUTED = re.compile(r"^\[.*\bsubs=\"?[^\]]*(?:attributes|normal)")
_REFERENCE = re.compile(r"(\\?)\{([\w-]+)\}")
_LONGEST_VALUE = 1000  # characters of an attribute: values of values must not grow without end
_CHARACTERS = {name: html5[f"{name};"] for name in ("nbsp", "amp", "lt", "gt", "plus", "deg")}
_CHARACTERS |= {"sp": " ", "empty": "", "zwsp": ""}
_BLOCK_ATTRIBUTES = re.compile(r"\[[^\]]*\]\s*$")
_CAPTION = re.compile(r"\.([^\s.].*)$")
_MACRO = re.compile(r"(image|video|audio|include|toc)::([^\[]*)\[(.*)\]\s*$")
_ITEM = re.compile(r"(\s*)([*-]+|\.+|\d{1,3}\.)\s+(\S.*)$")
_VERBATIM = re.compile(r"(-{4,}|\.{4,}|`{3,}|/{4,}|\+{4,})\s*$")
_FRAME = re.compile(r"(={4,}|\*{4,}|_{4,}|--|'{3,}|<{3,})\s*$")
_CONDITION = re.compile(r"(ifdef|ifndef|ifeval|endif)::([^\[]*)\[(.*)\]\s*$")
_SEPARATED = re.compile(r"^\[.*\bformat=\"?([ct]sv)\b")
_SEPARATORS = {",": ",", ":": ":", "csv": ",", "tsv": "\t"}
_FENCE = re.compile(r"[|,:!]={3,}\s*$")
_CELL = re.compile(r"(?:(?:^|(?<=[\s|]))(?:(\d+)?(?:\.(\d+))?[+*])?[<^>]?(?:\.[<^>])?[aehlmsd]?)?\|(?!=)")
_EMPHASIS = re.compile(r"(?<!\w)([*_`#]{1,2})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_LINK = re.compile(r"(link:|xref:|image:|(?=https?://|mailto:))([^\s\[]+)\[([^\],^]*)[^\]]*\]|<<[^,<>]+,\s*([^<>]+)>>")
_STRUCK = re.compile(r"\[\.?line-through\]#(.+?)#")
_ROLE = re.compile(r"\[[\w.-]+\](?=#)")
_LITERAL = re.compile(
    r"\b(?:kbd|btn|pass|stem|latexmath|asciimath):[a-z,]{0,9}\[([^\]]{0,500})\]|\+\+\+(.{1,500}?)\+\+\+"
)
_SHIFTED = re.compile(r"(?<![\^~])([\^~])([^\s^~]+)\1(?![\^~])")
_NOTE = re.compile(r"footnote:([\w-]*)\[([^\]]*)\]")
_PROPERTIES = {"author": "authors", "revdate": "created_at", "lang": "language", "description": "subject"}


def read_asciidoc(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's blocks to the builder; return the title and properties of its header."""
    text = decode(request.data, request.path, into.warn).replace("\r\n", "\n")
    writer = _Writer(text.split("\n"), into)
    writer.write()
    return writer.properties


@dataclass
class _Writer:
    """Writes lines into a builder, in one pass."""

    lines: Sequence[str]
    into: DocumentBuilder

    def __post_init__(self) -> None:
        self.properties: dict[str, Scalar] = {}
        self._attributes = dict(_CHARACTERS)
        self._position = 0
        if author := _AUTHOR.match("\n".join(self.lines[:3])):
            self._attributes |= author.groupdict("")
        for line in takewhile(str.strip, self.lines):  # the title may use attributes that stand below it
            if attribute := _ATTRIBUTE.match(line):
                self._define(attribute[1], attribute[2])
        self._conditions: list[bool] = []
        self._unmet: dict[str, None] = {}
        self._files: dict[str, None] = {}
        self._notes: dict[str, tuple[int, str]] = {}
        self._paragraph: list[str] = []
        self._items: list[str] = []
        self._above: list[str] = []

    def write(self) -> None:
        while (line := self._next()) is not None:
            self._read(line if _VERBATIM.match(line) else self._filled(line))
        self._flush()
        for place, note in self._notes.values():
            self.into.prose(f"[{place}] {_plain(note)}")
        if self._unmet:
            self.into.warn(f"Text for other editions was left out: it depends on {', '.join(self._unmet)}.")
        self.into.warn_of_other_files(self._files)

    def _next(self) -> str | None:
        """Return the next line whose conditions hold, or None at the end. Those that compute are taken to hold."""
        while self._position < len(self.lines):
            line = self.lines[self._position]
            self._position += 1
            condition = _CONDITION.match(line)
            if condition is None:
                if not all(self._conditions):
                    continue
                if line.startswith("include::"):
                    self._files[self._filled(line[9:].partition("[")[0])] = None
                return line
            kind, name, line = condition.groups()
            is_known = any(each.strip().lower() in self._attributes for each in re.split("[,+]", name))
            holds = kind == "ifeval" or is_known == (kind == "ifdef")
            if kind == "endif":
                del self._conditions[-1:]
                continue
            if not holds:
                self._unmet[name] = None
            if kind == "ifeval" or not line:
                self._conditions.append(holds)
            elif holds and all(self._conditions):
                return line
        return None

    def _filled(self, line: str) -> str:
        """Return a line with the values of attributes and marks of notes. Unknown attributes stand as they are."""
        line = _REFERENCE.sub(lambda use: use[0][1:] if use[1] else self._attributes.get(use[2].lower(), use[0]), line)
        return _NOTE.sub(self._mark, line)

    def _mark(self, note: re.Match[str]) -> str:
        """Return the mark of a note, and keep the note for the end. A note with a name may have several marks."""
        name = note[1] or f" {len(self._notes)}"
        number, _ = self._notes.setdefault(name, (len(self._notes) + 1, note[2]))
        return f"[{number}]"

    def _flush(self) -> None:
        """Write the lines so far. Below a block that is part of an item, its list goes on."""
        is_inside = self._position > 1 and self.lines[self._position - 2].strip() == "+"
        self._above = [*self._above, *self._items] if is_inside else []
        self.into.list_items(self._items)
        self.into.prose("\n".join(self._paragraph))
        self._items, self._paragraph = [], []

    def _read(self, line: str) -> None:
        if not line.strip():
            if self._paragraph:
                self._flush()
        elif line.startswith("//") and not line.startswith("///"):
            return
        elif heading := _HEADING.match(line):
            self._heading(len(heading[1]), _plain(heading[2]))
        elif _FENCE.match(line):
            self._flush()
            named = _SEPARATED.match(self.lines[self._position - 2])
            rows = [self._filled(row) for row in self._until(line)]
            if separator := _SEPARATORS.get(named[1] if named else line[0]):
                self.into.table(
                    [[_plain(cell) for cell in row] for row in csv.reader(rows, delimiter=separator) if row]
                )
            else:
                self.into.table(repeat_merged(_rows(rows)))
        elif fence := _VERBATIM.match(line):
            self._flush()
            above = self.lines[max(self._position - 2, 0)]
            content = "\n".join(map(self._filled if _SUBSTITUTED.match(above) else str, self._until(line)))
            if not fence[1].startswith("/"):  # a comment
                self.into.code(content)
        elif attribute := _ATTRIBUTE.match(line):
            self._property(attribute[1], attribute[2])
        elif macro := _MACRO.match(line):
            self._flush()
            self.into.prose(macro[3].split(",")[0].strip('" ') if macro[1] == "image" else "")
        elif caption := _CAPTION.match(line):
            self._flush()
            self.into.prose(_plain(caption[1]))
        elif item := _ITEM.match(line):
            self._item(item)
        elif _FRAME.match(line) or (_BLOCK_ATTRIBUTES.match(line) and not self._paragraph) or line.strip() == "+":
            if not self.lines[self._position - 2].strip():  # inside an item, there is a + above it
                self._flush()
        elif self._items and self.lines[self._position - 2].strip():
            self._items[-1] += f" {_plain(line.strip())}"
        else:
            if self._items:
                self._flush()
            self._paragraph.append(_plain(line))

    def _heading(self, level: int, text: str) -> None:
        self._flush()
        if level == 1:
            self._attributes.setdefault("doctitle", text)
            self.properties.setdefault("title", text)
        self.into.heading(text, level)

    def _property(self, name: str, value: str) -> None:
        while value.endswith(" \\") and self._position < len(self.lines):
            value = f"{value[:-2]} {self._filled(self.lines[self._position]).strip()}"
            self._position += 1
        self._define(name, value.strip())
        if name in _PROPERTIES and value.strip():
            self.properties[_PROPERTIES[name]] = value.strip()

    def _define(self, name: str, value: str) -> None:
        if "!" in name or len(value) > _LONGEST_VALUE:
            self._attributes.pop(name.strip("!").lower(), None)
        else:
            self._attributes[name.lower()] = value

    def _until(self, fence: str) -> Iterator[str]:
        """Yield the lines up to the fence that ends a block."""
        while (line := self._next()) is not None:
            if line.rstrip() == fence.rstrip():
                return
            yield line

    def _item(self, item: re.Match[str]) -> None:
        if self._paragraph:
            self._flush()
        mark = item[2]
        depth = max(len(mark) - 1 if mark[0] in "*-." else 0, len(item[1].expandtabs()) // 2)
        shown = mark if mark[0].isdigit() else "1." if mark[0] == "." else "-"
        if mark[0] == ".":
            indent = "  " * depth
            above = chain(reversed(self._items), reversed(self._above))
            before = next((line for line in above if not line.startswith(indent + " ")), "")
            number = re.match(rf"{indent}(\d+)\. ", before)
            shown = f"{int(number[1]) + 1}." if number else "1."
        self._items.append(f"{'  ' * depth}{shown} {_plain(item[3])}")


def _rows(lines: Sequence[str]) -> Iterator[list[Cell]]:
    """Yield the rows of a table. Its first line with several cells gives the number of columns."""
    per_line = [list(_cells(line)) for line in lines if line.strip()]
    width = next((sum(cell.columns for cell in cells) for cells in per_line if len(cells) > 1), 1)
    if all(len(cells) != 1 for cells in per_line):
        yield from (cells for cells in per_line if cells)
        return
    row: list[Cell] = []
    for cell in (cell for cells in per_line for cell in cells):
        row.append(cell)
        if sum(one.columns for one in row) >= width:
            yield row
            row = []
    if row:
        yield row


def _cells(line: str) -> Iterator[Cell]:
    marks = list(_CELL.finditer(line))
    for mark, after in zip_longest(marks, marks[1:]):
        text = line[mark.end() : after.start() if after else len(line)]
        if after is None and not text.strip() and len(marks) > 1:
            return  # a separator at the end of the line
        yield Cell(_plain(text.strip()), number(mark[1], 1), number(mark[2], 1))


def _plain(text: str) -> str:
    """Return inline text without markup, with the form that carries meaning and the addresses of links."""
    text = _LITERAL.sub(lambda part: part[1] or part[2] or "", text)
    text = _ROLE.sub("", _STRUCK.sub(lambda part: struck(part[1]), _LINK.sub(_linked, text)))
    text = _SHIFTED.sub(lambda part: (raised if part[1] == "^" else lowered)(part[2]), text)
    return _EMPHASIS.sub(r"\2", text)


def _linked(link: re.Match[str]) -> str:
    if link[4] or link[1] in ("xref:", "image:"):
        return link[4] or link[3] or link[0]
    return linked(link[3] or link[2], link[2])


READER = Reader(
    name="asciidoc", version=7, read=read_asciidoc, mime_types=("text/x-source-code",), suffixes=(".adoc", ".asciidoc")
)
