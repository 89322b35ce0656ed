"""Converts the formulas of Office documents to LaTeX. Common elements only; others are reduced to their text."""

from __future__ import annotations

import tomllib
import unicodedata
from pathlib import Path
from xml.etree.ElementTree import Element

from ingest.readers.shared.ooxml import attribute, local_name

_SIGNS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def formula_to_latex(element: Element) -> str:
    """Convert a formula, or a part of one."""
    return " ".join(_convert(element).split())


def _convert(element: Element) -> str:
    def part(name: str) -> str:
        found = element.find(f"{{*}}{name}")
        return "" if found is None else formula_to_latex(found)

    match local_name(element):
        case "t":
            return "".join(_sign(character) for character in element.text or "")
        case "f":
            return rf"\frac{{{part('num')}}}{{{part('den')}}}"
        case "sSup":
            return f"{part('e')}^{{{part('sup')}}}"
        case "sSub":
            return f"{part('e')}_{{{part('sub')}}}"
        case "sSubSup":
            return f"{part('e')}_{{{part('sub')}}}^{{{part('sup')}}}"
        case "rad":
            return rf"\sqrt[{part('deg')}]{{{part('e')}}}" if part("deg") else rf"\sqrt{{{part('e')}}}"
        case "nary":
            sign = _sign(attribute(element.find("{*}naryPr/{*}chr"), "val", "∫"))
            limits = "".join(f"{mark}{{{part(name)}}}" for mark, name in (("_", "sub"), ("^", "sup")) if part(name))
            return f"{sign}{limits} {part('e')}"
        case "d":
            begin = attribute(element.find("{*}dPr/{*}begChr"), "val", "(")
            end = attribute(element.find("{*}dPr/{*}endChr"), "val", ")")
            return f"{begin}{', '.join(formula_to_latex(inner) for inner in element.iterfind('{*}e'))}{end}"
        case "limLow":
            return f"{part('e')}_{{{part('lim')}}}"
        case "limUpp":
            return f"{part('e')}^{{{part('lim')}}}"
        case "func":
            return f"{part('fName')} {part('e')}"
        case "groupChr":
            sign = _sign(attribute(element.find("{*}groupChrPr/{*}chr"), "val", "⏟"))
            return f"{sign}{{{part('e')}}}"
        case "mr":
            return " & ".join(formula_to_latex(inner) for inner in element.iterfind("{*}e")) + r" \\ "
        case name if name.endswith("Pr"):
            return ""
        case _:
            return "".join(_convert(child) for child in element)


def _sign(character: str) -> str:
    """Return the LaTeX command of a character. Letters of mathematical alphabets become plain letters."""
    if character in _SIGNS:
        return f" {_SIGNS[character]} "
    plain = unicodedata.normalize("NFKC", character)
    name = unicodedata.name(plain, "") if len(plain) == 1 else ""
    if name.startswith("GREEK SMALL LETTER ") and " WITH " not in name:
        return f" \\{name[19:].lower().replace('lamda', 'lambda').replace('final ', '')} "
    if name.startswith("GREEK CAPITAL LETTER ") and " WITH " not in name:
        return f" \\{name[21:].capitalize().replace('Lamda', 'Lambda')} "
    return plain
