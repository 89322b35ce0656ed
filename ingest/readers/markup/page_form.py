"""Applies the styles of a web page that carry meaning: hidden, raised, lowered and struck text. Selects useful links.

Reads style attributes and the rules of the page's own style sheet for names, classes, ids and attributes of elements
inside each other. Style sheets in other files, and rules for print or for a size of the window, are not read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from ingest.readers.shared.form import host_of, is_useful_link
from ingest.readers.shared.symbols import in_font

_PART = re.compile(r">?(?=.)(?:[a-z][a-z0-9]*|\*)?(?:[.#][\w-]+|\[[\w-]+(?:=[\w-]*)?\])*", re.IGNORECASE)
"""A part of a selector. ``>``: directly in the element of the part before."""
_MARK = re.compile(r"[.#]?[\w-]+|\[[^\]]*\]")
_HIDES = re.compile(r"display:none|visibility:(?:hidden|collapse)|font-size:0(?:px|pt|em|%)?(?:;|!|$)|mso-hide:all")
_FORMS = {
    re.compile(
        r"vertical-align:(?:super|0?\.[3-9]|[3-9]\d%)|relative(?:;.*)?;top:-[\d.]+em|mso-text-raise:[\d.]"
    ): "sup",
    re.compile(r"vertical-align:(?:sub\b|-0?\.[2-9]|-[2-9]\d%)|mso-text-raise:-"): "sub",
    re.compile("line-through"): "del",
}
_OWN_LINE = re.compile(r"display:(?:block|flex|grid|table(?:-row|-cell)?|list-item|flow-root)(?:;|!|$)")
_LAID_OUT = re.compile(r"display:(?:inline-)?(?:flex|grid)(?:;|!|$)")
"""Matches boxes whose children are laid out one by one, as blocks are."""
_FONT = re.compile(r"font-family:['\"]?([\w ]+)|font:[^;]*?['\"]?((?:symbol|wingdings|webdings)\d?)\b")
_NAMES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_INLINE, _BLOCKS, _NO_TEXT = (frozenset(_NAMES[each].split()) for each in ("inline", "blocks", "no_text"))
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_SCREEN = re.compile(r"@media\s+(?:only\s+)?(?:screen|all)\s*\{")
_PROPERTIES = re.compile(
    r"(display|visibility|mso-hide|mso-text-raise|position|top|font|vertical-align|text-decoration)\b"
)
_Marks = frozenset[str]
"""The name, classes, id and attributes of an element: ``p``, ``.note``, ``#top``, ``[lang=en]``."""


class _Rule(NamedTuple):
    parts: Sequence[tuple[bool, _Marks]]
    """The elements from the outermost to the styled one, with whether each is directly in the one before."""
    style: Mapping[str, str]
    weight: tuple[int, ...]


def show_form(root: Element) -> int:
    """Remove what the page hides, mark what it raises, lowers or strikes out, and drop addresses that only navigate.

    Return the number of words that were removed.
    """
    rules: dict[str, list[_Rule]] = {}
    for rule in _rules(root):
        rules.setdefault(min(rule.parts[-1][1], default=""), []).append(rule)
    return _show(root, rules, _own_host(root), ())


def _rules(root: Element) -> Iterator[_Rule]:
    """Yield the rules of the style sheet that hide or show text or give it a form."""
    sheet = "\n".join(
        style.text or "" for style in root.iter("style") if not style.get("media", "").startswith("print")
    )
    for order, rule in enumerate(_of_screen(sheet).split("}")):
        selectors, _, declarations = rule.rpartition("{")
        style = _declared(declarations)
        for selector in selectors.translate({34: "", 39: ""}).split(",") if style else ():
            parts = re.sub(r"\s*>\s*", " >", selector).split()
            if parts and all(map(_PART.fullmatch, parts)):
                marks = [(part[0] == ">", frozenset(_MARK.findall(part))) for part in parts]
                kinds = [mark[0] for _, each in marks for mark in each]
                names = sum(kind.isalpha() for kind in kinds)
                yield _Rule(marks, style, (kinds.count("#"), len(kinds) - names, names, order))


def _of_screen(sheet: str) -> str:
    """Return the style sheet without comments, and without rules for print or for a feature of the browser."""
    sheet, kept, position = _COMMENT.sub("", sheet), [], 0
    while (start := sheet.find("@", position)) >= 0:
        kept.append(sheet[position:start])
        depth, position = 0, start
        for position in range(start, len(sheet)):
            depth += {"{": 1, "}": -1}.get(sheet[position], 0)
            if depth == 0 and sheet[position] in "};":
                break
        if screen := _SCREEN.match(sheet, start):
            kept.append(sheet[screen.end() : position])
        position += 1
    return "".join([*kept, sheet[position:]])


def _declared(style: str) -> dict[str, str]:
    """Return the declarations of a style that matter here, by their properties, without blanks."""
    declarations = "".join(style.lower().split()).split(";")
    return {each.partition(":")[0].removesuffix("-line"): each for each in declarations if _PROPERTIES.match(each)}


