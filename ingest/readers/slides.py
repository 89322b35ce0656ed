"""Reads PowerPoint: a page per slide with its title as heading, its lists, tables, charts, notes and comments.

kreuzberg fails on slides with damaged pictures and omits charts, comments and merged cells. A slide's text is in the
order of its shapes, its title first. Footers, and the text of layouts and masters, are written once, with the first
slide that shows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from xml.etree.ElementTree import Element

from ingest.reader import Reader, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.form import Piece, write_pieces
from ingest.readers.shared.formulas import formula_to_latex
from ingest.readers.shared.merged_cells import Cell, repeat_merged
from ingest.readers.shared.numerals import format_count
from ingest.readers.shared.ooxml import Package, attribute, comment_line, description, local_name, number, texts
from ingest.readers.shared.symbols import in_font
from vectorstore.models import Scalar

_TITLES = {"title", "ctrTitle"}
_FOOTERS = {"ftr", "dt"}
_IGNORED = {*_FOOTERS, "sldNum", "hdr", "sldImg"}
_OWN_MARK = re.compile(r"(?:[-*•–]|\d{1,3}[.)])\s")
_COUNTS = {
    "alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman",
    "circle": "decimalEnclosedCircle", "ea1": "chineseCounting", "arabicDb": "decimalFullWidth", "hebrew": "hebrew2",
    "thaiAlpha": "thaiLetters",
}  # fmt: skip
_LISTED = {"body", "obj", ""}
"""Types of placeholders whose paragraphs are list items by the layout."""


def read_presentation(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the slides' blocks and pages to the builder; return the properties of the presentation."""
    package = Package(request.data, request.path)
    main = next(iter(package.related("", "officeDocument")), "ppt/presentation.xml")
    people = (each for part in package.related(main, "commentAuthors", "authors") for each in package.xml(part))
    authors = {author.get("id", ""): author.get("name", "") for author in people}
    relations = package.relations(main)
    shared = _SharedText(package, into)
    slides = [attribute(entry, "id") for entry in package.xml(main).iterfind(".//{*}sldId")]
    for page, relation in enumerate((relations[slide] for slide in slides if slide in relations), start=1):
        into.page(page)
        _Slide(package, relation.target, into).write(authors)
        shared.write(relation.target)
    return package.properties(into)


class _Slide:
    """Writes one slide into a builder."""

    def __init__(self, package: Package, name: str, into: DocumentBuilder) -> None:
        self._package, self._name = package, name
        self._relations = package.relations(name)
        self._links = package.links(name)
        self._into = into

    def write(self, authors: dict[str, str]) -> None:
        """Write the slide: its title first, and boxes that stand in rows in the order of reading."""
        slide = self._package.xml(self._name)
        if slide.get("show") in ("0", "false"):
            self._into.prose("(hidden slide)")
        shapes = in_reading_order(list(_shapes(slide.find(".//{*}spTree"))))
        for shape in sorted(shapes, key=lambda shape: _placeholder(shape) not in _TITLES):
            self._write_shape(shape)
        for part in self._package.related(self._name, "notesSlide"):
            self._write_notes(part)
        for part in self._package.related(self._name, "comments"):
            self._write_comments(part, authors)

    def _write_shape(self, shape: Element) -> None:
        kind = _placeholder(shape)
        body = shape.find("{*}txBody")
        if local_name(shape) == "graphicFrame":
            self._write_graphic(shape)
        elif local_name(shape) == "pic":
            self._into.prose(description(shape.find("./{*}nvPicPr/{*}cNvPr")))
        elif body is not None and kind in _TITLES:
            self._into.heading(" ".join(_text(paragraph) for paragraph in body.iterfind("{*}p")), level=1)
        elif body is not None and kind not in _IGNORED:
            self._write_text(body.findall("{*}p"), listed=kind in _LISTED)
        if address := self._links.get(attribute(shape.find("./*/{*}cNvPr/{*}hlinkClick"), "id")):
            self._into.prose(f"({address})")

    def _write_graphic(self, frame: Element) -> None:
        table = frame.find(".//{*}tbl")
        if table is not None:
            self._into.table(repeat_merged(_cells(row, self._links) for row in table.iterfind("{*}tr")))
        for name, identity in (("chart", "id"), ("relIds", "dm")):
            for graphic in frame.iterfind(f".//{{*}}{name}"):
                relation = self._relations.get(attribute(graphic, identity))
                if relation is not None:
                    self._package.write_graphic(graphic, relation.target, self._into)

    def _write_text(self, paragraphs: Sequence[Element], *, listed: bool) -> None:
        """Write paragraphs, and lists of those that have a bullet of their own or by the slide's layout."""
        filled = [paragraph for paragraph in paragraphs if _text(paragraph).strip()]
        items: list[str] = []
        numbers: dict[int, int] = {}
        schemes: dict[int, tuple[str, int]] = {}
        for paragraph in filled:
            if not _is_item(paragraph, listed=listed and len(filled) > 1):
                self._into.list_items(items)
                items, numbers = [], {}
                self._into.prose(_text(paragraph, self._links))
                continue
            level = _level(paragraph)
            numbers = {depth: count for depth, count in numbers.items() if depth <= level}
            mark = "-"
            automatic = paragraph.find("{*}pPr/{*}buAutoNum")
            if automatic is not None:
                scheme = automatic.get("type", ""), number(automatic.get("startAt"), 1)
                if schemes.get(level) != scheme:  # another scheme begins another list
                    numbers[level] = scheme[1] - 1
                schemes[level] = scheme
                numbers[level] = numbers.get(level, scheme[1] - 1) + 1
                mark = _number_mark(numbers[level], scheme[0])
            text = " ".join(_text(paragraph, self._links).split())
            items.append("  " * level + (text if _OWN_MARK.match(text) else f"{mark} {text}"))
        self._into.list_items(items)

    def _write_notes(self, part: str) -> None:
        for shape in _shapes(self._package.xml(part).find(".//{*}spTree")):
            body = shape.find("{*}txBody")
            if body is not None and _placeholder(shape) not in _IGNORED:
                text = "\n".join(_text(paragraph) for paragraph in body.iterfind("{*}p")).strip()
                self._into.prose(f"Notes: {text}" if text else "")

    def _write_comments(self, part: str, authors: dict[str, str]) -> None:
        for comment in self._package.xml(part).iter():
            if local_name(comment) in ("cm", "reply"):
                text = comment.findtext("{*}text") or " ".join(texts(comment.find("{*}txBody") or comment))
                when = comment.get("dt", comment.get("created", ""))
                self._into.prose(comment_line(authors.get(comment.get("authorId", ""), ""), when, text))


