"""Applies the styles of a web page that carry meaning: hidden, raised, lowered and struck text. Selects useful links.

Reads style attributes and the rules of the page's own style sheet for names, classes, ids and attributes of elements
inside each other. Style sheets in other files, and rules for print or for a size of the window, are not read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from xml.etree.ElementTree import Element

from ingest.readers.shared.form import host_of, is_useful_link
from ingest.readers.shared.symbols import in_font

_SIMPLE = r"(?:[a-z][a-z0-9]*|\*)?(?:[.#][\w-]+|\[[\w-]+(?:=[\w-]*)?\])*"
_PART = re.compile(rf">?(?=.){_SIMPLE}(?:(?<!html)(?<!body):not\({_SIMPLE}(?:,{_SIMPLE})*\))*", re.IGNORECASE)
"""A compound selector. ``>``: a child of the element before. Scripts set classes of html and body, so ``:not()`` on
them does not match."""
_NOT = re.compile(r":not\(([^()]*)\)")
_COMMA = re.compile(r",(?![^()]*\))")
_INNER_BLANKS = re.compile(r"(?<=[(,])\s+|\s+(?=[,)])")
_MARK = re.compile(r"[.#]?[\w-]+|\[[^\]]*\]")
_HIDES = re.compile(
    r"display:none|mso-hide:all|^(?!.*(?:transition|animation|transform|translate))(?:.*\bopacity:0*\.?0+%?(?:;|!|$)"
    r"|(?=.*overflow:hidden).*(?:^|;)(?:max-)?height:0(?:px)?(?:;|!|$)"
    r"|.*(?:text-indent|margin-left):-(?:\d{4}|[5-9]\d\dp|\d{3}r?em)"
    r"|(?=.*position:[^s]).*(?:^|;)(?:(?:left|right|top):-(?:\d{4}|[5-9]\d\dp|\d{3}(?:r?em|v[wh]))"
    r"|clip(?:-path)?:(?:rect\(([01](?:px)?)[, ]\1[, ]\1[, ]\1\)|inset\((?:50|100)%)))"
)
"""Styles that hide an element or move it off the page. Animated elements are kept, because a script shows them."""
_UNSEEN = re.compile(r"(visibility|font)(?:-size)?:(?:hidden|collapse|0(?:px|pt|em|%)?(?:;|!|$))")
_SEEN = re.compile(r"(visibility|font)(?:-size)?:(?!inherit|unset|smaller|larger|[\d.]+(?:em|ex|ch|%))")
"""Matches what shows text again inside an element that has ``_UNSEEN``, if it does not itself match that."""
_FORMS = {
    re.compile(
        r"vertical-align:(?:super|0?\.[3-9]|[3-9]\d%)|mso-text-raise:[0.]*[1-9]"
        r"|^(?=.*position:relative).*\btop:-[0.]*[1-9][\d.]*em"
    ): "sup",
    re.compile(r"vertical-align:(?:sub\b|-0?\.[2-9]|-[2-9]\d%)|mso-text-raise:-[0.]*[1-9]"): "sub",
    re.compile("line-through"): "del",
}
_OWN_LINE = re.compile(r"display:(?:block|flex|grid|table(?:-row|-cell)?|list-item|flow-root)(?:;|!|$)")
_COLOUR = re.compile(r"(?:^|;)color:([^;!]+)")
_GROUND = re.compile(r"(?:^|;)background(?:-color|-image)?:([^;!]+)")
_OTHER_GROUND = re.compile(r"@media|::?(?:before|after|first|last|nth|is|where|root)\b")
"""Matches parts of a style sheet that are not evaluated and may set the background of any element."""
_NAMED = {"white": "#ffffff", "black": "#000000", "#fff": "#ffffff", "#000": "#000000", "rgb(255,255,255)": "#ffffff"}
_UNKNOWN = re.compile(r"[()/]|inherit|initial|unset|current|transparent|none")  # pictures, gradients, variables
_LAID_OUT = re.compile(r"display:(?:inline-)?(?:flex|grid)(?:;|!|$)")
"""Matches boxes whose children are laid out one by one, as blocks are."""
_FONT = re.compile(r"font-family:['\"]?([\w ]+)|font:[^;]*?['\"]?((?:symbol|wingdings|webdings)\d?)\b")
_NAMES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_INLINE, _BLOCKS, _NO_TEXT, _PROPERTIES = (frozenset(names.split()) for names in _NAMES.values())
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_ALWAYS_SHOWN = ("html", "head", "body")  # scripts show a page when it has loaded
_SCREEN = re.compile(r"@media\s+(?:only\s+)?(?:screen|all)")
_BRACE = re.compile(r"([^{}]*)([{}]|\Z)")
_Marks = frozenset[str]
"""The name, classes, id and attributes of an element: ``p``, ``.note``, ``#top``, ``[lang=en]``."""


