"""Converts the texts, tables, notes, comments, footers and master texts of a .ppt to the parts of a .pptx."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ingest.readers.legacy_slides.records import Presentation, Record
from ingest.readers.legacy_slides.text import Text, read_numbers, texts
from ingest.readers.shared.package_writer import Related, escaped, quoted, write_package

_LIST, _ENTRY, _SLIDES, _MASTERS, _NOTES = 0x0FF0, 0x03F3, 0, 1, 2
_DRAWING, _CANVAS, _GROUP, _SHAPE = 0x040C, 0xF002, 0xF003, 0xF004
_BOX, _DATA, _ANCHOR, _CHILD_ANCHOR = 0xF00D, 0xF011, 0xF010, 0xF00F
_OPTIONS, _IS_TABLE, _EXTENSION, _PLACEHOLDER, _OUTLINE = 0xF122, 0x039F, 0x1388, 0x0BC3, 0x0F9E
_SLIDE_ATOM, _NOTES_ATOM, _SHOW, _HEADERS, _STRING = 0x03EF, 0x03F1, 0x03F9, 0x0FD9, 0x0FBA
_LINKS, _LINK, _LINK_ATOM = (0x0409, 0x0FD7, 0x0FD3)
_FONTS = (0x03F2, 0x07D5)
_COMMENT, _COMMENT_ATOM = 0x2EE0, 0x2EE1
_TYPES = {0: "title", 6: "ctrTitle", 1: "body", 7: "body", 8: "body", 5: "subTitle", 2: "body"}
"""Types of placeholders by the kind of text that they hold."""
_GENERATED = {5: "sldImg", 7: "dt", 8: "sldNum", 9: "ftr", 10: "hdr", 11: "sldImg"}
_NOTHING = Record(0, 0, memoryview(b""))
_MAX_DEPTH = 20


def converted(presentation: Presentation) -> bytes:
    """Return the presentation as a .pptx."""
    return _Converter(presentation).package()


class _Shape(NamedTuple):
    xml: str
    text: str
    place: tuple[int, int, int, int] | None


class _Converter:
    """Writes the parts. ``_parts`` and ``_relations`` contain the result so far."""

    def __init__(self, presentation: Presentation) -> None:
        self._presentation = presentation
        self._document = presentation.document
        entries = self._document.first(*_FONTS).all(0x0FB7)
        self._fonts = [entry.string()[:32].partition("\0")[0] for entry in entries]
        self._addresses = dict(self._links())
        self._authors: dict[str, None] = {}
        self._parts: dict[str, str] = {}
        self._relations: dict[str, list[Related]] = {}

    def _links(self) -> Iterator[tuple[int, str]]:
        for link in self._document.first(_LINKS).all(_LINK):
            target = next((each.string() for each in link.all(_STRING) if each.instance == 1), "")
            yield link.first(_LINK_ATOM).number(0), target

    def package(self) -> bytes:
        """Return all parts."""
        main, names = "ppt/presentation.xml", []
        masters = {
            entry.number(12): self._presentation.persisted(entry.number(0)) for entry, _ in self._listed(_MASTERS)
        }
        notes = [self._presentation.persisted(entry.number(0)) for entry, _ in self._listed(_NOTES)]
        by_slide = {each.first(_NOTES_ATOM).number(0): each for each in notes}
        for number, (entry, outline) in enumerate(self._listed(_SLIDES), start=1):
            names.append(f"ppt/slides/slide{number}.xml")
            slide = self._presentation.persisted(entry.number(0))
            self._write_slide(names[-1], slide, outline)
            self._write_notes(names[-1], by_slide.get(entry.number(12)))
            self._write_master(names[-1], slide, masters)
        self._relate(main, *(Related(f"r{index}", "slide", name) for index, name in enumerate(names)))
        self._relate(main, Related("authors", "commentAuthors", "ppt/authors.xml"))
        identities = "".join(f'<sldId r:id="r{index}"/>' for index in range(len(names)))
        self._parts[main] = f'<presentation xmlns:r="r">{identities}</presentation>'
        authors = "".join(f"<author id={name} name={name}/>" for name in self._authors)
        self._parts["ppt/authors.xml"] = f"<authors>{authors}</authors>"
        return write_package(self._parts, self._relations)

    def _listed(self, instance: int) -> Iterator[tuple[Record, list[Record]]]:
        """Yield the entries of a list of slides, each with the texts of its outline."""
        for found in self._document.all(_LIST):
            if found.instance == instance:
                entry, outline = _NOTHING, list[Record]()
                for record in found.children():
                    if record.kind == _ENTRY:
                        if entry.data:
                            yield entry, outline
                        entry, outline = record, []
                    else:
                        outline.append(record)
                if entry.data:
                    yield entry, outline

    def _relate(self, part: str, *related: Related) -> None:
        self._relations.setdefault(part, []).extend(related)

    def _write_slide(self, name: str, slide: Record, outline: list[Record]) -> None:
        shapes = "".join(shape.xml for shape in self._shapes(slide, texts(outline), name)) + self._footer(slide)
        show = ' show="0"' * bool(slide.first(_SHOW).number(10, 2) & 4)
        master = ' showMasterSp="0"' * (not slide.first(_SLIDE_ATOM).number(20, 2) & 1)
        self._write(name, shapes, show + master)
        comments = "".join(self._comments(slide))
        if comments:
            part = name.replace("slide", "comment")
            self._parts[part] = f"<cmLst>{comments}</cmLst>"
            self._relate(name, Related("comments", "comments", part))

    def _comments(self, slide: Record) -> Iterator[str]:
        for comment in slide.deep(_COMMENT):
            words = {each.instance: each.string() for each in comment.all(_STRING)}
            atom = comment.first(_COMMENT_ATOM)
            year, month, day = (atom.number(at, 2) for at in (4, 6, 10))
            author = quoted(words.get(0, ""))
            self._authors[author] = None
            when = f"{year:04}-{month:02}-{day:02}" if year else ""
            yield f'<cm authorId={author} dt="{when}"><text>{escaped(words.get(1, ""))}</text></cm>'

    def _write(self, name: str, shapes: str, attributes: str = "") -> None:
        self._parts[name] = f'<sld xmlns:r="r"{attributes}><spTree>{shapes}</spTree></sld>'

    def _write_notes(self, slide: str, notes: Record | None) -> None:
        if notes is not None:
            part = slide.replace("slide", "notes")
            self._write(part, "".join(shape.xml for shape in self._shapes(notes, [], part)))
            self._relate(slide, Related("notes", "notesSlide", part))

    def _write_master(self, name: str, slide: Record, masters: dict[int, Record]) -> None:
        identity = slide.first(_SLIDE_ATOM).number(12)
        part = f"ppt/masters/master{identity}.xml"
        if identity in masters:
            if part not in self._parts:
                self._write(part, "".join(shape.xml for shape in self._shapes(masters[identity], [], part)))
            self._relate(name, Related("master", "slideLayout", part))

    def _footer(self, slide: Record) -> str:
        headers = slide.first(_HEADERS)
        is_shown = headers.first(0x0FDA).number(2, 2) & 0x20
        text = next((each.string() for each in headers.all(_STRING) if each.instance == 2), "") if is_shown else ""
        return _shape(f"<p><r><t>{escaped(text)}</t></r></p>", '<ph type="ftr"/>', None) if text else ""

    def _shapes(self, slide: Record, outline: list[Text], part: str) -> Iterator[_Shape]:
        group = slide.first(_DRAWING, _CANVAS, _GROUP)
        return self._group(group, outline, part, 0)

    def _group(self, group: Record, outline: list[Text], part: str, depth: int) -> Iterator[_Shape]:
        """Yield the shapes of a group. A table is a group of cells and lines."""
        first, *rest = [*group.children()] or [_NOTHING]
        if _is_table(first):
            cells = [self._read(shape, outline, part) for shape in rest if next(shape.all(_BOX), None) is not None]
            yield _Shape(_table([cell for cell in cells if cell.place is not None]), "", None)
            return
        for record in rest:
            if record.kind == _SHAPE:
                yield self._read(record, outline, part)
            elif record.kind == _GROUP and depth < _MAX_DEPTH:
                yield from self._group(record, outline, part, depth + 1)

    def _read(self, shape: Record, outline: list[Text], part: str) -> _Shape:
        box, data = shape.first(_BOX), shape.first(_DATA)
        found = texts(box.children())
        reference = next(box.all(_OUTLINE), None)
        if reference is not None and reference.number(0) < len(outline):
            found = [outline[reference.number(0)]]
        text = found[0] if found else Text()
        placeholder = next(data.all(_PLACEHOLDER), None)
        generated = _GENERATED.get(placeholder.number(4, 1)) if placeholder is not None else None
        kind = generated or _TYPES.get(text.kind, "" if placeholder is not None else None)
        place = _place(shape)
        paragraphs = "" if text.has_fields and len(text.text.strip()) < 2 else self._paragraphs(text, data, part)
        mark = f'<ph type="{kind}"/>' if kind is not None else ""
        anchored = place if next(shape.all(_CHILD_ANCHOR), None) is None else None
        return _Shape(_shape(paragraphs, mark, anchored), paragraphs, place)

    def _paragraphs(self, text: Text, data: Record, part: str) -> str:
        links = {link: f"h{link}" for _, _, link in text.links if self._addresses.get(link)}
        known = {each.id for each in self._relations.get(part, ())}
        new = [Related(name, "hyperlink", self._addresses[link], is_outside=True) for link, name in links.items()]
        self._relate(part, *(each for each in new if each.id not in known))
        return text.paragraphs(dict(read_numbers(data)), self._fonts, links)


def _shape(paragraphs: str, placeholder: str, place: tuple[int, int, int, int] | None) -> str:
    left, top, right, bottom = place or (0, 0, 0, 0)
    size = f'<off x="{max(left, 0)}" y="{max(top, 0)}"/><ext cx="{right - left}" cy="{bottom - top}"/>'
    frame = f"<spPr><xfrm>{size}</xfrm></spPr>" if place else ""
    return f"<sp><nvSpPr><nvPr>{placeholder}</nvPr></nvSpPr>{frame}<txBody>{paragraphs}</txBody></sp>"


def _place(shape: Record) -> tuple[int, int, int, int] | None:
    """Return left, top, right and bottom."""
    child, anchor = shape.first(_CHILD_ANCHOR), shape.first(_ANCHOR)
    if len(child.data) >= 16:
        return struct.unpack_from("<4i", child.data)
    if len(anchor.data) >= 8:
        top, left, right, bottom = struct.unpack_from("<4i" if len(anchor.data) >= 16 else "<4h", anchor.data)
        return left, top, right, bottom
    return None


def _is_table(shape: Record) -> bool:
    options = shape.first(_OPTIONS)
    return any(
        options.number(at, 2) & 0x3FFF == _IS_TABLE and options.number(at + 2) & 1
        for at in range(0, min(6 * options.instance, len(options.data)), 6)
    )


def _table(cells: Sequence[_Shape]) -> str:
    """Return the cells as a table. Their edges define its rows and columns."""
    lefts, tops = (sorted({cell.place[side] for cell in cells if cell.place}) for side in (0, 1))
    rows = []
    by_place = sorted(cells, key=lambda cell: (cell.place or (0, 0))[1::-1])
    for _, row in groupby(by_place, key=lambda cell: (cell.place or (0, 0))[1]):
        parts = []
        for cell in row:
            left, top, right, bottom = cell.place or (0, 0, 0, 0)
            columns = bisect_left(lefts, right) - bisect_left(lefts, left)
            lines = bisect_left(tops, bottom) - bisect_left(tops, top)
            parts.append(f'<tc gridSpan="{columns}" rowSpan="{lines}"><txBody>{cell.text}</txBody></tc>')
        rows.append(f"<tr>{''.join(parts)}</tr>")
    return f"<graphicFrame><tbl>{''.join(rows)}</tbl></graphicFrame>"
