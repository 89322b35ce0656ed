"""Turns characters of symbol fonts into Unicode: Symbol, Wingdings and their like use positions instead of characters.

Symbol by Adobe's table (unicode.org, MAPPINGS/VENDORS/ADOBE/symbol.txt), the others by Unicode's source of its
pictographs (L2/11-052): of these, the ones that carry meaning in text, such as check boxes and arrows.
"""

from __future__ import annotations

_SYMBOL = " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"  # from 0x20
_SYMBOL_HIGH = (
    "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ 〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"  # from 0xA0
)
_WINGDINGS = {
    0x22: "✂", 0x28: "☎", 0x2A: "✉", 0x36: "⌛", 0x3F: "✍", 0x41: "✌", 0x43: "👍", 0x44: "👎", 0x45: "☜", 0x46: "☞",
    0x47: "☝", 0x48: "☟", 0x4A: "☺", 0x4B: "😐", 0x4C: "☹", 0x4D: "💣", 0x4E: "☠", 0x52: "☼", 0x54: "❄", 0x6C: "●",
    0x6D: "❍", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x72: "❒", 0x75: "◆", 0x76: "❖", 0x77: "⬥", 0x78: "⌧", 0x80: "⓪",
    0x8B: "⓿", 0x9E: "·", 0x9F: "•", 0xA1: "○", 0xA4: "◉", 0xA7: "▪", 0xA8: "☐", 0xAB: "★", 0xD8: "➢", 0xDC: "➲",
    0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE3: "↖", 0xE4: "↗", 0xE5: "↙", 0xE6: "↘", 0xE7: "←", 0xE8: "➔",
    0xE9: "↑", 0xEA: "↓", 0xEF: "⇦", 0xF0: "⇨", 0xF1: "⇧", 0xF2: "⇩", 0xF3: "⇔", 0xF4: "⇕", 0xFB: "✗", 0xFC: "✓",
    0xFD: "☒", 0xFE: "☑",
    **{0x81 + number: chr(0x2460 + number) for number in range(10)},
    **{0x8C + number: chr(0x2776 + number) for number in range(10)},
}  # fmt: skip
_WINGDINGS_2 = {
    0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0x97: "●", 0x98: "●", 0xA2: "■", 0xA3: "□",
    0x30: "☐", 0x2A: "☐", 0x6A: "①",
}  # fmt: skip
_WINGDINGS_3 = {0x66: "←", 0x67: "→", 0x68: "↑", 0x69: "↓", 0x70: "▲", 0x71: "▼", 0x74: "◄", 0x75: "►", 0x7D: "▶"}
_WEBDINGS = {0x33: "◀", 0x34: "▶", 0x35: "▲", 0x36: "▼", 0x61: "✓", 0x63: "□", 0x67: "■", 0x6E: "●", 0x72: "✗"}
SYMBOL_FONTS: dict[str, dict[int, str]] = {
    "symbol": {0x20 + index: character for index, character in enumerate(_SYMBOL)}
    | {0xA0 + index: character for index, character in enumerate(_SYMBOL_HIGH)},
    "wingdings": _WINGDINGS,
    "wingdings 2": _WINGDINGS_2,
    "wingdings 3": _WINGDINGS_3,
    "webdings": _WEBDINGS,
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
