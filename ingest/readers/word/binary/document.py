"""Converts the text, notes, comments, text boxes, headers and footers of a .doc to the parts of a .docx."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from ingest.readers.shared.package_writer import Related, escaped, quoted, write_package
from ingest.readers.word.binary.file import Run, WordFile, properties_of, word
from ingest.readers.word.binary.parts import is_deleted, lists, paragraph_properties, run_properties, styles
from ingest.readers.word.binary.tables import Paragraph, blocks

_TEXT, _NOTES, _HEADERS, _MACROS, _COMMENTS, _ENDNOTES, _BOXES, _HEADER_BOXES = range(8)
_SPECIAL, _SYMBOL, _IN_DATA = 0x0855, 0x6A09, 0x6A03
_PICTURE, _UNDEFINED, _LARGEST_FIELD = "\x01", 25, 1 << 16
_SECTIONS, _HEADER_PLACES, _SETTINGS, _AUTHORS, _TITLE_PAGE = 6, 11, 31, 36, 0x300A
_HEADER_USES = (("header", "even"), ("header", "default"), ("footer", "even"), ("footer", "default"),
                ("header", "first"), ("footer", "first"))  # fmt: skip
_PARAGRAPH = re.compile("[^\r\x07\x0c]*[\r\x07\x0c]|[^\r\x07\x0c]+")
_TOKEN = re.compile("[^\0-\x1f]+|[\0-\x1f]")
_FIELD_MARKS = {"\x13": "begin", "\x14": "separate", "\x15": "end"}
_CHARACTERS = {"\t": "<w:tab/>", "\x0b": "<w:br/>", "\x1e": "<w:noBreakHyphen/>"}


def converted(file: WordFile) -> bytes:
    """Return the document as a .docx."""
    document = _Document(file)
    parts = {
        "document": f"<w:body>{document.body()}</w:body>",
        "styles": styles(file),
        "numbering": lists(file),
        "settings": "<w:evenAndOddHeaders/>" * (file.part(_SETTINGS)[:1] > b"" and file.part(_SETTINGS)[0] & 1),
        "footnotes": document.remarks("footnote", _NOTES, 2, 3),
        "endnotes": document.remarks("endnote", _ENDNOTES, 46, 47),
        "comments": document.remarks("comment", _COMMENTS, 4, 5),
        **document.headers,
    }
    related = [Related(name, name.rstrip("0123456789"), f"word/{name}.xml") for name in parts]
    return write_package(
        {f"word/{name}.xml": f'<w:{name} xmlns:w="word">{xml}</w:{name}>' for name, xml in parts.items()},
        {"word/document.xml": related},
    )


class _Document:
    """Writes the parts. ``_anchored`` contains the note references and text boxes by their position in the text."""

    def __init__(self, file: WordFile) -> None:
        self._file = file
        self._starts = [0, *accumulate(file.lengths)]
        self._anchored: dict[int, str] = {}
        self.headers: dict[str, str] = {}
        self._order: list[int] = []
        self._fields: list[bool] = []  # whether each open field is still in its code
        for story, boxes, anchors in ((_BOXES, 56, 40), (_HEADER_BOXES, 58, 41)):
            self._anchor_boxes(story, boxes, self._starts[_TEXT if story == _BOXES else _HEADERS], anchors)
        for kind, index, size in (("footnote", 2, 2), ("endnote", 46, 2), ("comment", 4, 30)):
            self._anchor_references(kind, *file.places(index, size))
        self._order = sorted(self._anchored)

    def _anchor_boxes(self, story: int, boxes: int, base: int, anchors: int) -> None:
        """Insert text boxes at the anchors of their shapes. Boxes in groups have no anchor of their own."""
        places, shapes = self._file.places(anchors, 26)
        anchor_of = {shape[:4]: base + place for shape, place in zip(shapes, places, strict=False)}
        starts, entries = self._file.places(boxes, 22)
        end = base + self._file.lengths[_TEXT if story == _BOXES else _HEADERS] - 1
        for index, entry in enumerate(entries[:-1]):
            start = self._starts[story]
            content = self.story(start + starts[index], start + starts[index + 1])
            place = anchor_of.get(entry[14:18], end)
            self._anchored[place] = self._anchored.get(place, "") + f"<w:txbxContent>{content}</w:txbxContent>"

    def _anchor_references(self, kind: str, places: list[int], entries: list[bytes]) -> None:
        for number, (place, entry) in enumerate(zip(places, entries, strict=False), start=1):
            own_mark = ' w:customMarkFollows="1"' if kind != "comment" and not any(entry) else ""
            reference = f'<w:{kind}Reference w:id="{number}"{own_mark}/>'
            self._anchored[place] = self._anchored.get(place, "") + reference

    def body(self) -> str:
        """Return the main text with the headers and footers of its sections."""
        return self.story(0, self._file.lengths[_TEXT]) + "".join(self._sections())

    def story(self, start: int, end: int) -> str:
        """Return the paragraphs and tables between two places."""
        self._fields = []
        return blocks(self._paragraphs(start, min(end, len(self._file.text))))

    def _paragraphs(self, start: int, end: int) -> Iterator[Paragraph]:
        for found in _PARAGRAPH.finditer(self._file.text, start, end):
            style, properties = self._file.paragraph(found.end() - 1)
            mark = found[0][-1]
            has_mark = mark in "\r\x07\x0c"
            *_, last = self._file.runs(found.end() - 1, found.end())
            is_end_deleted = mark == "\r" and is_deleted(last.properties)
            content = "".join(self._runs(found.start(), found.end() - has_mark))
            own = paragraph_properties(properties, style, is_end_deleted=is_end_deleted)
            yield Paragraph(f"<w:p>{own}{content}</w:p>", mark, properties)

    def _runs(self, start: int, end: int) -> Iterator[str]:
        for run in self._file.runs(start, end):
            at = run.start
            for anchor in self._anchors(run.start, run.end):
                yield self._run(run._replace(start=at, end=anchor), "")
                yield self._run(run._replace(start=anchor, end=anchor + 1), self._anchored[anchor])
                at = anchor + 1
            yield self._run(run._replace(start=at), "")
        yield from (f"<w:r>{self._anchored[anchor]}</w:r>" for anchor in self._anchors(end, end + 1))

    def _anchors(self, start: int, end: int) -> list[int]:
        return self._order[bisect_left(self._order, start) : bisect_left(self._order, end)]

    def _run(self, run: Run, anchored: str) -> str:
        if is_deleted(run.properties) or run.start >= run.end:
            return ""
        text = self._file.text[run.start : run.end]
        is_special = run.properties.get(_SPECIAL, b"\0")[:1] != b"\0"
        content = anchored + "".join(self._token(token[0], run, is_special) for token in _TOKEN.finditer(text))
        return f"<w:r>{run_properties(run.properties, self._file.fonts)}{content}</w:r>"

    def _token(self, token: str, run: Run, is_special: bool) -> str:
        if token in _FIELD_MARKS:
            self._turn_field(token)
            return f'<w:fldChar w:fldCharType="{_FIELD_MARKS[token]}"/>'
        if is_special and token == "(" and _SYMBOL in run.properties:
            font, code = word(run.properties[_SYMBOL], 0), word(run.properties[_SYMBOL], 2)
            name = self._file.fonts[font] if font < len(self._file.fonts) else "Symbol"
            return f'<w:sym w:font={quoted(name)} w:char="{code:04X}"/>'
        if token == _PICTURE and _IN_DATA in run.properties and self._fields and self._fields[-1]:
            at = int.from_bytes(run.properties[_IN_DATA], "little")
            return _form_field(self._file.data[at : at + _LARGEST_FIELD])
        if token < " ":
            return _CHARACTERS.get(token, "")
        name = "instrText" if self._fields and self._fields[-1] else "t"
        return f"<w:{name}>{escaped(token)}</w:{name}>"

    def _turn_field(self, mark: str) -> None:
        if mark == "\x13":
            self._fields.append(True)
        elif self._fields:
            del self._fields[-1]
            if mark == "\x14":
                self._fields.append(False)

    def remarks(self, kind: str, story: int, references: int, texts: int) -> str:
        """Return the notes or comments of a part."""
        _, entries = self._file.places(references, 30 if kind == "comment" else 2)
        starts, _ = self._file.places(texts, 0)
        authors = list(_texts(self._file.part(_AUTHORS)))
        remarks = []
        for number, entry in enumerate(entries[: max(len(starts) - 1, 0)], start=1):
            author = word(entry, 20) if kind == "comment" else len(authors)
            name = f" w:author={quoted(authors[author])}" if author < len(authors) else ""
            start, end = (self._starts[story] + each for each in starts[number - 1 : number + 1])
            remarks.append(f'<w:{kind} w:id="{number}"{name}>{self.story(start, end)}</w:{kind}>')
        return "".join(remarks)

    def _sections(self) -> Iterator[str]:
        """Yield the sections. Each has six headers and footers, after those of notes. Empty ones are inherited."""
        starts, _ = self._file.places(_HEADER_PLACES, 0)
        _, sections = self._file.places(_SECTIONS, 12)
        for number, section in enumerate(sections):
            parts = []
            first = 6 + 6 * number
            for (kind, use), start, end in zip(_HEADER_USES, starts[first:], starts[first + 1 :], strict=False):
                if end > start:
                    name, base = f"{kind}{len(self.headers)}", self._starts[_HEADERS]
                    self.headers[name] = self.story(base + start, base + end)
                    parts.append(f'<w:{kind}Reference w:type="{use}" w:id="{name}"/>')
            yield f"<w:sectPr>{''.join(parts)}{self._title_page(section)}</w:sectPr>"

    def _title_page(self, section: bytes) -> str:
        at = int.from_bytes(section[2:6], "little")
        size = word(self._file.main, at) if at < len(self._file.main) else 0
        on = properties_of(self._file.main[at + 2 : at + 2 + size]).get(_TITLE_PAGE, b"\0")[:1] != b"\0"
        return "<w:titlePg/>" * on


def _form_field(data: bytes) -> str:
    """Return the text that a check box or drop-down list shows."""
    at = word(data, 4)
    if data[at : at + 4] != b"\xff\xff\xff\xff":  # the data of a link
        return ""
    kind, chosen = data[at + 4] & 3, data[at + 4] >> 2 & 31
    at += 14 + 2 * word(data, at + 10)  # behind the name
    chosen = word(data, at) if chosen == _UNDEFINED else chosen
    if kind == 0:
        return ""
    shown = "[x]" if chosen else "[ ]"
    if kind == 2:
        for _ in range(5):  # texts of help, and macros
            at += 4 + 2 * word(data, at + 2)
        choices = list(_texts(data[at + 8 :]))[: word(data, at + 4)]
        shown = choices[chosen] if chosen < len(choices) else ""
    return f'<w:fldChar w:fldCharType="separate"/><w:t>{escaped(shown)}</w:t>'


def _texts(data: bytes) -> Iterator[str]:
    at = 0
    while at + 2 <= len(data):
        length = word(data, at)
        yield data[at + 2 : at + 2 + 2 * length].decode("utf-16-le", "replace")
        at += 2 + 2 * length
