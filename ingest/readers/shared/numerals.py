"""Writes counts as letters, Roman numerals and figures, as lists and notes of Office number them."""

from __future__ import annotations

_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


def format_count(count: int, style: str) -> str:
    """Return a count in a number format of Word, such as ``iv`` for ``lowerRoman``."""
    match style:
        case "lowerLetter" | "upperLetter":
            letter = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1) if 0 < count < 1000 else str(count)
            return letter.upper() if style == "upperLetter" else letter
        case "lowerRoman" | "upperRoman":
            roman = _roman(count)
            return roman.upper() if style == "upperRoman" else roman
        case "decimalZero":
            return f"{count:02}"
        case _:
            return str(count)


def _roman(count: int) -> str:
    if not 0 < count < 4000:
        return str(count)
    numeral = ""
    for value, letters in _ROMAN:
        numeral += letters * (count // value)
        count %= value
    return numeral
