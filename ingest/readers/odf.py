"""Reads OpenDocument text and presentations: headings, lists, tables with merged cells, notes, comments, charts.

kreuzberg omits tables, footnotes and most lists of .odt, and does not read .odp. ``sheets/open_sheets.py``
reads spreadsheets. Headers and footers of text documents are written last, unless the body has the same text.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from ingest.errors import EncryptedDocument
from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.element_writer import words
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.form import Piece, is_useful_link, linked, write_pieces
from ingest.readers.shared.merged_cells import Cell, repeat_merged
from ingest.readers.shared.numerals import format_count
from ingest.readers.shared.ooxml import PROPERTIES, Package, attribute, comment_line, local_name, number
from ingest.readers.shared.page_headers import PAGE_NUMBER, PageHeaders
from ingest.readers.shared.symbols import in_font
from vectorstore.models import Scalar

_MANIFEST = "META-INF/manifest.xml"
_MAX_REPEATS = 1024  # programs fill a sheet to its edge with one cell that is repeated a million times
_MAX_EMPTY = 64  # cells at the end of a row
_MAX_LEVEL = 100  # of a heading
_OUTLINE = "outline-style"  # of headings
_SWITCHES = "state", "selected"
_NUMBERS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_DRAWINGS = {"frame", "custom-shape", "g", "line", "rect", "ellipse", "polygon", "path", "connector"}
_LEFT_OUT = {"tracked-changes", "sequence-decls", "forms", "annotation-end", "bookmark", "soft-page-break", "title"}


def read_opendocument(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's blocks, and the pages of a presentation, to the builder; return its properties."""
    package = open_package(request)
    content, styles = read_content(package)
    body = content.find("{*}body")
    if body is not None:
        _fill_controls(body)
        Body(package, content, into, styles).write(body)
    if styles is not None:
        _write_headers(styles, into)
    return properties(package, into)


def open_package(request: ReadRequest) -> Package:
    """Open a document that is not encrypted."""
    package = Package(request.data, request.path)
    if _MANIFEST in package and b"encryption-data" in package.read(_MANIFEST):
        raise EncryptedDocument(f"{request.path} is encrypted. Save a copy without its password and ingest that.")
    return package


def read_content(package: Package) -> tuple[Element, Element | None]:
    """Return the content and the styles of a document, with the forms of the text marked."""
    content = package.xml("content.xml")
    styles = package.xml("styles.xml") if "styles.xml" in package else None
    mark_forms([content] if styles is None else [styles, content])
    return content, styles


