"""Turns elements of HTML, and of XML of any vocabulary, into blocks.

The use of an element decides: children with text between them are words of one paragraph; children that each hold only
text are fields, written with their names. Element names count only where vocabularies agree on them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from xml.etree.ElementTree import Element

from ingest.readers.markup.page_form import show_form
from ingest.readers.markup.tree import html_tree
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.form import linked, lowered, note_mark, raised, struck
from ingest.readers.shared.merged_cells import Cell, repeat_merged
from ingest.readers.shared.numerals import format_count
from ingest.readers.shared.ooxml import attribute, local_name, number

_NAMES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_COUNTS: dict[str, str] = _NAMES["counts"]
_IGNORED, _ONE_LINE, _PHRASES = (frozenset(_NAMES[each].split()) for each in ("ignored", "one_line", "phrases"))
TITLES = {"title", "article-title", "invention-title", "title-of-invention", "heading", "head"}
_LISTS = {"ul", "ol", "list", "itemizedlist", "orderedlist", "ref-list", "claims"}
_ITEMS = {"li", "list-item", "listitem", "ref", "claim"}
_ORDERED = {"ol", "orderedlist"}
_ROWS = {"tr", "row"}
_CELLS = {"td", "th", "entry"}
_LIST_STYLE = re.compile(
    r"list-style(?:-type)?\s*:[^;]*?\b((?:lower|upper)-(?:alpha|latin|roman)|decimal-leading-zero)"
)
_VERBATIM = {"pre", "preformat", "programlisting", "screen"}
_PARAGRAPHS = {"p", "para", "paragraph", "div", "section", "blockquote", "table", *_LISTS, *_VERBATIM}
_HEADED = {"details", "summary", "fieldset", "legend", "figcaption"}
"""Elements with a title, and their titles, which are no part of the sentence after them."""
APART = {
    *_PARAGRAPHS, *_ITEMS, *_ROWS, *_CELLS, "dl", "dt", "dd", "caption", "figure", "header", "footer",
    "article", "aside", "main", "hr", "address", "center", "form", "hgroup", *_HEADED,
}  # fmt: skip
"""Elements that a browser shows on lines of their own: their text never joins the words beside them."""
_RAISED, _LOWERED, _STRUCK = {"sup", "superscript"}, {"sub", "subscript"}, {"del", "strike", "strikethrough"}
_EDGE = "\x1f"  # between the words of elements that stand apart; a blank for ``str.split``
_MARKUP = re.compile(r"<(p|div|table|span|ul|ol|h[1-6]|br|b|i|a|img)\b[^>]*>", re.IGNORECASE)
_CLOSED = re.compile(r"</(?:p|div|table|span|font|ul|ol|h[1-6]|b|i|u|a|em|strong)>|<br ?/?>", re.IGNORECASE)
"""Tags by which text in data is recognised as HTML. A comparison has none of them."""
_BLANKS = re.compile(r"[ \t\r\f\xa0\x1f]+")
_LINE_END = re.compile(r"\s*[\n\v]\s*")
_LAYOUT = 0.8  # share of a table's text in nested tables, above which the table is only layout


def write_html_fragment(source: str, into: DocumentBuilder) -> None:
    """Add the blocks of a piece of HTML inside another document to the builder."""
    root = html_tree(source)
    show_form(root)
    ElementWriter(into, is_page=True).write(root, depth=0)


def plain_text(source: str) -> str:
    """Return the text of a piece of HTML, or the source if it is none."""
    if not _CLOSED.search(source):
        return source.strip()
    page = DocumentBuilder()
    write_html_fragment(source, page)
    return page.text or source.strip()


def is_html(name: str) -> bool:
    """Return whether HTML has an element of this name."""
    from lxml.html import defs

    return name.lower() in defs.tags


class ElementWriter:
    """Writes a tree into a builder. The names of elements are text, unless the tree is a page and HTML knows them."""

    def __init__(self, into: DocumentBuilder, *, is_page: bool = False, is_mail: bool = False) -> None:
        self._into, self._is_page, self._is_mail = into, is_page, is_mail
        self._fields: list[str] = []

    def write(self, element: Element, depth: int) -> None:
        """Write an element. ``depth`` is the number of headings above it."""
        self._write(element, depth)
        self._flush()

    def _flush(self) -> None:
        self._into.prose("\n".join(self._fields))
        self._fields = []

    def _write(self, element: Element, depth: int) -> None:
        if (name := element_name(element)) in _IGNORED:
            return
        if name not in TITLES and not len(element) and name not in _PARAGRAPHS and not _is_heading(name):
            self._write_field(element, name)
            return
        self._flush()
        if name in TITLES or _is_heading(name):
            self._into.heading(words(element), int(name[1]) if _is_heading(name) else depth)
        elif name in ("table", "tgroup"):
            caption = element.find("{*}caption")
            self._into.prose("" if caption is None else words(caption))
            if name == "table" and _is_layout(element):
                for cell in (cell for row in _outside_inner_tables(element) for cell in row):
                    self._write_children(cell, depth)
                return
            heads = sum(element_name(row) in _ROWS for head in element.iterfind("{*}thead") for row in head)
            self._into.table(repeat_merged(_rows(element)), header_rows=max(heads, 1))
        elif name in _LISTS and any(element_name(child) in _ITEMS for child in element):
            self._write_list(element, depth)
        elif name in _VERBATIM:
            self._into.code(re.sub(r"[\v\x1f]+\n?", "\n", _raw_words(element)))
        elif name == "blockquote" and self._is_mail:
            self._write_quoted(element, depth)
        elif name == "dl" and any(element_name(child) == "dt" for child in element):
            self._write_terms(element, depth)
        elif name in _ONE_LINE or element.find("{*}tex-math") is not None:
            self._into.prose(words(element))
        else:
            self._write_children(element, depth)

    def _write_quoted(self, element: Element, depth: int) -> None:
        """Write a quoted mail with ``>`` before each line, as mail programs do in plain text."""
        quoted = DocumentBuilder()
        writer = ElementWriter(quoted, is_page=True, is_mail=True)
        writer._write_children(element, depth)
        writer._flush()
        self._into.prose("\n".join(f"> {line}".rstrip() for line in quoted.text.splitlines()))

    def _write_field(self, element: Element, name: str) -> None:
        """Write an element with text only: a line with its name, or the blocks of the HTML in its text."""
        text = (element.text or "").strip()
        if _MARKUP.search(text) or (text and element.get("type") == "html"):  # Atom
            self._flush()
            write_html_fragment(text, self._into)
        elif text and (name in _PHRASES or (self._is_page and is_html(name))):
            self._fields.append(_lines(_raw_words(element)))
        elif text or (name == "link" and not self._is_page and element.get("rel", "alternate") == "alternate"):
            self._fields += [f"{name}: {_lines(shown)}"] if (shown := text or element.get("href", "")) else []

    def _write_children(self, element: Element, depth: int) -> None:
        """Write the children of an element: adjacent words as paragraphs, blocks one by one."""
        inner = depth + any(element_name(child) in TITLES for child in element)
        is_mixed = has_own_text(element)
        words: list[str] = [element.text or ""]
        for child in element:
            if _is_block(child, is_mixed):
                self._paragraph(words)
                self._write(child, max(inner, 1))
                words = []
            else:
                edge = _EDGE if element_name(child) in APART else ""
                words += [edge, _raw_words(child), edge]
            words.append(child.tail or "")
        self._paragraph(words)

    def _paragraph(self, words: list[str]) -> None:
        text = _lines("".join(words))
        if text:
            self._flush()
            self._into.prose(text)

    def _write_terms(self, element: Element, depth: int) -> None:
        """Write a list of terms: a line for each short description, the blocks of a long one after its term."""
        terms: list[str] = []
        for child in element:
            if element_name(child) == "dt":
                terms.append(words(child))
            elif element_name(child) == "dd" and not any(_is_block(part, is_mixed=True) for part in child):
                self._fields.append(": ".join(part for part in (", ".join(terms), words(child)) if part))
                terms = []
            else:
                self._fields += terms
                terms = []
                self._write(child, depth)
        self._fields += terms
        self._flush()

    def _write_list(self, element: Element, depth: int) -> None:
        title = next((child for child in element if element_name(child) in TITLES), None)
        if title is not None:
            self._into.heading(words(title), depth + 1)
        lines: list[str] = []
        for part in _item_lines(element, 0):
            if isinstance(part, str):
                lines.append(part)
            else:
                self._into.list_items(lines)
                self._write(part, depth)
                lines = []
        self._into.list_items(lines)


def element_name(element: Element) -> str:
    """Return the name in lower case, without its namespace. Comments have the name of an ignored element."""
    return local_name(element).lower() if isinstance(element.tag, str) else "script"


def _is_heading(name: str) -> bool:
    return len(name) == 2 and name[0] == "h" and name[1] in "123456"


def has_own_text(element: Element) -> bool:
    """Return whether an element has text of its own before or between its children."""
    return bool((element.text or "").strip()) or any((child.tail or "").strip() for child in element)


def _is_block(element: Element, is_mixed: bool) -> bool:
    name = element_name(element)
    if name in _PARAGRAPHS or name in _HEADED or name in ("tgroup", "tbody", "thead") or _is_heading(name):
        return True
    if name in _PHRASES:
        return any(_is_block(child, is_mixed=True) for child in element)
    return not is_mixed or any(element_name(child) in _PARAGRAPHS for child in element)


def words(element: Element) -> str:
    """Return all text of an element on one line."""
    return " ".join(_raw_words(element).split())


def _lines(text: str) -> str:
    """Collapse blanks; keep line ends and line breaks."""
    return _LINE_END.sub("\n", _BLANKS.sub(" ", text)).strip()


def _raw_words(element: Element) -> str:
    """Return all text of an element, with blanks between fields."""
    name = element_name(element)
    if name in _IGNORED or (name in ("annotation", "annotation-xml") and element.get("encoding")):  # of MathML
        return ""
    if name == "br":
        return "\v"
    if name == "img":
        description = element.get("alt", "").strip()
        return f" {description} " if description else ""
    if element.get("type") == "html" and not len(element):  # Atom
        return _raw_words(html_tree(element.text or ""))
    formula = element if name == "tex-math" else element.find("{*}tex-math")
    if formula is not None:  # its siblings are the same formula as a picture and in MathML
        return f" {_formula(''.join(formula.itertext()))} "
    if name in _MATH:
        return _MATH[name](*(words(child) for child in element))
    between = "" if has_own_text(element) or name in _PHRASES else " "
    parts = [element.text or ""]
    marks = _marks(element) if name in _ORDERED else repeat("")
    for child in element:
        inner = element_name(child)
        edge = _EDGE if inner in APART or _is_heading(inner) else ""
        parts += [edge, next(marks) if inner in _ITEMS else "", _raw_words(child), edge, child.tail or ""]
        parts.append(between if inner not in _PHRASES else "")
    return _formed(element, name, "".join(parts))


def _formed(element: Element, name: str, text: str) -> str:
    """Return the words of an element with the form that carries meaning."""
    if name in _RAISED:
        return note_mark(text) if any(map(_leads_to_note, element.iter())) else raised(text)
    if name in _LOWERED:
        return lowered(text)
    if name in _STRUCK:
        return struck(text)
    is_raised = len(element) == 1 and element_name(element[0]) in _RAISED and _leads_to_note(element)
    if name == "a" and (_is_note_mark(element) or is_raised):
        return note_mark("".join(element.itertext()))
    if name in ("a", "ext-link", "link", "ulink") and not _leads_to_note(element):
        return linked(text, _address(element))
    return text


def _leads_to_note(element: Element) -> bool:
    """Return whether an element is a link to a note or a reference of the same document."""
    if element_name(element) == "xref":
        return True
    return element_name(element) == "a" and (_is_note_mark(element) or _address(element).startswith("#"))


def _address(link: Element) -> str:
    return link.get("href") or link.get("url") or attribute(link, "href")


def _is_note_mark(link: Element) -> bool:
    """Return whether a book or page marks a link as the mark of a note (EPUB 3, ARIA, FictionBook)."""
    kind = f"{link.get('role', '')} {link.get('epub:type', '')} {attribute(link, 'type')}"
    return "noteref" in kind or link.get("type") == "note"


_MATH: dict[str, Callable[..., str]] = {
    "msup": lambda base="", over="", *_: base + raised(over),
    "msub": lambda base="", under="", *_: base + lowered(under),
    "msubsup": lambda base="", under="", over="", *_: base + lowered(under) + raised(over),
    "mfrac": lambda *parts: "/".join(part if part.isalnum() else f"({part})" for part in parts),
    "munder": lambda base="", under="", *_: base + lowered(under),
    "munderover": lambda base="", under="", over="", *_: base + lowered(under) + raised(over),
    "msqrt": lambda *parts: f"√({' '.join(parts)})",
    "mroot": lambda base="", index="", *_: f"{raised(index)}√({base})",
}
"""Elements of MathML whose form carries meaning."""


def _formula(source: str) -> str:
    """Return a formula in TeX without the document that publishers wrap it in."""
    _, begin, body = source.partition(r"\begin{document}")
    return body.partition(r"\end{document}")[0].strip(" $\n") if begin else source.strip()


def _item_lines(element: Element, depth: int) -> Iterator[str | Element]:
    """Yield the lines of a list, nested ones indented, and the code in its items."""
    ordered = element_name(element) in _ORDERED or element.get("list-type") == "order"
    marks = _marks(element) if ordered else repeat("- ")
    for item in (each for each in element if element_name(each) in _ITEMS):
        mark, own = "  " * depth + next(marks), Element("item")
        own.text = item.text
        for child in (*item, Element("list")):  # the last one ends what follows the nested lists
            if element_name(child) not in _LISTS | _VERBATIM:
                own.append(child)
                continue
            if (text := words(own)) or mark.strip():
                yield mark + text
            yield from _item_lines(child, depth + 1) if element_name(child) in _LISTS else [child]
            mark, own = "  " * (depth + 1), Element("item")
            own.text = child.tail


def _marks(ordered: Element) -> Iterator[str]:
    """Return the numbers of the items of an ordered list: ``1. ``, ``2. ``."""
    named = _LIST_STYLE.search(ordered.get("style", "").lower())
    style = _COUNTS.get(ordered.get("type", "") or (named[1] if named else ""), "")
    items = [item for item in ordered if element_name(item) in _ITEMS]
    step = -1 if ordered.get("reversed") is not None else 1
    current = number(ordered.get("start"), 1 if step > 0 else len(items))
    for item in items:
        current = number(item.get("value"), current)
        yield f"{format_count(current, style)}. "
        current += step


def _rows(table: Element) -> Iterator[list[Cell]]:
    """Yield the rows of an HTML or CALS table. In HTML cells span by number, in CALS by column names."""
    columns: dict[str, int] = {}
    for element in _outside_inner_tables(table):
        if element_name(element) == "colspec":
            if element.get("colname", "") in columns:  # the columns of the next part of the table
                columns = {}
            columns[element.get("colname", "")] = len(columns)
        elif element_name(element) in _ROWS:
            yield [_cell(cell, columns) for cell in element if element_name(cell) in _CELLS]


def _is_layout(table: Element) -> bool:
    """Return whether a table is only layout: it has one cell, or nearly all its text is in nested tables.

    A table with header cells is not layout.
    """
    cells = [cell for row in _outside_inner_tables(table) for cell in row if element_name(cell) in _CELLS]
    if any(element_name(cell) == "th" for cell in cells):
        return False
    if len(cells) == 1:
        return True
    inner = sum(len(words(nested)) for cell in cells for nested in _inner_tables(cell))
    has_headings = any(_is_heading(element_name(part)) for cell in cells for part in cell)
    return inner > _LAYOUT * len(words(table)) or (inner > 0 and has_headings)


def _inner_tables(element: Element) -> Iterator[Element]:
    """Yield the tables in a cell, without tables nested in them."""
    for child in element:
        if element_name(child) == "table":
            yield child
        else:
            yield from _inner_tables(child)


def _outside_inner_tables(table: Element) -> Iterator[Element]:
    for child in table:
        if element_name(child) in _ROWS or element_name(child) == "colspec":
            yield child
        elif element_name(child) != "table":
            yield from _outside_inner_tables(child)


def _cell(cell: Element, columns: dict[str, int]) -> Cell:
    first, last = columns.get(cell.get("namest", "")), columns.get(cell.get("nameend", ""))
    if first is not None and last is not None:
        return Cell(words(cell), last - first + 1, number(cell.get("morerows"), 0) + 1)
    return Cell(
        words(cell), number(cell.get("colspan"), 1), number(cell.get("rowspan"), 1) + number(cell.get("morerows"), 0)
    )
