"""Finds the blocks of Word's XML and their text as printed, without deleted text."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from ingest.readers.shared.formulas import formula_to_latex
from ingest.readers.shared.ooxml import attribute, local_name

_WRAPPERS = {"sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo", "AlternateContent", "Choice"}


def blocks(body: Element) -> Iterator[Element]:
    """Yield the paragraphs, tables and chunks of a body, a cell or a box, including those in content controls."""
    for child in body:
        if local_name(child) in ("p", "tbl", "altChunk"):
            yield child
        elif local_name(child) in _WRAPPERS:
            yield from blocks(child)


def inside(element: Element, name: str) -> Iterator[Element]:
    """Yield the rows of a table or the cells of a row, including those in content controls."""
    for child in element:
        if local_name(child) == name:
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


def text_of(paragraph: Element) -> str:
    """Return a paragraph's text as printed."""
    return "".join(_runs(paragraph))


def _runs(element: Element) -> Iterator[str]:
    for child in element:
        match local_name(child):
            case "t":
                yield child.text or ""
            case "tab" if local_name(element) == "r":
                yield "\t"
            case "br" | "cr":
                yield "\n"
            case "noBreakHyphen":
                yield "-"
            case "oMath":
                yield f"${formula_to_latex(child)}$"
            case "sdt" if (box := child.find("{*}sdtPr/{*}checkbox")) is not None:
                yield "[x]" if attribute(box.find("{*}checked"), "val") in ("1", "true") else "[ ]"
            case "footnoteReference" | "endnoteReference":
                yield f"[{attribute(child, 'id')}]"
            case "del" | "moveFrom" | "Fallback" | "txbxContent" | "instrText" | "pPr" | "rPr" | "sdtPr":
                pass
            case _:
                yield from _runs(child)