class _SharedText:
    """Writes text that many slides show only once, with the first slide that shows it."""

    def __init__(self, package: Package, into: DocumentBuilder) -> None:
        self._package, self._into = package, into
        self._parts: set[str] = set()
        self._footers: set[str] = set()

    def write(self, slide: str) -> None:
        """Write the footers of the slide, and the text of its layout and master unless it hides them."""
        for shape in _shapes(self._package.xml(slide).find(".//{*}spTree")):
            text = _shape_text(shape)
            is_generated = shape.find(".//{*}fld") is not None  # today's date
            if _placeholder(shape) in _FOOTERS and not is_generated and text not in self._footers:
                self._footers.add(text)
                self._into.prose(f"Footer: {text}" if text else "")
        part = slide
        for kind in ("slideLayout", "slideMaster"):
            is_hidden = self._package.xml(part).get("showMasterSp") in ("0", "false")
            part = next(iter(self._package.related(part, kind)), "")
            if is_hidden or not part:
                return
            if part not in self._parts:
                self._parts.add(part)
                self._write_part(part)

    def _write_part(self, part: str) -> None:
        """Write the text of a layout or master. The text of its placeholders is a prompt that no slide shows."""
        written = " ".join(self._into.text.split())
        for shape in _shapes(self._package.xml(part).find(".//{*}spTree")):
            text = _shape_text(shape) if _placeholder(shape) is None else ""
            words = " ".join(text.split())
            if words and words not in written:
                written += f" {words}"
                self._into.prose(f"Slide master: {text}")


def _shape_text(shape: Element) -> str:
    return "\n".join(_text(paragraph) for paragraph in shape.iterfind(".//{*}txBody/{*}p")).strip()


def _shapes(tree: Element | None) -> Iterator[Element]:
    """Yield the shapes of a tree and of its groups; of alternatives for several program versions, the first."""
    for element in () if tree is None else tree:
        match local_name(element):
            case "sp" | "pic" | "graphicFrame" | "cxnSp" if element.find("./*/{*}cNvPr[@hidden='1']") is None:
                yield element
            case "grpSp" | "Choice":
                yield from _shapes(element)
            case "AlternateContent":
                choice = element.find("{*}Choice")
                yield from _shapes(choice if choice is not None else element.find("{*}Fallback"))
            case _:
                pass