@dataclass(frozen=True, eq=False, slots=True)
class _Rule:
    """A part of a rule: the marks of one element, and the part for an element inside it."""

    marks: _Marks
    is_child: bool
    """Whether the element is directly in the one of the part before."""
    without: frozenset[_Marks]
    """The marks in each ``:not()``. An element with all marks of one of them does not match."""
    inner: _Rule | None
    style: tuple[tuple[str, str], ...]
    weight: tuple[int, ...]

    @property
    def key(self) -> str:
        """A mark that each element of this part has. The rules to try are found by it."""
        return min(self.marks, default="")


_Rules = dict[str, set[_Rule]]  # by their keys
_Colours = tuple[str, str]
"""The color of text and of its background; ``""`` if unknown."""


def show_form(root: Element) -> int:
    """Remove what the page hides, mark what it raises, lowers or strikes out, and drop addresses that only navigate.

    Return the number of words that were removed.
    """
    sheets = "\n".join(each.text or "" for each in root.iter("style"))
    is_unread = root.find(".//link[@rel='stylesheet']") is not None or (
        "background" in sheets and bool(_OTHER_GROUND.search(sheets))
    )
    around = None if is_unread else ("", "#ffffff")
    _complete_addresses(root)
    return _show(root, _by_key(_rules(root)), {}, _own_host(root), frozenset(), around)


def _by_key(rules: Iterable[_Rule]) -> _Rules:
    found: _Rules = {}
    for rule in rules:
        found.setdefault(rule.key, set()).add(rule)
    return found


def _rules(root: Element) -> Iterator[_Rule]:
    """Yield the outermost parts of the rules of the style sheet that hide or show text or give it a form."""
    sheets = (each.text or "" for each in root.iter("style") if not each.get("media", "").startswith("print"))
    orders = {}  # of equal rules, the last one counts
    for order, (selectors, declarations) in enumerate(_blocks("\n".join(sheets))):
        style = tuple(_declared(declarations).items())
        whole = _INNER_BLANKS.sub("", selectors.translate({34: "", 39: ""}))
        for selector in _COMMA.split(whole) if style else ():
            parts = " ".join(selector.replace(">", " > ").split()).replace("> ", ">").split()
            if parts and all(map(_PART.fullmatch, parts)):
                orders[tuple(parts), style] = order
    for (selected, style), order in orders.items():
        marks = [_selected(_NOT.sub("", part)) for part in selected]
        others = [[_selected(each) for found in _NOT.findall(part) for each in found.split(",")] for part in selected]
        kinds = [mark[0] for each in (*marks, *(other for found in others for other in found)) for mark in each]
        names = sum(kind.isalpha() for kind in kinds)
        rule, weight = None, (kinds.count("#"), len(kinds) - names, names, order)
        for part, each, without in zip(reversed(selected), reversed(marks), reversed(others), strict=True):
            rule = _Rule(each, part[0] == ">", frozenset(without), rule, style, weight)
        if rule:
            yield rule


def _selected(part: str) -> _Marks:
    return frozenset(each if each[0] in ".#[" else each.lower() for each in _MARK.findall(part))


