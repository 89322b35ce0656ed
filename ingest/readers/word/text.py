"""Finds the blocks of Word's XML and their text as printed, without deleted and hidden text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import dropwhile
from xml.etree.ElementTree import Element

from ingest.readers.shared.form import Piece, is_useful_link, lowered, raised, write_pieces
from ingest.readers.shared.formulas import formula_to_latex
from ingest.readers.shared.ooxml import attribute, is_on, local_name, number
from ingest.readers.shared.symbols import in_font, symbol
from ingest.readers.word.styles import Look, Styles, look_of

_WRAPPERS = {"sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo", "AlternateContent", "Choice"}
_LEFT_OUT = {"del", "moveFrom", "Fallback", "txbxContent", "pPr", "rPr", "sdtPr", "rt", "rubyPr"}

_SYMBOL = re.compile(r"\s*SYMBOL\s+(0x[0-9a-f]+|\d+).*?\\f\s+\"?([^\"\\]+?)\"?\s*(?:\\|$)", re.IGNORECASE)
"""The code of a field that shows a character of a font."""
_SWITCH = re.compile(r'\\\*\s+(?:"[^"]*"|\S+)')
_PLACE = re.compile(r"\\l\s+\"([^\"]+)\"", re.IGNORECASE)
"""The place in the page that the field of a link leads to."""
_MAX_CODE = 2000  # characters of the code of an equation
_EQUATION = re.compile(r"\\([a-z]+)((?:\\[a-z]+ ?\d*)*)\s*\(([^()]*)\)")
"""An instruction of an equation field without instructions inside: its name, options and arguments."""


def blocks(body: Element) -> Iterator[Element]:
    """Yield the paragraphs, tables and chunks of a body, a cell or a box, including those in content controls.

    A paragraph whose end was deleted continues with the next one.
    """
    open_paragraph: Element | None = None
    for block in _blocks(body):
        if local_name(block) == "p" and open_paragraph is not None:
            open_paragraph.extend(child for child in block if local_name(child) != "pPr")
            block_end = block
        elif local_name(block) == "p":
            open_paragraph = block_end = block
        else:
            if open_paragraph is not None:
                yield open_paragraph
            open_paragraph = None
            yield block
            continue
        mark = block_end.find("{*}pPr/{*}rPr")
        if mark is None or (mark.find("{*}del") is None and mark.find("{*}moveFrom") is None):
            yield open_paragraph
            open_paragraph = None
    if open_paragraph is not None:
        yield open_paragraph


def _blocks(body: Element) -> Iterator[Element]:
    for child in body:
        if local_name(child) in ("p", "tbl", "altChunk"):
            yield child
        elif local_name(child) in _WRAPPERS:
            yield from _blocks(child)


def inside(element: Element, name: str) -> Iterator[Element]:
    """Yield the rows of a table or the cells of a row, including those in content controls, without deleted ones."""
    for child in element:
        if local_name(child) == name:
            if child.find("{*}trPr/{*}del") is None and child.find("{*}tcPr/{*}cellDel") is None:
                yield child
        elif local_name(child) in _WRAPPERS:
            yield from inside(child, name)


def only_cell(table: Element) -> Element | None:
    """Return the cell of a table with a single cell, which frames other blocks; otherwise None."""
    cells = [cell for row in inside(table, "tr") for cell in inside(row, "tc")]
    return cells[0] if len(cells) == 1 else None


def visible(element: Element) -> Iterator[Element]:
    """Yield all descendants without deleted elements and the content of text boxes. Drawings come once."""
    for child in element:
        if local_name(child) in ("del", "moveFrom", "Fallback"):
            continue
        yield child
        if local_name(child) != "txbxContent":
            yield from visible(child)


def own_mark(run: Element) -> Element | None:
    """Return the text of a run that is the own mark of a note: the first one after its reference."""
    after = dropwhile(lambda child: not is_on(child, "customMarkFollows"), run)
    return next((child for child in after if local_name(child) in ("t", "sym")), None)


def letters(child: Element, font: str = "") -> str:
    """Return what a text or a symbol of a run shows."""
    if local_name(child) == "sym":
        return _symbol(attribute(child, "font"), attribute(child, "char", "0") or "0", 16)
    return in_font(child.text or "", font)


def _symbol(font: str, code: str, base: int) -> str:
    """Return the character with this code in a symbol font, or U+FFFD if the code is damaged."""
    try:
        return symbol(font, int(code, base))
    except ValueError:
        return "\ufffd"


@dataclass
class TextReader:
    """Returns paragraphs as printed: with the form that carries meaning, marks of notes, and addresses of links."""

    styles: Styles = field(default_factory=Styles)
    links: Mapping[str, str] = field(default_factory=dict)
    """Addresses by the id of their relation."""
    marks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The printed marks of notes, by their kind and id."""
    page_number: str = ""
    """What fields that count pages show, unless it is what they showed last."""
    hidden_words: int = 0

    def text_of(self, paragraph: Element) -> str:
        """Return a paragraph's text."""
        base = self.styles.look(attribute(paragraph.find("{*}pPr/{*}pStyle"), "val"))
        return write_pieces(_Fields(self.page_number).resolved(self._pieces(paragraph, base, "")))

    def _pieces(self, element: Element, look: Look, address: str) -> Iterator[Piece | Element]:
        """Yield the text below an element, and the elements that begin, divide and end fields."""
        for child in element:
            name = local_name(child)
            if name in _LEFT_OUT:
                continue
            if name == "r":
                yield from self._run(child, look, address)
            elif name == "hyperlink":
                target = self.links.get(attribute(child, "id"), "")
                yield from self._pieces(child, look, _at_place(target, attribute(child, "anchor")) or address)
            elif name == "fldSimple" and self.page_number and _counts_pages(attribute(child, "instr")):
                yield Piece(self.page_number)
            elif name == "fldSimple":
                inner = _address_of_field(attribute(child, "instr"))
                yield from self._pieces(child, look, inner or address)
            elif name == "textpath":  # the words of WordArt
                yield Piece(child.get("string", ""), address=address)
            elif name == "oMath":
                yield Piece(f"${formula_to_latex(child)}$", address=address)
            elif name == "sdt" and (box := child.find("{*}sdtPr/{*}checkbox")) is not None:
                yield Piece(_box(attribute(box.find("{*}checked"), "val") in ("1", "true")))
            else:
                yield from self._pieces(child, look, address)

    def _run(self, run: Element, base: Look, address: str) -> Iterator[Piece | Element]:
        properties = run.find("{*}rPr")
        look = base
        if properties is not None:
            style = self.styles.look(attribute(properties.find("{*}rStyle"), "val"))
            look = look_of(properties).over(style.over(base))
        printed = own_mark(run)
        for child in run:
            name = local_name(child)
            if child is printed:
                continue
            if name in ("fldChar", "instrText"):
                yield child
            elif name == "ruby":
                base_text = child.find("{*}rubyBase")
                yield from () if base_text is None else self._pieces(base_text, look, address)
            elif name in ("AlternateContent", "Choice", "drawing", "pict", "object"):
                yield from self._pieces(child, look, address)
            else:
                text = self._character(child, name, look)
                if text and look.is_hidden:
                    self.hidden_words += len(text.split())
                elif text:
                    shift = "" if name.endswith("Reference") else look.shift or ""
                    yield Piece(text, shift, bool(look.is_struck), address)

    def _character(self, child: Element, name: str, look: Look) -> str:
        match name:
            case "t" | "sym":
                return letters(child, look.font or "")
            case "tab" | "ptab":
                return "\t"
            case "br" | "cr":
                return "\n"
            case "noBreakHyphen":
                return "-"
            case "footnoteReference" | "endnoteReference":
                return self.mark(name.removesuffix("Reference"), attribute(child, "id"))
            case _:
                return ""

    def mark(self, kind: str, identity: str) -> str:
        """Return the printed mark of a note in brackets, or an empty text if the text has it elsewhere."""
        mark = self.marks.get((kind, identity), identity)
        return f"[{mark}]" if mark else ""


