"""Turns positions of symbol fonts, such as Symbol and Wingdings, into the characters of ``symbols.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

SYMBOL_FONTS: dict[str, dict[int, str]] = {
    font: {int(position, 16): character for position, character in table.items()}
    for font, table in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}
_PRIVATE = 0xF000
"""Office stores position 0xA3 of a symbol font as U+F0A3."""


def symbol(font: str, position: int) -> str:
    """Return the character at this position of a symbol font, or a placeholder that names both."""
    known = SYMBOL_FONTS.get(font.lower(), {})
    code = position - _PRIVATE if position >= _PRIVATE else position
    if code in known:
        return known[code]
    return f"[{font} {code:02X}]" if known or position >= _PRIVATE else chr(position)


def in_font(text: str, font: str) -> str:
    """Return text as its font shows it: positions of a symbol font as characters."""
    known = SYMBOL_FONTS.get(font.lower())
    if known is None:
        return text
    return "".join(
        symbol(font, ord(each)) if 0xF020 <= ord(each) <= 0xF0FF or (each > " " and ord(each) in known) else each
        for each in text
    )
