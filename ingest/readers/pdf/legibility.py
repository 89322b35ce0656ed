"""Tells what the text of a page lacks: it has none, it is only a stamp on a scan, or it is not what a reader sees.

Fonts without a usable character map give other characters: some that no text has (replacement and private-use
characters), letters that are all shifted by the same distance, as print drivers write glyph numbers, or letters of the
same script in other places. A shift is recognised by undoing it, swapped letters by words without a vowel.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage

from ingest.readers.pdf.page_images import bounds_on_page
from ingest.readers.pdf.words import Word

NO_TEXT, PICTURE, INSET, ILLEGIBLE, PARTLY = (
    "without text",
    "covered by a picture, with few words of text,",
    "with a picture that seems to show text",
    "whose fonts have no usable character map",
    "with words whose font has no usable character map",
)
"""What a page lacks, after its number in a warning."""
_FEW_WORDS = 40  # a stamp, a letterhead or a page number has fewer
_COVERED = 0.6  # minimum share of a page that a scan covers
_MOST_OBJECTS = 200  # a scan is one picture, or a few strips
_STRANGE = 0.3  # share of the characters; RAGFlow and others read a page again from here on
_LETTERS = 100  # fewer letters tell nothing
_SAMPLE = 2_000  # characters of another script in which a shift shows
_SHIFTS: Sequence[int] = [shift for shift in range(-31, 32) if shift]
"""Distances up to that of the glyph numbers of TrueType fonts, in which the blank is the third."""
_STRANGE_WORDS = 20  # characters in words of strange characters only, from which on a part of the page is not text
_TRIGRAMS = {
    "the", "and", "ing", "ion", "ent", "tio", "ati", "for", "ter", "tha", "ate", "ers", "res", "hat", "ver", "ere",
    "con", "nte", "all", "his", "der", "die", "und", "ein", "sch", "ich", "nde", "che", "den", "des", "les", "que",
    "est", "ans", "men", "ons", "eur", "par", "ous", "ait", "del", "ado", "sta", "nto", "ara", "aci", "per", "ell",
    "ato", "zio", "van", "het", "een", "aan",
}  # fmt: skip
_ACCENTED = re.compile("[À-ÖØ-öø-ÿ]{4,}")
_GREEK, _GREEK_ACCENTS = re.compile("[α-ω]{3,}"), re.compile("[άέήίόύώϊϋΐΰἀ-ῼ]")
_RARE, _COMMON = 0.02, 0.05  # shares of frequent trigrams: fewer is no language, more is one. English has 0.12
_LONG_WORD = re.compile(r"(?<![^\W_])[^\W\d_]{4,}(?![^\W_])")
_ALPHABETIC = re.compile("[a-zß-\u024f\u0370-\u052f]+")  # Latin, Greek, Cyrillic
_VOWELS = frozenset("aeiouyæœøəıαεηιουωаеёиоуыэюяієўъ")
_FEWEST_SWAPPED, _SWAPPED_PARTLY, _SWAPPED = 6, 0.05, 0.1
"""Thresholds for different words without a vowel: count and shares. 820 pages of reports have at most 2 and 0.015."""


def lack_of(page: PdfPage, words: Sequence[Word]) -> str:
    """Return what the text of the page lacks: ``NO_TEXT``, ``PICTURE``, ``ILLEGIBLE``, ``PARTLY`` or ``""``."""
    if not words:
        return NO_TEXT
    if not is_legible(words):
        return ILLEGIBLE
    strange = sum(len(word.text) for word in words if len(word.text) > 1 and all(map(_is_strange, word.text)))
    text = "\n".join(word.text for word in words)
    if strange + _in_other_letters(text) >= _STRANGE_WORDS or _swapped(text) > _SWAPPED_PARTLY:
        return PARTLY
    return PICTURE if len(words) < _FEW_WORDS and _covered_by_pictures(page) >= _COVERED else ""


def _covered_by_pictures(page: PdfPage) -> float:
    """Return the share of the page that pictures cover, overlapping ones twice; 0 for a page of many objects."""
    if pdfium.FPDFPage_CountObjects(page) > _MOST_OBJECTS:
        return 0.0
    pictures = page.get_objects([pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3)  # a stamped page may be in a form
    bounds = map(bounds_on_page, islice(pictures, _MOST_OBJECTS))
    covered = sum((right - left) * (top - bottom) for left, bottom, right, top in bounds)
    x0, y0, x1, y1 = page.get_bbox()
    return float(covered / max((x1 - x0) * (y1 - y0), 1.0))


def is_legible(words: Sequence[Word]) -> bool:
    """Return whether the words are text, as far as their characters tell."""
    text, lines = "".join(word.text for word in words), "\n".join(word.text for word in words)
    strange = sum(map(_is_strange, text)) + _in_other_letters(lines)
    return strange <= _STRANGE * len(text) and not _is_shifted(text) and _swapped(lines) <= _SWAPPED


def _swapped(text: str) -> float:
    """Return the share of words without a vowel, or 0 if there are few. A map that swaps letters produces many."""
    words = {word for word in _LONG_WORD.findall(text) if _ALPHABETIC.fullmatch(word)}
    swapped = sum(_VOWELS.isdisjoint(unicodedata.normalize("NFD", word)) for word in words)
    return swapped / len(words) if swapped >= _FEWEST_SWAPPED else 0.0


def _in_other_letters(text: str) -> int:
    """Return the number of letters from a wrong character map: Äîãîâîð for Договор, ωαρραντψ for warranty.

    No language has words of accented Latin letters alone, and Greek has an accent in nearly every word.
    """
    greek = sum(map(len, _GREEK.findall(text)))
    is_latin = greek > _LETTERS and len(_GREEK_ACCENTS.findall(text)) < _RARE * greek
    return sum(map(len, _ACCENTED.findall(text))) + greek * is_latin


@lru_cache(maxsize=4096)
def _is_strange(character: str) -> bool:
    return character == "\ufffd" or unicodedata.category(character) in ("Co", "Cc", "Cn", "Cs")


def _is_shifted(text: str) -> bool:
    """Return whether undoing a shift turns text without any frequent letters into text of a language."""
    if sum(map(str.isalpha, text)) < _LETTERS or _share(text) > _RARE:
        return False
    other = [ord(each) for each in text[:_SAMPLE] if not each.isascii()]
    if len(other) < _LETTERS:
        other, shifts = [ord(each) for each in text], _SHIFTS
    else:  # letters of one other script, in as many places as ASCII has
        shifts = range(32 - min(other), 127 - max(other))
    return any(_share("".join(chr(max(code + shift, 32)) for code in other)) > _COMMON for shift in shifts)


def _share(text: str) -> float:
    """Return the share of the trigrams of the text that are frequent in a language."""
    lower = text.lower()
    return sum(lower[start : start + 3] in _TRIGRAMS for start in range(len(lower) - 2)) / max(len(lower) - 2, 1)
