"""Applies the styles of a web page that carry meaning: hidden, raised, lowered and struck text. Selects useful links.

Reads style attributes and the simple rules of the page's own style sheet: a name, classes, an id. Style sheets in other
files, and rules for a medium, are not read.
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

_SELECTOR = re.compile(r"(?P<name>[a-z][a-z0-9]*|\*)?(?P<marks>(?:[.#][\w-]+)*)", re.IGNORECASE)
_HIDES = re.compile(r"display:none|visibility:(?:hidden|collapse)|font-size:0(?:px|pt|em|%)?(?:;|!|$)|mso-hide:all")
_FORMS = {
    re.compile(r"vertical-align:(?:super|0?\.[3-9]|[3-9]\d%)|relative;top:-[\d.]+em|mso-text-raise:[\d.]"): "sup",
    re.compile(r"vertical-align:(?:sub\b|-0?\.[2-9]|-[2-9]\d%)|mso-text-raise:-"): "sub",
    re.compile("line-through"): "del",
}
_OWN_LINE = re.compile(r"display:(?:block|flex|grid|table(?:-row|-cell)?|list-item|flow-root)(?:;|!|$)")
_LAID_OUT = re.compile(r"display:(?:inline-)?(?:flex|grid)(?:;|!|$)")
"""Matches boxes whose children are laid out one by one, as blocks are."""
_FONT = re.compile(r"font-family:['\"]?([\w ]+)|font:[^;]*?['\"]?((?:symbol|wingdings|webdings)\d?)\b")
_NAMES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_INLINE, _BLOCKS, _NO_TEXT = (frozenset(_NAMES[each].split()) for each in ("inline", "blocks", "no_text"))
_COMMENT = re.compile(r"<!--|-->|/\*.*?(?:\*/|\Z)", re.DOTALL)
_BLOCK = r"\{[^{}]*+\}"
_AT_RULE = re.compile(rf"@[^{{}};]*+(?:;|\{{(?:[^{{}}]++|\{{(?:[^{{}}]++|{_BLOCK})*+\}})*+\}}?|\Z)")
"""Matches rules for a medium, such as print, or for a feature of the browser."""
_MARK = re.compile(r"[.#][\w-]+")


class _Rule(NamedTuple):
    name: str
    marks: frozenset[str]
    style: str


def show_form(root: Element) -> int:
    """Remove what the page hides, mark what it raises, lowers or strikes out, and drop addresses that only navigate.

    Return the number of words that were removed.
    """
    rules: dict[str, list[_Rule]] = {}
    for rule in dict.fromkeys(_rules(root)):
        rules.setdefault(min(rule.marks, default=rule.name), []).append(rule)
    return _show(root, rules, _own_host(root))


def _rules(root: Element) -> Iterator[_Rule]:
    """Yield the simple rules of the style sheet that hide text or give it a form."""
    sheet = "\n".join(
        style.text or "" for style in root.iter("style") if not style.get("media", "").startswith("print")
    )
    for rule in _AT_RULE.sub("", _COMMENT.sub("", sheet)).split("}"):
        selectors, _, declarations = rule.rpartition("{")
        style = _plain(declarations)
        if any(each.search(style) for each in (_HIDES, _OWN_LINE, _LAID_OUT, _FONT, *_FORMS)):
            for selector in selectors.split(","):
                found = _SELECTOR.fullmatch(selector.strip())
                if found and found[0]:
                    yield _Rule((found["name"] or "*").lower(), frozenset(_MARK.findall(found["marks"])), style)


def _plain(style: str) -> str:
    return "".join(style.lower().split())


def _show(element: Element, rules: Mapping[str, Sequence[_Rule]], host: str) -> int:
    hidden = 0

    def is_shown(child: Element) -> bool:
        nonlocal hidden
        style = _style(child, rules)
        if _is_hidden(child, style):
            hidden += 0 if child.tag in _NO_TEXT else len(" ".join(child.itertext()).split())
            return False
        hidden += _show(child, rules, host)
        _mark(child, style, host)
        return True

    keep(element, is_shown)
    return hidden


def _style(element: Element, rules: Mapping[str, Sequence[_Rule]]) -> str:
    """Return the declarations that apply to an element, those of its style attribute last."""
    marks = {f".{name}" for name in element.get("class", "").split()} | {f"#{element.get('id', '')}"}
    known = (rule for key in ("*", element.tag, *sorted(marks)) for rule in rules.get(key, ()))
    sheet = [rule.style for rule in known if rule.name in ("*", element.tag) and rule.marks <= marks]
    return ";".join([*sheet, _plain(element.get("style", ""))])


def _is_hidden(element: Element, style: str) -> bool:
    if element.tag in ("html", "head", "body"):  # scripts show a page when it has loaded
        return False
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    shown = element.get("style") and re.search(r"display:(?!none)|visibility:visible", _plain(element.get("style", "")))
    return not shown and bool(_HIDES.search(style))


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