class _Fields:
    """Replaces the fields of a paragraph by what they show: results, chosen entries, check boxes, addresses."""

    def __init__(self, page_number: str) -> None:
        self._page_number = page_number
        self._open: list[list[str]] = []
        """The code of each field that has begun, outermost first; a second entry once its result has begun."""

    def resolved(self, pieces: Iterator[Piece | Element]) -> Iterator[Piece]:
        for piece in pieces:
            if isinstance(piece, Piece):
                if self._is_shown():
                    linked = (address for each in reversed(self._open) if (address := _address_of_field(each[0])))
                    yield piece._replace(address=piece.address or next(linked, ""))
            elif local_name(piece) == "instrText":
                if self._open:
                    self._open[-1][0] += piece.text or ""
            else:
                yield from self._turn(piece)

    def _turn(self, mark: Element) -> Iterator[Piece]:
        match attribute(mark, "fldCharType"):
            case "begin":
                yield from () if not self._is_shown() else _form_field(mark)
                self._open.append([""])
            case "separate" if self._open:
                counted = self._open.pop()
                if self._is_page_number(counted[0]) and self._is_shown():
                    yield Piece(self._page_number)
                self._open.append([*counted, ""])
            case "end" if self._open:
                source = self._open.pop()[0]
                code = _SYMBOL.match(source)
                if code and self._is_shown():
                    yield Piece(_symbol(code[2], code[1], 16 if "x" in code[1].lower() else 10))
                elif source.split()[:1] == ["EQ"] and self._is_shown():
                    yield Piece(_equation(source.partition("EQ")[2]))
            case _:
                pass

    def _is_shown(self) -> bool:
        """Return whether the results of all open fields have begun. A field of a symbol has none, only a code."""
        return all(
            len(each) > 1 and not _SYMBOL.match(each[0]) and not self._is_page_number(each[0]) for each in self._open
        )

    def _is_page_number(self, code: str) -> bool:
        return bool(self._page_number) and _counts_pages(code)