def _blocks(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield the selectors and declarations of rules, without those for print or for a feature of the browser."""
    selectors, counts = "@", [True]  # whether the rules inside each open block count
    for text, brace in _BRACE.findall(_COMMENT.sub("", sheet)):
        if brace == "{":
            selectors = text.rpartition(";")[2].strip() if counts[-1] else "@"
            counts.append(bool(_SCREEN.fullmatch(selectors)))
            continue
        if not selectors.startswith("@"):
            yield selectors, text
        selectors = "@"
        del counts[max(1, len(counts) - 1) :]


def _declared(style: str) -> dict[str, str]:
    """Return the declarations of a style that matter here, by their properties, without blanks."""
    declarations = "".join(style.lower().split()).split(";")
    named = ((each.partition(":")[0], each) for each in declarations)
    return {name.removesuffix("-line"): each for name, each in named if name in _PROPERTIES}


def _show(
    element: Element, rules: _Rules, near: _Rules, host: str, inherited: frozenset[str], around: _Colours | None
) -> int:
    """Apply ``rules`` inside an element, and those ``near`` to its children.

    ``inherited`` says by which properties the text of the element is not seen, unless an element inside sets them.
    ``around`` are its colours, or None if the backgrounds of the page are not known.
    """
    hidden = 0

    def is_shown(child: Element) -> bool:
        nonlocal hidden
        marks = _marks(child)
        fitting = [rule for known in (rules, near) for mark in marks for rule in known.get(mark, ())]
        fitting = [rule for rule in fitting if rule.marks <= marks and not any(each <= marks for each in rule.without)]
        style = _style(child, fitting)
        if _is_hidden(child, style):
            hidden += 0 if child.tag in _NO_TEXT else len(" ".join(child.itertext()).split())
            return False
        unseen = inherited.difference(_SEEN.findall(style)).union(_UNSEEN.findall(style))
        unseen = frozenset() if child.tag in _ALWAYS_SHOWN else unseen
        colours = around and _colours(child, style, around)
        inner = [rule.inner for rule in fitting if rule.inner]
        added = [rule for rule in inner if not rule.is_child and rule not in rules.get(rule.key, ())]
        for rule in added:
            rules.setdefault(rule.key, set()).add(rule)
        hidden += _show(child, rules, _by_key(rule for rule in inner if rule.is_child), host, unseen, colours)
        for rule in added:
            rules[rule.key].remove(rule)
        if unseen or (colours and colours[0] and colours[0] == colours[1]):
            hidden += 0 if child.tag in _NO_TEXT else _blank(child)
            if not len(child):
                return False
        _mark(child, style, host)
        return True

    keep(element, is_shown)
    return hidden


def _colours(element: Element, style: str, around: _Colours) -> _Colours:
    """Return the colors of an element. The background of an element that is positioned or has a picture is unknown."""
    colour, grounds = _COLOUR.search(style), _GROUND.findall(style) or [element.get("bgcolor", "")]
    inherited = "" if element.tag == "a" else around[0]  # links have a colour of their own
    text = _plain_colour(colour[1] if colour else element.get("color", element.get("text", "")), inherited)
    behind = [_plain_colour(ground, around[1]) for ground in grounds]
    is_placed = "position:" in style or "text-shadow:" in style or element.get("background")
    return text, "" if "" in behind or (is_placed and grounds == [""]) else behind[-1]


def _plain_colour(value: str, inherited: str) -> str:
    """Return a color as #rrggbb or by name, or ``""`` if unknown."""
    value = _NAMED.get(value.lower().strip(), value.lower().strip())
    if not value or value == "transparent":
        return inherited
    return "" if _UNKNOWN.search(value) or " " in value else value


def _blank(element: Element) -> int:
    """Remove the text directly in an element, not that of the elements inside it. Return the number of words."""
    texts = [element.text or "", *(child.tail or "" for child in element)]
    element.text = " "
    for child in element:
        child.tail = " "
    return len(" ".join(texts).split())


def _marks(element: Element) -> _Marks:
    classes = (f".{name}" for name in element.get("class", "").split())
    attributes = (mark for name, value in element.items() for mark in (f"[{name}]", f"[{name}={value}]"))
    return frozenset(("", element.tag, f"#{element.get('id', '')}", *classes, *attributes))


def _style(element: Element, fitting: Iterable[_Rule]) -> str:
    """Return the declarations that apply to an element: the important ones, its style attribute, then by weight."""
    known = sorted((rule for rule in fitting if not rule.inner), key=lambda rule: rule.weight)
    styles = (*(rule.style for rule in known), _declared(element.get("style", "")).items())
    found = [item for style in styles for item in style]
    return ";".join(dict(sorted(found, key=lambda item: item[1].endswith("!important"))).values())


def _is_hidden(element: Element, style: str) -> bool:
    if element.tag in _ALWAYS_SHOWN:
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


def _complete_addresses(root: Element) -> None:
    """Resolve the relative addresses of linked files against the base address of the page."""
    base = root.find(".//base[@href]")
    if base is None or not host_of(base.get("href", "")):
        return
    for link in root.iter("a"):
        address = link.get("href", "").strip()
        if is_useful_link(address) and not urlsplit(address).scheme:
            link.set("href", urljoin(base.get("href", "").strip(), address))


def _own_host(root: Element) -> str:
    """Return the host that the page names as its own, or ``""``."""
    paths = (".//meta[@property='og:url']", ".//link[@rel='canonical']", ".//base")
    named = (element.get("content", element.get("href", "")) for path in paths for element in root.findall(path)[:1])
    return next(filter(None, map(host_of, named)), "")
