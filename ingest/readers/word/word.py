"""Reads Word: headings with their numbers, lists with their markers, tables with merged cells, notes and comments.

kreuzberg omits heading numbers, charts, comments and checked boxes, and shifts the rows of tables with merged cells.
Alternative chunks (files of other formats in the body) are read in place. Headers and footers are written last, unless
the body has the same text. Deleted text and field codes are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, takewhile
from xml.etree.ElementTree import Element

from ingest.errors import ParseError
from ingest.reader import Reader, ReaderRegistry, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.file_type import detect_mime_type
from ingest.readers.shared.numerals import format_count
from ingest.readers.shared.ooxml import Package, attribute, comment_line, description, is_on, local_name, number, texts
from ingest.readers.shared.page_headers import PAGE_NUMBER, PageHeaders
from ingest.readers.word.numbering import Numbering
from ingest.readers.word.styles import Style, read_styles
from ingest.readers.word.text import TextReader, blocks, inside, letters, only_cell, own_mark, visible
from vectorstore.models import Scalar

_BODY_LEVEL = 9  # the outline level that means "no heading"


def read_word(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's blocks to the builder; return its properties."""
    package = Package(request.data, request.path)
    main = next(iter(package.related("", "officeDocument")), "word/document.xml")
    body = package.xml(main).find("{*}body")
    if body is not None:
        writer = _Body(request, package, main, body, into)
        writer.write(body)
        _write_headers(package, main, body, writer.reader, into)
        if writer.reader.hidden_words:
            into.warn(f"{writer.reader.hidden_words:,} words of hidden text were left out.")
    return package.properties(into)


# The body


