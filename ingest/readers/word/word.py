"""Reads Word: headings with their numbers, lists with their markers, tables with merged cells, notes and comments.

kreuzberg omits heading numbers, charts, comments and checked boxes, and shifts the rows of tables with merged cells.
Alternative chunks (files of other formats in the body) are read in place. Headers and footers are written last, unless
the body has the same text. Deleted text and field codes are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from xml.etree.ElementTree import Element

from ingest.errors import ParseError
from ingest.reader import Reader, ReaderRegistry, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.file_type import detect_mime_type
from ingest.readers.shared.ooxml import Package, attribute, comment_line, local_name, number, texts
from ingest.readers.word.headers import write_headers
from ingest.readers.word.text import blocks, inside, only_cell, text_of, visible
from vectorstore.models import Scalar

_BODY_LEVEL = 9  # the outline level that means "no heading"
_MAX_STYLE_DEPTH = 20
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


def read_word(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's blocks to the builder; return its properties."""
    package = Package(request.data, request.path)
    main = next(iter(package.related("", "officeDocument")), "word/document.xml")
    body = package.xml(main).find("{*}body")
    if body is not None:
        _Body(request, package, main, into).write(body)
        write_headers(package, main, body, into)
    return package.properties()


# Styles and numbers


@dataclass(frozen=True, slots=True)
class _Style:
    name: str
    base: str
    outline: int | None
    numbering: str
    level: int


def _styles(package: Package, main: str) -> dict[str, _Style]:
    styles = {}
    for part in package.related(main, "styles"):
        for style in package.xml(part).iterfind("{*}style"):
            outline = attribute(style.find("{*}pPr/{*}outlineLvl"), "val")
            styles[attribute(style, "styleId")] = _Style(
                name=attribute(style.find("{*}name"), "val").lower(),
                base=attribute(style.find("{*}basedOn"), "val"),
                outline=int(outline) if outline.isdecimal() else None,
                numbering=attribute(style.find("{*}pPr/{*}numPr/{*}numId"), "val"),
                level=number(attribute(style.find("{*}pPr/{*}numPr/{*}ilvl"), "val")),
            )
    return styles


@dataclass(frozen=True, slots=True)
class _Level:
    """The marker format of one list level."""

    format: str
    pattern: str
    start: int


@dataclass
class _Numbering:
    """The lists of a document and their counters."""

    lists: Mapping[str, str]
    levels: Mapping[str, Mapping[int, _Level]]
    restarts: dict[tuple[str, int], int]
    counts: dict[str, dict[int, int]] = field(default_factory=dict)

    @staticmethod
    def read(package: Package, main: str) -> _Numbering:
        lists, levels, restarts = {}, {}, {}
        for part in package.related(main, "numbering"):
            root = package.xml(part)
            for abstract in root.iterfind("{*}abstractNum"):
                levels[attribute(abstract, "abstractNumId")] = dict(_levels(abstract))
            for instance in root.iterfind("{*}num"):
                identity = attribute(instance, "numId")
                lists[identity] = attribute(instance.find("{*}abstractNumId"), "val")
                for override in instance.iterfind("{*}lvlOverride"):
                    start = attribute(override.find("{*}startOverride"), "val")
                    if start.isdecimal():
                        restarts[identity, number(attribute(override, "ilvl"))] = int(start)
        return _Numbering(lists, levels, restarts)

    def mark(self, identity: str, level: int) -> str | None:
        """Count one paragraph and return its marker: ``-``, a number as printed, or None outside lists."""
        abstract = self.lists.get(identity)
        defined = self.levels.get(abstract or "", {})
        if abstract is None or level not in defined:
            return None
        counts = self.counts.setdefault(abstract, {})
        restart = self.restarts.pop((identity, level), None)
        counts[level] = restart if restart is not None else counts.get(level, defined[level].start - 1) + 1
        for deeper in [known for known in counts if known > level]:
            del counts[deeper]
        if defined[level].format in ("bullet", "none", ""):
            return "-"
        mark = defined[level].pattern
        for index, definition in defined.items():
            count = counts.get(index, definition.start)
            mark = mark.replace(f"%{index + 1}", _format_count(count, definition.format))
        return mark.strip() or "-"


