"""Tells whether the text of a page is what a reader sees: fonts without a usable character map give other characters.

Two kinds occur: characters that no text has (replacement and private-use characters), and letters that are all shifted
by the same distance, as print drivers write glyph numbers. A shift is recognised by undoing it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from ingest.readers.pdf.words import Word

_STRANGE = 0.3  # share of the characters; RAGFlow and others read a page again from here on
_LETTERS = 100  # fewer letters tell nothing
_SHIFTS = (-1, 1, -2, 2, -3, 3, 29, 31, -29, -31)
"""Distances in real files: neighbours, and the glyph numbers of TrueType fonts, in which the blank is the third."""
_TRIGRAMS = {
    "the", "and", "ing", "ion", "ent", "tio", "ati", "for", "ter", "tha", "ate", "ers", "res", "hat", "ver", "ere",
    "con", "nte", "all", "his", "der", "die", "und", "ein", "sch", "ich", "nde", "che", "den", "des", "les", "que",
    "est", "ans", "men", "ons", "eur", "par", "ous", "ait", "del", "ado", "sta", "nto", "ara", "aci", "per", "ell",
    "ato", "zio", "van", "het", "een", "aan",
}  # fmt: skip
_RARE, _COMMON = 0.02, 0.05  # shares of frequent trigrams: fewer is no language, more is one. English has 0.12


def is_legible(words: Iterable[Word]) -> bool:
    """Return whether the words are text, as far as their characters tell."""
    text = "".join(word.text for word in words)
    strange = sum(map(_is_strange, text))
    return strange <= _STRANGE * len(text) and not _is_shifted(text)


def _is_strange(character: str) -> bool:
    return character == "\ufffd" or unicodedata.category(character) in ("Co", "Cc", "Cn", "Cs")


def _is_shifted(text: str) -> bool:
    """Return whether undoing a shift turns text without any frequent letters into text of a language."""
    if sum(character.isalpha() and character.isascii() for character in text) < _LETTERS or _share(text) > _RARE:
        return False
    return any(_share("".join(_moved(character, shift) for character in text)) > _COMMON for shift in _SHIFTS)


def _moved(character: str, shift: int) -> str:
    return chr(min(max(ord(character) + shift, 32), 0x10FFFF))


def _share(text: str) -> float:
    """Return the share of frequent trigrams among all."""
    lower = text.lower()
    return sum(lower[start : start + 3] in _TRIGRAMS for start in range(len(lower) - 2)) / max(len(lower) - 2, 1)
