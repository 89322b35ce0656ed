"""Finds fonts with the letters of a text. Uses the bundled DejaVu Sans first, then fonts of this computer."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from api.errors import UsageError

MISSING = "□"
_FOLDERS = (
    "/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts", "/Library/Fonts",
    "/System/Library/Fonts", "~/Library/Fonts",
)  # fmt: skip
_SUFFIXES = {".ttf", ".otf", ".ttc"}
_SHOWN = 10
_ADVICE = "Choose docx or html."


def bundled(style: str) -> Path:
    """Return the font file of DejaVu Sans that matplotlib includes, in the style '' or '-Bold'."""
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise UsageError("The fonts of matplotlib are missing. Install Candor again.")
    return Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / f"DejaVuSans{style}.ttf"


def find_fonts(text: str) -> tuple[list[Path], str]:
    """Return the fonts for the text in addition to the bundled one, and the symbols that no font has.

    Raises UsageError for letters that no font has, and for scripts that need text shaping.
    """
    if unshaped := _first(letter for letter in text if _needs_shaping(letter)):
        raise UsageError(f"A PDF cannot show the script of {unshaped}, which needs text shaping. {_ADVICE}")
    missing, fonts = set(filter(str.isprintable, text)) - _letters_of(bundled("")), []
    for path in _system_fonts() if missing else ():
        if found := missing & _letters_of(path):
            fonts.append(path)
            missing -= found
        if not missing:
            break
    if lacking := _first(letter for letter in missing if unicodedata.category(letter)[0] in "LN"):
        raise UsageError(f"No font on this computer has {lacking}. Install one that has them, such as Noto. {_ADVICE}")
    return fonts, "".join(sorted(missing))


def _needs_shaping(letter: str) -> bool:
    return unicodedata.bidirectional(letter) in ("R", "AL") or unicodedata.category(letter) == "Mc"


def _first(letters: Iterable[str]) -> str:
    return " ".join(sorted(set(letters))[:_SHOWN])


def _letters_of(path: Path) -> set[str]:
    """Return the letters of a font. Return none if the file cannot be read as a font."""
    from fontTools.ttLib import TTFont, TTLibError

    try:
        with TTFont(path, fontNumber=0, lazy=True) as font:
            return set(map(chr, font.getBestCmap() or ()))
    except (OSError, TTLibError):
        return set()


def _system_fonts() -> Iterator[Path]:
    for folder in _FOLDERS:
        for parent, _, names in sorted(os.walk(Path(folder).expanduser())):
            yield from (Path(parent, name) for name in sorted(names) if Path(name).suffix.lower() in _SUFFIXES)