class _Body:
    """Writes the elements of a body into a builder, in order. Consecutive items become one list."""

    def __init__(self, request: ReadRequest, package: Package, main: str, body: Element, into: DocumentBuilder) -> None:
        self._request, self._package, self._into = request, package, into
        self._relations = package.relations(main)
        self._styles = read_styles(package, main)
        self._numbering = Numbering.read(package, main, self._styles)
        self.reader = TextReader(self._styles, package.links(main), dict(_note_marks(package, main, body)))
        self._notes = {
            kind: dict(_remarks(package, main, f"{kind}s", kind, self.reader))
            for kind in ("footnote", "endnote", "comment")
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
                repeated = takewhile(lambda row: is_on(row.find("{*}trPr/{*}tblHeader")), inside(block, "tr"))
                self._into.table(list(self._rows(block)), header_rows=max(sum(1 for _ in repeated), 1))
                self._write_attached(block)
        self._flush()

    def _flush(self) -> None:
        self._into.list_items(self._items)
        self._items = []

    def _write_paragraph(self, paragraph: Element) -> None:
        text = self.reader.text_of(paragraph).strip()
        heading = self._heading_level(paragraph)
        mark, level = self._mark(paragraph, text)
        if heading is not None and text:
            self._flush()
            self._into.heading(f"{mark} {text}" if mark and mark != "-" else text, heading)
        elif mark is not None and text:
            self._items.append(f"{'  ' * level}{mark} {' '.join(text.split())}")
        elif text:
            self._flush()
            self._into.prose(text)
        self._write_attached(paragraph)

    def _heading_level(self, paragraph: Element) -> int | None:
        outline = attribute(paragraph.find("{*}pPr/{*}outlineLvl"), "val")
        if number(outline, _BODY_LEVEL) < _BODY_LEVEL:
            return number(outline) + 1
        for style in self._ancestry(paragraph):
            if style.name == "title":
                return 1
            if style.outline is not None:
                return style.outline + 1 if style.outline < _BODY_LEVEL else None
            if style.name.startswith("heading ") and style.name[8:].isdecimal():
                return number(style.name[8:], 1)
        return None

    def _ancestry(self, paragraph: Element) -> list[Style]:
        """Return the paragraph's style and the styles that it is based on."""
        return list(self._styles.ancestry(attribute(paragraph.find("{*}pPr/{*}pStyle"), "val")))

    def _mark(self, paragraph: Element, text: str) -> tuple[str | None, int]:
        """Return the paragraph's list marker and its depth in the list. Empty paragraphs count, hidden ones do not."""
        if not text and is_on(paragraph.find("{*}pPr/{*}rPr/{*}vanish")):
            return None, 0
        properties = paragraph.find("{*}pPr/{*}numPr")
        numbering = attribute(properties.find("{*}numId"), "val") if properties is not None else ""
        level = attribute(properties.find("{*}ilvl"), "val") if properties is not None else ""
        ancestry = self._ancestry(paragraph)
        if not numbering:
            numbering = next((style.numbering for style in ancestry if style.numbering), "")
        depth = number(level) if level else self._numbering.level_of(numbering, ancestry)
        return self._numbering.mark(numbering, depth), depth

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
                case "chart" | "relIds" as kind:
                    relation = self._relations.get(attribute(element, "dm" if kind == "relIds" else "id"))
                    if relation is not None:
                        self._flush()
                        self._package.write_graphic(element, relation.target, self._into)
                case "docPr":
                    self._flush()
                    self._into.prose(description(element))
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
            else:
                text = self.reader.text_of(block).strip()
                mark, _ = self._mark(block, text)
                parts.append(f"{mark or ''} {text}".strip() if text or mark != "-" else "")
        return "\n".join(part for part in parts if part)


def _note_marks(package: Package, main: str, body: Element) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the kind and id of each note with the mark that Word prints: notes are counted in the order of the text.

    The properties of a section are in its last paragraph. A note whose own mark is not in its run has an empty mark.
    """
    formats = {"footnote": "decimal", "endnote": "lowerRoman"}
    counts = dict.fromkeys(formats, 0)
    for settings in map(package.xml, package.related(main, "settings")):
        formats = _note_formats(settings, formats, counts)
    runs: list[Element] = []
    section = body
    for part in chain(body.iter(), [body]):
        name = local_name(part)
        if name == "r":
            runs.append(part)
        elif name == "sectPr" and section is body:
            section = part
        elif part is body or (name == "p" and section is not body):
            of_section = _note_formats(section, formats, counts)
            for run, element in ((holder, element) for holder in runs for element in holder):
                kind = local_name(element).removesuffix("Reference")
                if kind in formats and kind != local_name(element):
                    is_own = is_on(element, "customMarkFollows")
                    counts[kind] += not is_own
                    own = own_mark(run) if is_own else None
                    counted = "" if is_own else format_count(counts[kind], of_section[kind])
                    yield (kind, attribute(element, "id")), counted if own is None else letters(own)
            runs, section = [], body


def _note_formats(owner: Element, formats: Mapping[str, str], counts: dict[str, int]) -> dict[str, str]:
    """Return the number formats of notes in a section or a document. Sets the counts where it begins with a number."""
    for kind in formats:
        start = attribute(owner.find(f"{{*}}{kind}Pr/{{*}}numStart"), "val")
        counts[kind] = number(start, counts[kind] + 1) - 1
    own = ((kind, attribute(owner.find(f"{{*}}{kind}Pr/{{*}}numFmt"), "val")) for kind in formats)
    return {kind: style or formats[kind] for kind, style in own}


def _remarks(package: Package, main: str, relation: str, kind: str, reader: TextReader) -> Iterator[tuple[str, str]]:
    """Yield notes or comments with their ids, as they are written after their paragraph."""
    for part in package.related(main, relation):
        for remark in package.xml(part).iterfind(f"{{*}}{kind}"):
            identity = attribute(remark, "id")
            body = " ".join(
                " ".join(texts(paragraph)) if kind == "comment" else reader.text_of(paragraph)
                for paragraph in remark.iterfind(".//{*}p")
            ).strip()
            if body and attribute(remark, "type") not in ("separator", "continuationSeparator"):
                author, when = attribute(remark, "author"), attribute(remark, "date")
                noted = f"{reader.mark(kind, identity)} {body}".strip()
                yield identity, comment_line(author, when, body) if kind == "comment" else noted


def _write_headers(package: Package, main: str, body: Element, reader: TextReader, into: DocumentBuilder) -> None:
    """Add the lines that are only in headers and footers to the builder, each once and without page numbers."""
    headers = PageHeaders(into)
    reader.page_number = PAGE_NUMBER
    for label, part in dict.fromkeys(_printed(package, main, body)):
        headers.write(label, map(reader.text_of, _paragraphs(package.xml(part))))


def _printed(package: Package, main: str, body: Element) -> Iterator[tuple[str, str]]:
    """Yield the label and the part of each header and footer. Word keeps parts that no page shows."""
    relations = package.relations(main)
    settings = [package.xml(part) for part in package.related(main, "settings")]
    has_even = any(is_on(each.find("{*}evenAndOddHeaders")) for each in settings)
    current: dict[tuple[str, str], tuple[str, str]] = {}  # a section without a header continues that of the one before
    for section in body.iterfind(".//{*}sectPr"):
        for reference in section:
            relation = relations.get(attribute(reference, "id"))
            if relation and relation.kind in ("header", "footer"):
                current[attribute(reference, "type"), relation.kind] = relation.kind.capitalize(), relation.target
        shown = {"default": True, "first": is_on(section.find("{*}titlePg")), "even": has_even}
        yield from (printed for (use, _), printed in current.items() if shown.get(use))


def _paragraphs(element: Element) -> Iterator[Element]:
    for inner in visible(element):
        if local_name(inner) == "p":
            yield inner
        elif local_name(inner) == "txbxContent":
            yield from _paragraphs(inner)


READER = Reader(name="word", version=10, read=read_word, mime_types=("*wordprocessingml*", "*ms-word*"))
