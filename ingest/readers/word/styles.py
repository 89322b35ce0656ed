"""The styles of a Word document, and the formatting that paragraphs and runs inherit from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree.ElementTree import Element

from ingest.readers.shared.ooxml import Package, attribute, is_on, number

_MAX_DEPTH = 20
_SHIFTS = {"superscript": "raised", "subscript": "lowered"}


class Look(NamedTuple):
    """Formatting of characters that carries meaning. None means inherited."""

    shift: str | None = None
    is_struck: bool | None = None
    is_hidden: bool | None = None
    font: str | None = None

    def over(self, base: Look) -> Look:
        """Return this formatting, with unset values taken from ``base``."""
        return base._replace(**{name: value for name, value in self._asdict().items() if value is not None})


@dataclass(frozen=True, slots=True)
class Style:
    """A style without inherited values."""

    id: str
    name: str
    base: str
    outline: int | None
    numbering: str
    level: int | None
    look: Look


@dataclass(frozen=True)
class Styles:
    """All styles of a document by their id."""

    styles: Mapping[str, Style] = field(default_factory=dict)
    language: str = "en"
    """The default language of the text."""

    def ancestry(self, identity: str) -> Iterator[Style]:
        """Yield the style and the styles that it is based on."""
        for _ in range(_MAX_DEPTH):
            style = self.styles.get(identity)
            if style is None:
                return
            yield style
            identity = style.base

    def look(self, identity: str) -> Look:
        """Return the formatting of a style, including inherited values."""
        look = Look()
        for style in self.ancestry(identity):
            look = look.over(style.look)
        return look


def read_styles(package: Package, main: str) -> Styles:
    """Read the styles of a document."""
    styles = {}
    language = "en"
    for part in package.related(main, "styles"):
        root = package.xml(part)
        language = attribute(root.find("{*}docDefaults/{*}rPrDefault/{*}rPr/{*}lang"), "val", language)
        for style in root.iterfind("{*}style"):
            outline = attribute(style.find("{*}pPr/{*}outlineLvl"), "val")
            level = attribute(style.find("{*}pPr/{*}numPr/{*}ilvl"), "val")
            identity = attribute(style, "styleId")
            styles[identity] = Style(
                id=identity,
                name=attribute(style.find("{*}name"), "val").lower(),
                base=attribute(style.find("{*}basedOn"), "val"),
                outline=number(outline) if outline.isdecimal() else None,
                numbering=attribute(style.find("{*}pPr/{*}numPr/{*}numId"), "val"),
                level=number(level) if level.isdecimal() else None,
                look=look_of(style.find("{*}rPr")),
            )
    return Styles(styles, language)


def look_of(properties: Element | None) -> Look:
    """Return the formatting that run properties set directly."""
    if properties is None:
        return Look()
    shift, position = properties.find("{*}vertAlign"), attribute(properties.find("{*}position"), "val")
    fonts = properties.find("{*}rFonts")
    return Look(
        shift=_moved(position) if shift is None else _SHIFTS.get(attribute(shift, "val"), ""),
        is_struck=_either(_switch(properties, "strike"), _switch(properties, "dstrike")),
        is_hidden=_switch(properties, "vanish"),
        font=(attribute(fonts, "ascii") or attribute(fonts, "hAnsi") or None) if fonts is not None else None,
    )


def _moved(position: str) -> str | None:
    """Return whether text is ``raised`` or ``lowered``; one or two half points only align it. None: not said."""
    points = number(position.removeprefix("-")) * (-1 if position.startswith("-") else 1)
    return None if not position else "raised" if points > 2 else "lowered" if points < -2 else ""


def _switch(properties: Element, name: str) -> bool | None:
    found = properties.find(f"{{*}}{name}")
    return None if found is None else is_on(found)


def _either(one: bool | None, other: bool | None) -> bool | None:
    return one or other if one is not None and other is not None else other if one is None else one
