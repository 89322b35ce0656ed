"""Writes counts as letters, Roman numerals and figures, as lists and notes of Office number them."""

from __future__ import annotations

import tomllib
from pathlib import Path

_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip

_ALPHABETS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_IDEOGRAPHS = "〇一二三四五六七八九"
_COUNTED = frozenset(_ALPHABETS.pop("ideographs").split())
_ONES, _TENS = (_ALPHABETS.pop(name).split() for name in ("ones", "tens"))
_ORDINALS = dict(pair.split("=") for pair in _ALPHABETS.pop("ordinals").split())
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
IN_WORDS = {"ordinal", "ordinalText", "cardinalText"}
"""Formats whose text depends on the language. They are written in English."""


def format_count(count: int, style: str) -> str:
    """Return a count in a number format of Word, such as ``iv`` for ``lowerRoman``."""
    match style:
        case "lowerLetter" | "upperLetter":
            letter = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1) if 0 < count < 1000 else str(count)
            return letter.upper() if style == "upperLetter" else letter
        case "lowerRoman" | "upperRoman":
            roman = _roman(count)
            return roman.upper() if style == "upperRoman" else roman
        case "none":
            return ""
        case "decimalZero":
            return f"{count:02}"
        case "decimalFullWidth":
            return str(count).translate({digit: digit - ord("0") + ord("０") for digit in range(48, 58)})
        case "ordinal":
            return f"{count}{_ENDINGS.get(count % 10, 'th') if count // 10 % 10 != 1 else 'th'}"
        case "cardinalText" | "ordinalText" if 0 < count < 100:
            words = _ONES[count] if count < 20 else f"{_TENS[count // 10]}-{_ONES[count % 10]}".removesuffix("-zero")
            last = words.rpartition("-")[2]
            ordinal = _ORDINALS.get(last) or last.removesuffix("y") + "ie" * last.endswith("y") + "th"
            return (words if style == "cardinalText" else words.removesuffix(last) + ordinal).capitalize()
        case "russianUpper":
            return format_count(count, "russianLower").upper()
        case _ if style in _COUNTED and 0 < count < 100:
            tens, ones = divmod(count, 10)
            return (_IDEOGRAPHS[tens] if tens > 1 else "") + "十" * (tens > 0) + _IDEOGRAPHS[ones] * (ones > 0)
        case _ if 0 < count <= len(_ALPHABETS.get(style, "")):
            return _ALPHABETS[style][count - 1]
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