def properties(package: Package, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the properties of people's own to the builder. Return the title, authors, dates, keywords and language."""
    if "meta.xml" not in package:
        return {}
    found: dict[str, Scalar] = {}
    entries = package.xml("meta.xml").findall("{*}meta/*")
    own = [each for each in entries if local_name(each) == "user-defined"]
    into.describe((attribute(each, "name"), each.text) for each in own)
    for element in entries:
        key, text = PROPERTIES["opendocument"].get(local_name(element)), (element.text or "").strip()
        if key == "keywords" and text:
            found[key] = f"{found[key]}, {text}" if key in found else text
        elif key and text:
            found.setdefault(key, text)
    return found


def mark_forms(roots: Sequence[Element]) -> None:
    """Set the attribute ``form`` of each element whose style raises, lowers, strikes out or hides its text."""
    forms: dict[str, str] = {}
    fonts: dict[str, str] = {}
    parents: dict[str, str] = {}
    for style in (each for root in roots for each in root.iterfind(".//{*}style")):
        name = attribute(style, "name")
        parents[name] = attribute(style, "parent-style-name")
        properties = style.find("{*}text-properties")
        forms[name] = "" if properties is None else _form(properties)
        fonts[name] = "" if properties is None else attribute(properties, "font-name").rstrip("0123456789")
    for element in (each for root in roots for each in root.iter()):
        name = attribute(element, "style-name")
        form = forms.get(name) or forms.get(parents.get(name, ""), "")
        if form and local_name(element) in ("span", "p", "h", "table-cell"):
            element.set("form", form)
        if font := fonts.get(name) or fonts.get(parents.get(name, ""), ""):
            element.text = in_font(element.text or "", font)
            for child in element:
                child.tail = in_font(child.tail or "", font)


def _form(properties: Element) -> str:
    if attribute(properties, "display") == "none":
        return "hidden"
    position = attribute(properties, "text-position").split(" ")[0]
    is_lowered = position == "sub" or position.startswith("-")
    is_raised = position == "super" or (not is_lowered and position.rstrip("%").strip("0.") != "")
    line = attribute(properties, "text-line-through-style") or attribute(properties, "text-line-through-type")
    return ("raised" if is_raised else "lowered" if is_lowered else "") + (
        " struck" if line not in ("", "none") else ""
    )


def formed(text: str, form: str) -> str:
    """Return text in a form: raised, lowered, struck out or hidden."""
    if "hidden" in form:
        return ""
    return write_pieces([Piece(text, form.split(" ")[0] if form[:1] in "rl" else "", "struck" in form)])


def _count(element: Element, name: str) -> int:
    return number(attribute(element, name), 1)


class Body:
    """Writes the elements of a body into a builder, in order."""

    def __init__(
        self, package: Package, content: Element, into: DocumentBuilder, styles: Element | None = None
    ) -> None:
        self._package, self._into = package, into
        roots = [content] if styles is None else [styles, content]
        self._levels = _list_levels(roots)
        self._styles = {attribute(style, "name"): style for root in roots for style in root.iterfind(".//{*}style")}
        self._outline: tuple[int, ...] = ()
        self._counts: dict[str, int] = {}
        """The next number of each list, by its identity and that of its style."""
        self._titles = {
            name for name, style in self._styles.items() if attribute(style, "parent-style-name") == "Title"
        }
        self._slides = 0
        self._folder = ""  # of the embedded document that is written
        self._written: set[str] = set()

    def write(self, element: Element) -> None:
        """Write the children of an element."""
        for child in element:
            self._write(child)

    def _write(self, element: Element) -> None:
        match local_name(element):
            case "h":
                level = min(max(_count(element, "outline-level"), 1), _MAX_LEVEL)
                is_numbered = attribute(element, "is-list-header") != "true" and _words(element).strip()
                number_of = self._heading_number(level) if is_numbered else ""
                self._into.heading(number_of + _words(element), level)
                self._write_attached(element)
            case "p":
                self._write_paragraph(element)
            case "list":
                self._into.list_items(list(self._list_lines(element)))
                self._write_attached(element)
            case "table":
                self._into.table(repeat_merged(self.rows(element)))
                self._write_attached(element)
            case "page":
                self._slides += 1
                self._into.page(self._slides)
                self._write_slide(element)
            case "annotation":
                self._into.prose(_comment(element))
            case "control":
                self._into.prose(element.text or "")
            case "desc":
                self._into.prose("".join(element.itertext()))
            case "object" | "object-ole":
                self._write_object(element)
            case "section" if attribute(element, "display") == "none":
                pass
            case name if name not in _LEFT_OUT:
                self._into.prose(_link_of_drawing(element))
                self.write(element)
            case _:
                pass

    def _write_paragraph(self, paragraph: Element) -> None:
        if attribute(paragraph, "style-name") in {"Title", *self._titles}:
            self._into.heading(_words(paragraph), level=1)
        else:
            self._into.prose(_words(paragraph))
        self._write_attached(paragraph)

    def _write_attached(self, block: Element) -> None:
        """Write what is anchored in a block: notes, comments, text boxes and charts."""
        for element in _attached(block):
            match local_name(element):
                case "note":
                    body = element.find("{*}note-body")
                    words = "" if body is None else " ".join(_words(part) for part in body.iterfind(".//{*}p"))
                    self._into.prose(f"[{element.findtext('{*}note-citation', '')}] {words}")
                case "annotation":
                    self._into.prose(_comment(element))
                case "text-box" | "custom-shape":
                    self.write(element)
                case "object" | "object-ole":
                    self._write_object(element)
                case "desc":
                    self._into.prose("".join(element.itertext()))
                case _:
                    self._into.prose(_link_of_drawing(element))

    def _write_slide(self, page: Element) -> None:
        """Write a slide: its title, then its frames, then its notes."""
        frames = [child for child in page if local_name(child) not in ("notes", *_LEFT_OUT)]
        for frame in sorted(frames, key=lambda frame: attribute(frame, "class") != "title"):
            if attribute(frame, "class") == "title":
                self._into.heading(" ".join(_words(line) for line in frame.iterfind(".//{*}p")), level=1)
            else:
                self._write(frame)
        notes = page.findall("{*}notes/{*}frame/{*}text-box")
        text = "\n".join(_words(line) for box in notes for line in box.iterfind(".//{*}p")).strip()
        self._into.prose(f"Notes: {text}" if text else "")

    def _list_lines(self, element: Element, above: tuple[int, ...] = (), style: str = "") -> Iterator[str]:
        """Yield the lines of a list. ``above`` are the numbers of the items that it is in."""
        style = attribute(element, "style-name") or style or self._list_style_of(element.find("{*}list-item/*"))
        level = self._levels.get((style, len(above) + 1))
        count = _count(element, "start-value") if level is None else number(attribute(level, "start-value"), 1)
        if attribute(element, "continue-numbering") == "true" or attribute(element, "continue-list"):
            count = self._counts.get(attribute(element, "continue-list") or style, count)
        for item in element:
            count = number(attribute(item, "start-value"), count)
            lines = 0
            for part in item:
                if local_name(part) == "list":
                    yield from self._list_lines(part, (*above, count - bool(lines)), style)
                elif words := " ".join(_words(part).split()):
                    mark = "" if local_name(item) == "list-header" else self._mark(style, (*above, count))
                    yield "  " * len(above) + (mark if not lines else " " * len(mark)) + words
                    count += not lines and local_name(item) != "list-header"
                    lines += 1
        self._counts[style] = self._counts[attribute(element, "id")] = count

    def _list_style_of(self, paragraph: Element | None) -> str:
        """Return the list style that the style of a paragraph, or one that it inherits from, names."""
        style = None if paragraph is None else self._styles.get(attribute(paragraph, "style-name"))
        for _ in range(20):  # styles may inherit from each other in a circle
            if style is None or (name := attribute(style, "list-style-name")):
                return "" if style is None else name
            style = self._styles.get(attribute(style, "parent-style-name"))
        return ""

    def _heading_number(self, level: int) -> str:
        """Return the number of the next heading of a level, or ``""``."""
        self._outline = (*(*self._outline, *[0] * level)[: level - 1], (*self._outline, *[0] * level)[level - 1] + 1)
        mark = self._mark(_OUTLINE, self._outline)
        return "" if mark == "- " else mark

    def _mark(self, style: str, counts: tuple[int, ...]) -> str:
        """Return the bullet or the number of an item, with those of the levels that its style shows before it."""
        level = self._levels.get((style, len(counts)))
        if level is None or not attribute(level, "num-format"):
            return "- "
        shown = range(max(len(counts) - _count(level, "display-levels"), 0), len(counts))
        formats = (self._levels.get((style, each + 1), level) for each in shown)
        numbers = [
            format_count(counts[each], _NUMBERS.get(attribute(own, "num-format"), ""))
            for each, own in zip(shown, formats, strict=True)
        ]
        suffix = attribute(level, "num-suffix", "" if style == _OUTLINE else ".")
        return f"{attribute(level, 'num-prefix')}{'.'.join(numbers)}{suffix} "

    def rows(self, table: Element) -> Iterator[list[Cell]]:
        """Yield the rows of a table."""
        for row in _own_rows(table):
            yield from self.repeated_rows(row)

    def repeated_rows(self, row: Element) -> list[list[Cell]]:
        """Return a row as often as it is repeated. Empty rows come once."""
        cells = [cell for element in row for cell in self._repeated(element)]
        filled = max((index + 1 for index, cell in enumerate(cells) if cell.text), default=0)
        cells = cells[: filled + _MAX_EMPTY]  # programs fill a row to its edge with empty cells
        most = _MAX_REPEATS if any(cell.text for cell in cells) else 1
        return [cells] * min(_count(row, "number-rows-repeated"), most)

    def _repeated(self, element: Element) -> list[Cell]:
        if local_name(element) != "table-cell":
            return []
        text = self.cell_text(element)
        cell = Cell(text, _count(element, "number-columns-spanned"), _count(element, "number-rows-spanned"))
        return [cell] * min(_count(element, "number-columns-repeated"), _MAX_REPEATS)

    def cell_text(self, cell: Element) -> str:
        """Return the text of a cell; tables inside it row by row."""
        parts: list[str] = []
        for part in cell:
            match local_name(part):
                case "list":
                    lines = list(self._list_lines(part))
                    parts += lines if len(lines) > 1 else [line.partition(" ")[2] for line in lines]
                case "table":
                    parts += [" ".join(row) for row in repeat_merged(self.rows(part))]
                case "annotation":
                    pass
                case _:
                    parts.append(_words(part))
        return "\n".join(part for part in parts if part.strip())

    def _write_object(self, element: Element) -> None:
        """Write a chart as the table of its data, a formula as words, and the body of another embedded document."""
        address = attribute(element, "href")
        folder = posixpath.normpath(posixpath.join(self._folder, address))
        name = posixpath.join(folder, "content.xml")
        if name in self._written:
            return
        if not address or name not in self._package:
            self._into.warn("An embedded object is of another program and was not read.")
            return
        self._written.add(name)
        root = self._package.xml(name)
        chart = root.find(".//{*}chart/{*}chart")
        if chart is None:
            outer, self._folder = self._folder, folder
            self._into.prose(words(root)) if local_name(root) == "math" else self.write(root)
            self._folder = outer
            return
        title = chart.find("{*}title")
        kind = f"{attribute(chart, 'class').rpartition(':')[2].capitalize()} chart"
        self._into.prose(kind if title is None else f"{kind}: {' '.join(_words(line) for line in title)}")
        for table in chart.iterfind("{*}table"):
            self._into.table(repeat_merged(self.rows(table)))


def _fill_controls(body: Element) -> None:
    """Set the text of each form control in the document to the value of its field."""
    fields = {attribute(field, "id"): field for form in body.iterfind(".//{*}form") for field in form.iter()}
    for place in body.iterfind(".//{*}control"):
        field = fields.get(attribute(place, "control"), place)
        is_on, value, label = (_state(field, *names) for names in (_SWITCHES, ("value",), ("label",)))
        chosen = [attribute(option, "label") for option in field if _state(option, *_SWITCHES) == "true"]
        if local_name(field) in ("checkbox", "radio"):
            place.text = f"[{'x' if is_on in ('checked', 'true') else ' '}] {label}"
        elif local_name(field) != "password":
            place.text = ", ".join(chosen) or value or label


def _state(field: Element, *names: str) -> str:
    """Return the current value of the first attribute that the field has, otherwise its default value."""
    return next(filter(None, (attribute(field, each) for name in names for each in (f"current-{name}", name))), "")


def _write_headers(styles: Element, into: DocumentBuilder) -> None:
    headers = PageHeaders(into)
    for part in styles.iterfind(".//{*}master-page/*"):
        kind = local_name(part).partition("-")[0]  # header, header-left, header-first
        if kind in ("header", "footer") and attribute(part, "display", "true") != "false":
            for counter in part.iter():
                if local_name(counter) in ("page-number", "page-count"):
                    counter.text = PAGE_NUMBER
            headers.write(kind.capitalize(), (_words(paragraph) for paragraph in part.iterfind(".//{*}p")))


def _attached(element: Element) -> Iterator[Element]:
    """Yield all descendants, except those inside elements that hold paragraphs of their own."""
    for child in element:
        yield child
        if local_name(child) not in ("note", "annotation", "text-box", "custom-shape"):
            yield from _attached(child)


def _link_of_drawing(element: Element) -> str:
    """Return the link target of a drawing, from the element around it or from its click event, or ``""``."""
    address = attribute(element, "href")
    is_around = local_name(element) == "a" and any(local_name(child) in _DRAWINGS for child in element)
    return address if (is_around or local_name(element) == "event-listener") and is_useful_link(address) else ""


def _own_rows(table: Element) -> Iterator[Element]:
    """Yield the rows of a table, including grouped rows, without rows of tables in its cells."""
    for child in table:
        if local_name(child) == "table-row":
            yield child
        elif local_name(child) in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _own_rows(child)


def _list_levels(roots: Sequence[Element]) -> dict[tuple[str, int], Element]:
    """Return the levels of the list styles, and of the headings, by the names of the styles and their numbers."""
    styles = [
        (attribute(style, "name") if kind == "list-style" else _OUTLINE, style)
        for kind in ("list-style", "outline-style")
        for root in roots
        for style in root.iterfind(f".//{{*}}{kind}")
    ]
    return {(name, _count(level, "level")): level for name, style in styles for level in style}


def _comment(annotation: Element) -> str:
    text = " ".join(_words(line) for line in annotation.iterfind(".//{*}p"))
    return comment_line(annotation.findtext("{*}creator", ""), annotation.findtext("{*}date", ""), text)


def _words(element: Element) -> str:
    """Return the text of a paragraph with its blanks and line breaks, without notes and frames."""
    parts = [element.text or ""]
    for child in element:
        match local_name(child):
            case "line-break":
                parts.append("\n")
            case "tab":
                parts.append("\t")
            case "s":
                parts.append(" " * min(_count(child, "c"), 80))
            case "note":
                parts.append(f"[{child.findtext('{*}note-citation', '')}]")
            case "annotation" | "frame" | "custom-shape" | "object" | "tracked-changes" | "ruby-text":
                pass
            case "a" if is_useful_link(address := attribute(child, "href")):
                parts.append(linked(_words(child), address))
            case "drop-down":
                parts.append("".join(label.tail or "" for label in child))
            case _:
                parts.append(_words(child))
        parts.append(child.tail or "")
    form = element.get("form", "")
    return formed("".join(parts), form) if form else "".join(parts)


READER = Reader(
    name="odf", version=12, read=read_opendocument, mime_types=("*opendocument.text*", "*opendocument.presentation*")
)