def _form_field(begin: Element) -> Iterator[Piece]:
    """Yield the state of a form field of old: a check box or the chosen entry of a list."""
    box, choices = begin.find("{*}ffData/{*}checkBox"), begin.find("{*}ffData/{*}ddList")
    if box is not None:
        checked, default = box.find("{*}checked"), box.find("{*}default")
        yield Piece(_box(is_on(checked) if checked is not None else is_on(default)))
    if choices is not None:
        entries = [attribute(entry, "val") for entry in choices.iterfind("{*}listEntry")]
        chosen = choices.find("{*}result")
        index = number(attribute(choices.find("{*}default") if chosen is None else chosen, "val"))
        if index < len(entries):
            yield Piece(entries[index])


def _equation(code: str) -> str:
    """Return the text of an equation field. Old documents use such fields for ruby text."""
    if len(code) > _MAX_CODE:
        return code.strip()
    code = _SWITCH.sub("", code)
    while part := _EQUATION.search(code):
        *others, last = part[3].replace(";", ",").split(",")
        shifted = (lowered if "do" in part[2] else raised)(part[3])
        text = {
            "f": "/".join([*others, last]),
            "o": last,
            "r": f"{''.join(map(raised, others))}√({last})",
            "s": shifted,
        }
        code = code[: part.start()] + text.get(part[1], "".join([*others, last])) + code[part.end() :]
    return code.strip()


def _counts_pages(code: str) -> bool:
    return code.split()[:1] in (["PAGE"], ["NUMPAGES"], ["SECTIONPAGES"])


def _box(is_checked: bool) -> str:
    return "[x]" if is_checked else "[ ]"


def _address_of_field(code: str) -> str:
    words = code.split(maxsplit=1)
    if len(words) < 2 or words[0].upper() != "HYPERLINK":
        return ""
    address = words[1].strip().split('"')[1] if words[1].strip().startswith('"') and '"' in words[1][1:] else ""
    place = _PLACE.search(code)
    return _at_place(address, place[1] if place else "") if is_useful_link(address) else ""


def _at_place(address: str, place: str) -> str:
    """Return the address with the place as its fragment, unless it has a fragment."""
    return f"{address}#{place}" if address and place and "#" not in address else address