def in_reading_order(shapes: list[Element]) -> list[Element]:
    """Return the shapes with free text boxes by rows, unless they were drawn by rows or by columns.

    Other shapes keep their place among all.
    """
    places = {index: place for index, shape in enumerate(shapes) if (place := _box(shape)) is not None}
    drawn = list(places)
    by_rows = sorted(drawn, key=lambda index: (_band(places, index, 1), places[index][0]))
    by_columns = sorted(drawn, key=lambda index: (_band(places, index, 0), places[index][1]))
    if drawn in (by_rows, by_columns):
        return shapes
    order = dict(zip(drawn, by_rows, strict=True))
    return [shapes[order.get(index, index)] for index in range(len(shapes))]


def _box(shape: Element) -> tuple[int, int, int, int] | None:
    """Return left, top, right and bottom of a free text box, or None for other shapes."""
    start, size = shape.find("{*}spPr/{*}xfrm/{*}off"), shape.find("{*}spPr/{*}xfrm/{*}ext")
    if local_name(shape) != "sp" or _placeholder(shape) is not None or start is None or size is None:
        return None
    left, top = number(start.get("x")), number(start.get("y"))
    return left, top, left + number(size.get("cx")), top + number(size.get("cy"))


def _band(places: Mapping[int, tuple[int, int, int, int]], index: int, axis: int) -> int:
    """Return where the row (axis 1) or column (axis 0) of a box begins: the least start of boxes around its middle."""
    middle = (places[index][axis] + places[index][axis + 2]) / 2
    return min(place[axis] for place in places.values() if place[axis] <= middle <= place[axis + 2])


def _placeholder(shape: Element) -> str | None:
    """Return the type of the layout's placeholder that the shape fills, or None."""
    found = shape.find("./*/{*}nvPr/{*}ph")
    return None if found is None else found.get("type", "")


def _text(paragraph: Element, links: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the text of a paragraph, with its line breaks and formatting.

    ``links`` are addresses by the id of their relation.
    """
    return write_pieces(_pieces(paragraph, links))


def _pieces(element: Element, links: Mapping[str, str]) -> Iterator[Piece]:
    for child in element:
        match local_name(child):
            case "r" | "fld" if child.find("{*}t") is not None:
                yield _piece(child, links)
            case "t":
                yield Piece(child.text or "")
            case "br":
                yield Piece("\n")
            case "oMath":
                yield Piece(f"${formula_to_latex(child)}$")
            case _:
                yield from _pieces(child, links)


def _piece(run: Element, links: Mapping[str, str]) -> Piece:
    text, properties = run.findtext("{*}t", ""), run.find("{*}rPr")
    if properties is None:
        return Piece(text)
    baseline = properties.get("baseline", "0").rstrip("%")
    shift = "" if not baseline.strip("-0.") else "lowered" if baseline.startswith("-") else "raised"
    fonts = [
        font.get("typeface", "") for name in ("sym", "latin") if (font := properties.find(f"{{*}}{name}")) is not None
    ]
    click = properties.find("{*}hlinkClick")
    return Piece(
        in_font(text, fonts[0] if fonts else ""),
        shift,
        properties.get("strike", "noStrike") != "noStrike",
        "" if click is None else links.get(attribute(click, "id"), ""),
    )


def _level(paragraph: Element) -> int:
    properties = paragraph.find("{*}pPr")
    return 0 if properties is None else min(number(properties.get("lvl")), 8)


def _number_mark(count: int, style: str) -> str:
    """Format a number in a numbering scheme of PowerPoint, such as ``a)`` for ``alphaLcParenR``."""
    shown = format_count(count, next((kind for start, kind in _COUNTS.items() if style.startswith(start)), "decimal"))
    if style.startswith("circle") or style.endswith("Plain"):
        return shown
    if style.endswith("ParenBoth"):
        return f"({shown})"
    return f"{shown})" if style.endswith("ParenR") else f"{shown}."


def _is_item(paragraph: Element, *, listed: bool) -> bool:
    properties = paragraph.find("{*}pPr")
    if properties is None:
        return listed
    if properties.find("{*}buNone") is not None:
        return False
    return listed or any(local_name(mark) in ("buChar", "buAutoNum", "buBlip") for mark in properties)


def _cells(row: Element, links: Mapping[str, str]) -> list[Cell]:
    """Return a row's cells without those that a merged cell covers."""
    cells = []
    for cell in row.iterfind("{*}tc"):
        if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
            continue
        text = "\n".join(_text(paragraph, links) for paragraph in cell.iterfind("./{*}txBody/{*}p"))
        cells.append(Cell(text, number(cell.get("gridSpan"), 1), number(cell.get("rowSpan"), 1)))
    return cells


READER = Reader(name="slides", version=8, read=read_presentation, mime_types=("*presentationml*", "*ms-powerpoint.*"))
