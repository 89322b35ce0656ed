"""Tells what the text of a page lacks: it has none, it is only a stamp on a scan, or it is not what a reader sees.

Fonts without a usable character map give other characters. Two kinds occur: characters that no text has (replacement
and private-use characters), and letters that are all shifted by the same distance, as print drivers write glyph
numbers. A shift is recognised by undoing it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

import pypdfium2.raw as pdfium
from pypdfium2 import PdfObject, PdfPage

from ingest.readers.pdf.drawing import Bounds
from ingest.readers.pdf.words import Word

NO_TEXT, PICTURE, ILLEGIBLE, PARTLY = (
    "without text",
    "covered by a picture, with few words of text,",
    "whose fonts have no usable character map",
    "with words whose font has no usable character map",
)
"""What a page lacks, after its number in a warning."""
_FEW_WORDS = 40  # a stamp, a letterhead or a page number has fewer
_COVERED = 0.6  # minimum share of a page that a scan covers
_MOST_OBJECTS = 200  # a scan is one picture, or a few strips
_STRANGE = 0.3  # share of the characters; RAGFlow and others read a page again from here on
_LETTERS = 100  # fewer letters tell nothing
_SHIFTS = [shift for shift in range(-31, 32) if shift]
"""Distances up to that of the glyph numbers of TrueType fonts, in which the blank is the third."""
_STRANGE_WORDS = 20  # characters in words of strange characters only, from which on a part of the page is not text
_TRIGRAMS = {
    "the", "and", "ing", "ion", "ent", "tio", "ati", "for", "ter", "tha", "ate", "ers", "res", "hat", "ver", "ere",
    "con", "nte", "all", "his", "der", "die", "und", "ein", "sch", "ich", "nde", "che", "den", "des", "les", "que",
    "est", "ans", "men", "ons", "eur", "par", "ous", "ait", "del", "ado", "sta", "nto", "ara", "aci", "per", "ell",
    "ato", "zio", "van", "het", "een", "aan",
}  # fmt: skip
_NO_LETTERS = re.compile("[^a-zA-Z]+")
_RARE, _COMMON = 0.02, 0.05  # shares of frequent trigrams: fewer is no language, more is one. English has 0.12


def lack_of(page: PdfPage, words: Sequence[Word]) -> str:
    """Return what the text of the page lacks: ``NO_TEXT``, ``PICTURE``, ``ILLEGIBLE``, ``PARTLY`` or ``""``."""
    if not words:
        return NO_TEXT
    if not is_legible(words):
        return ILLEGIBLE
    strange = sum(len(word.text) for word in words if len(word.text) > 1 and all(map(_is_strange, word.text)))
    if strange >= _STRANGE_WORDS:
        return PARTLY
    return PICTURE if len(words) < _FEW_WORDS and _covered_by_pictures(page) >= _COVERED else ""


def _covered_by_pictures(page: PdfPage) -> float:
    """Return the share of the page that pictures cover, overlapping ones twice; 0 for a page of many objects."""
    if pdfium.FPDFPage_CountObjects(page) > _MOST_OBJECTS:
        return 0.0
    pictures = page.get_objects([pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3)  # a stamped page may be in a form
    bounds = map(_on_page, islice(pictures, _MOST_OBJECTS))
    covered = sum((right - left) * (top - bottom) for left, bottom, right, top in bounds)
    x0, y0, x1, y1 = page.get_bbox()
    return float(covered / max((x1 - x0) * (y1 - y0), 1.0))


def _on_page(picture: PdfObject) -> Bounds:
    """Return where a picture is on its page. PDFium gives its place in the form that holds it."""
    bounds: Bounds = picture.get_bounds()
    while picture := picture.container:
        bounds = picture.get_matrix().on_rect(*bounds)
    return bounds


def is_legible(words: Sequence[Word]) -> bool:
    """Return whether the words are text, as far as their characters tell."""
    text = "".join(word.text for word in words)
    strange = sum(map(_is_strange, text))
    return strange <= _STRANGE * len(text) and not _is_shifted(text)


@lru_cache(maxsize=4096)
def _is_strange(character: str) -> bool:
    return character == "\ufffd" or unicodedata.category(character) in ("Co", "Cc", "Cn", "Cs")


def _is_shifted(text: str) -> bool:
    """Return whether undoing a shift turns text without any frequent letters into text of a language."""
    if len(_NO_LETTERS.sub("", text)) < _LETTERS or _share(text) > _RARE:
        return False
    moved = ("".join(chr(min(max(ord(each) + shift, 32), 0x10FFFF)) for each in text) for shift in _SHIFTS)
    return any(_share(each) > _COMMON for each in moved)


def _share(text: str) -> float:
    """Return the share of the trigrams of the text that are frequent in a language."""
    lower = text.lower()
    return sum(lower[start : start + 3] in _TRIGRAMS for start in range(len(lower) - 2)) / max(len(lower) - 2, 1)