def _levels(abstract: Element) -> Iterator[tuple[int, _Level]]:
    for level in abstract.iterfind("{*}lvl"):
        yield (
            number(attribute(level, "ilvl")),
            _Level(
                format=attribute(level.find("{*}numFmt"), "val", "decimal"),
                pattern=attribute(level.find("{*}lvlText"), "val"),
                start=number(attribute(level.find("{*}start"), "val", "1")),
            ),
        )


def _format_count(count: int, style: str) -> str:
    match style:
        case "lowerLetter" | "upperLetter":
            letter = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1) if 0 < count < 1000 else str(count)
            return letter.upper() if style == "upperLetter" else letter
        case "lowerRoman" | "upperRoman":
            roman = _roman(count)
            return roman.upper() if style == "upperRoman" else roman
        case "decimalZero":
            return f"{count:02}"
        case _:
            return str(count)


def _roman(count: int) -> str:
    if not 0 < count < 4000:
        return str(count)
    numeral = ""
    for value, letters in _ROMAN:
        numeral += letters * (count // value)
        count %= value
    return numeral


# The body


class _Body:
    """Writes the elements of a body into a builder, in order. Consecutive items become one list."""

    def __init__(self, request: ReadRequest, package: Package, main: str, into: DocumentBuilder) -> None:
        self._request = request
        self._package = package
        self._into = into
        self._relations = package.relations(main)
        self._styles = _styles(package, main)
        self._numbering = _Numbering.read(package, main)
        self._notes = {
            kind: dict(_remarks(package, main, f"{kind}s", kind)) for kind in ("footnote", "endnote", "comment")
        }
        self._items: list[str] = []

    def write(self, body: Element) -> None:
        """Write all blocks of an element."""
        for block in blocks(body):
            if local_name(block) == "p":
                self._write_paragraph(block)
            elif local_name(block) == "altChunk":
                self._write_chunk(block)
            elif (box := only_cell(block)) is not None:
                self.write(box)
            else:
                self._flush()
                repeated = takewhile(_is_repeated, inside(block, "tr"))
                self._into.table(list(self._rows(block)), header_rows=max(sum(1 for _ in repeated), 1))
                self._write_attached(block)
        self._flush()

    def _flush(self) -> None:
        self._into.list_items(self._items)
        self._items = []

    def _write_paragraph(self, paragraph: Element) -> None:
        text = text_of(paragraph).strip()
        heading = self._heading_level(paragraph)
        mark, level = self._mark(paragraph) if text else (None, 0)
        if heading is not None and text:
            self._flush()
            self._into.heading(f"{mark} {text}" if mark and mark != "-" else text, heading)
        elif mark is not None:
            self._items.append(f"{'  ' * level}{mark} {' '.join(text.split())}")
        elif text:
            self._flush()
            self._into.prose(text)
        self._write_attached(paragraph)

    def _heading_level(self, paragraph: Element) -> int | None:
        outline = attribute(paragraph.find("{*}pPr/{*}outlineLvl"), "val")
        if outline.isdecimal() and int(outline) < _BODY_LEVEL:
            return int(outline) + 1
        for style in self._ancestry(paragraph):
            if style.name == "title":
                return 1
            if style.outline is not None:
                return style.outline + 1 if style.outline < _BODY_LEVEL else None
            if style.name.startswith("heading ") and style.name[8:].isdecimal():
                return int(style.name[8:])
        return None

    def _ancestry(self, paragraph: Element) -> Iterator[_Style]:
        """Yield the paragraph's style and the styles that it is based on."""
        identity = attribute(paragraph.find("{*}pPr/{*}pStyle"), "val")
        for _ in range(_MAX_STYLE_DEPTH):
            style = self._styles.get(identity)
            if style is None:
                return
            yield style
            identity = style.base

    def _mark(self, paragraph: Element) -> tuple[str | None, int]:
        """Return the paragraph's list marker and its depth in the list."""
        properties = paragraph.find("{*}pPr/{*}numPr")
        numbering = attribute(properties.find("{*}numId"), "val") if properties is not None else ""
        level = attribute(properties.find("{*}ilvl"), "val") if properties is not None else ""
        inherited = next((style for style in self._ancestry(paragraph) if style.numbering), None)
        if not numbering and inherited is not None:
            numbering = inherited.numbering
        if not level and inherited is not None:
            level = str(inherited.level)
        return self._numbering.mark(numbering, number(level)), number(level)

    def _write_attached(self, block: Element) -> None:
        """Write what is anchored in a block: notes, comments, text boxes, charts."""
        for element in visible(block):
            match local_name(element):
                case "footnoteReference" | "endnoteReference" | "commentReference":
                    self._write_remark(element)
                case "txbxContent":
                    self._flush()
                    self.write(element)
                case "altChunk":
                    self._write_chunk(element)
                case "chart":
                    relation = self._relations.get(attribute(element, "id"))
                    if relation is not None:
                        self._flush()
                        self._package.chart(relation.target).write(self._into)
                case _:
                    pass

    def _write_remark(self, reference: Element) -> None:
        remark = self._notes[local_name(reference).removesuffix("Reference")].get(attribute(reference, "id"))
        if remark:
            self._flush()
            self._into.prose(remark)

    def _write_chunk(self, chunk: Element) -> None:
        """Write a part of another format, such as HTML or RTF, with the reader of that format."""
        relation = self._relations.get(attribute(chunk, "id"))
        if relation is None:
            return
        self._flush()
        data, path = self._package.read(relation.target), self._request.path / relation.target
        mime_type, _ = detect_mime_type(path, data)
        request = replace(self._request, data=data, path=path, mime_type=mime_type)
        try:
            ReaderRegistry().find(mime_type, path).read(request, self._into)
        except ParseError as error:
            self._into.warn(f"A part of the document was not read. {error}")

    # Tables

    def _rows(self, table: Element) -> Iterator[list[str]]:
        """Yield the rows, one text per column. Merged cells repeat their text in each column and row they cover."""
        above: list[str] = []
        for row in inside(table, "tr"):
            line = [""] * min(number(attribute(row.find("{*}trPr/{*}gridBefore"), "val")), 64)
            for cell in inside(row, "tc"):
                merge = cell.find("{*}tcPr/{*}vMerge")
                is_covered = merge is not None and attribute(merge, "val", "continue") == "continue"
                text = above[len(line)] if is_covered and len(line) < len(above) else self._cell_text(cell)
                width = number(attribute(cell.find("{*}tcPr/{*}gridSpan"), "val", "1")) or 1
                line += [text] * min(width, 256)
            yield line
            above = line

    def _cell_text(self, cell: Element) -> str:
        parts = []
        for block in blocks(cell):
            if local_name(block) == "tbl":
                parts += [" ".join(row) for row in self._rows(block)]
            elif text := text_of(block).strip():
                mark, _ = self._mark(block)
                parts.append(f"{mark} {text}" if mark else text)
        return "\n".join(parts)


def _remarks(package: Package, main: str, relation: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield notes or comments with their ids, as they are written after their paragraph."""
    for part in package.related(main, relation):
        for remark in package.xml(part).iterfind(f"{{*}}{kind}"):
            identity = attribute(remark, "id")
            body = " ".join(
                " ".join(texts(paragraph)) if kind == "comment" else text_of(paragraph)
                for paragraph in remark.iterfind(".//{*}p")
            ).strip()
            if body and attribute(remark, "type") not in ("separator", "continuationSeparator"):
                author, when = attribute(remark, "author"), attribute(remark, "date")
                yield identity, comment_line(author, when, body) if kind == "comment" else f"[{identity}] {body}"


def _is_repeated(row: Element) -> bool:
    """Return whether Word repeats the row as a header on each page."""
    mark = row.find("{*}trPr/{*}tblHeader")
    return mark is not None and attribute(mark, "val", "1") not in ("0", "false", "off")


READER = Reader(name="word", version=3, read=read_word, mime_types=("*wordprocessingml*", "*ms-word*"))