def _show(element: Element, rules: Mapping[str, Sequence[_Rule]], host: str, path: tuple[_Marks, ...]) -> int:
    hidden = 0

    def is_shown(child: Element) -> bool:
        nonlocal hidden
        inner = (*path, _marks(child))
        style = _style(child, rules, inner)
        if _is_hidden(child, style):
            hidden += 0 if child.tag in _NO_TEXT else len(" ".join(child.itertext()).split())
            return False
        hidden += _show(child, rules, host, inner)
        _mark(child, style, host)
        return True

    keep(element, is_shown)
    return hidden


def _marks(element: Element) -> _Marks:
    classes = (f".{name}" for name in element.get("class", "").split())
    attributes = (mark for name, value in element.items() for mark in (f"[{name}]", f"[{name}={value}]"))
    return frozenset(("", element.tag, f"#{element.get('id', '')}", *classes, *attributes))


def _style(element: Element, rules: Mapping[str, Sequence[_Rule]], path: Sequence[_Marks]) -> str:
    """Return the declarations that apply to an element: the important ones, its style attribute, then by weight."""
    known = [rule for mark in path[-1] for rule in rules.get(mark, ()) if _fits(rule.parts, path)]
    styles = [rule.style for rule in sorted(known, key=lambda rule: rule.weight)]
    found = [item for style in (*styles, _declared(element.get("style", ""))) for item in style.items()]
    return ";".join(dict(sorted(found, key=lambda item: item[1].endswith("!important"))).values())


def _fits(parts: Sequence[tuple[bool, _Marks]], path: Sequence[_Marks]) -> bool:
    """Return whether the parts of a selector fit the last element of a path and those around it."""
    *outer, (is_child, marks) = parts
    if not path or not marks <= path[-1]:
        return False
    around = [len(path) - 1] if is_child else range(len(path) - 1, 0, -1)
    return not outer or any(_fits(outer, path[:end]) for end in around)


def _is_hidden(element: Element, style: str) -> bool:
    if element.tag in ("html", "head", "body"):  # scripts show a page when it has loaded
        return False
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    return bool(_HIDES.search(style))


def _mark(element: Element, style: str, host: str) -> None:
    """Turn the style of an element into ``sup``, ``sub`` or ``del``. Drop the address of a link that only navigates."""
    if element.tag in ("s", "strike"):
        element.tag = "del"
    family = _FONT.search(style)
    if font := element.get("face", "") or (family[1] or family[2] if family else ""):
        _show_symbols(element, font.replace("wingdings2", "wingdings 2").replace("wingdings3", "wingdings 3"))
    for declaration, form in _FORMS.items():
        if declaration.search(style) and element.tag != form and (form == "del" or element.tag not in _BLOCKS):
            _wrap(element, form)
    if element.tag == "del" and any(inner.tag in _BLOCKS for inner in element.iter()):
        element.tag = "div"
        _wrap(element, "del")
    apart = [element] if _OWN_LINE.search(style) else []
    for each in [*apart, *(element if _LAID_OUT.search(style) else ())]:
        each.tag = "div" if each.tag in _INLINE else each.tag
    address = element.get("href", "")
    if element.tag == "a" and not address.startswith("#") and not is_useful_link(address, host):  # "#": maybe a note
        element.attrib.pop("href", None)


def _show_symbols(element: Element, font: str) -> None:
    for each in element.iter():
        each.text = in_font(each.text or "", font)
        if each is not element:
            each.tail = in_font(each.tail or "", font)


def _wrap(element: Element, form: str) -> None:
    """Put the content of an element into a new element; the content of each block inside, if it has any."""
    children: list[Element] = []
    run = Element(form)
    run.text = element.text
    for child in [*element, None]:
        if child is not None and child.tag not in _BLOCKS:
            run.append(child)
            continue
        if len(run) or (run.text or "").strip():
            children.append(run)
        if child is not None:
            _wrap(child, form)
            run = Element(form)
            run.text, child.tail = child.tail, None
            children.append(child)
    element.text = None
    element[:] = children


def keep(element: Element, is_kept: Callable[[Element], bool]) -> None:
    """Remove the children for which ``is_kept`` is false, but keep the text after them."""
    children: list[Element] = []
    for child in list(element):
        if is_kept(child):
            children.append(child)
        elif children:
            children[-1].tail = f"{children[-1].tail or ''} {child.tail or ''}"
        else:
            element.text = f"{element.text or ''} {child.tail or ''}"
    element[:] = children


def _own_host(root: Element) -> str:
    """Return the host that the page names as its own, or ``""``."""
    base, canonical = root.find(".//base"), root.find(".//link[@rel='canonical']")
    address = root.find(".//meta[@property='og:url']")
    named = (
        "" if address is None else address.get("content", ""),
        *(element.get("href", "") for element in (canonical, base) if element is not None),
    )
    return next((host for each in named if (host := host_of(each))), "")
