"""Finds a quote in its passage: an exact match after folding, never by similarity.

Folding removes what copying changes: compatibility forms and ligatures (Unicode NFKC), typographic quotation marks and
dashes, soft hyphens and zero-width characters, runs of white space, and hyphenation at line ends. It keeps letters,
digits, their case and their order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from vectorstore.models import Chunk
from vectorstore.text.sentences import Span

_MARKS = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'", "−": "-"})
# Thai and Lao, Myanmar, Khmer, kana and Han, compatibility ideographs
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff\uf900-\ufaff]")
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_BROKEN = re.compile(r"(?<=\w)[-\u2010\u00ad]\s+(?=\w)")


def locate(quote: str, chunk: Chunk) -> Span | None:
    """Return the span of the quote in the chunk, or in the table header shown with it; None if it is in neither.

    A quote must start and end at a word boundary of the passage: "10" is not found in "2010".
    """
    parts = [(chunk.text, chunk.start)]
    if chunk.header:
        parts.append((chunk.header.text, chunk.header.start))
    for text, offset in parts:
        if span := _find_exact(quote.strip(), text):  # most quotes are exact, and folding takes a millisecond
            return Span(span.start + offset, span.end + offset)
        for join_hyphenated in (True, False):
            if span := _find(quote, text, join_hyphenated=join_hyphenated):
                return Span(span.start + offset, span.end + offset)
    return None


def _find_exact(quote: str, text: str) -> Span | None:
    at = text.find(quote) if quote else -1
    while at >= 0:
        if _at_boundaries(text, at, at + len(quote)):
            return Span(at, at + len(quote))
        at = text.find(quote, at + 1)
    return None


def fold(text: str) -> str:
    """Return the text in the folded form in which quotes are compared.

    The result is that of ``_fold``, which also maps it to the original text and takes ten times as long.
    """
    joined = _BROKEN.sub(_join_broken, text)
    return " ".join((joined if joined.isascii() else joined.translate(_FOLDED)).split())


def _join_broken(hyphen: re.Match[str]) -> str:
    text, start, end = hyphen.string, hyphen.start(), hyphen.end()
    return "" if text[start - 1].isalpha() and text[end].isalpha() else hyphen[0]


class _Folded(NamedTuple):
    text: str
    origins: list[int]  # origins[i]: index in the original text of the character text[i]


def _find(quote: str, text: str, *, join_hyphenated: bool) -> Span | None:
    needle = _fold(quote, join_hyphenated=join_hyphenated).text.strip()
    hay = _fold(text, join_hyphenated=join_hyphenated)
    at = hay.text.find(needle) if needle else -1
    while at >= 0:
        end = at + len(needle)
        if _at_boundaries(hay.text, at, end) and not (_cuts(hay.origins, at) or _cuts(hay.origins, end)):
            return Span(hay.origins[at], hay.origins[end - 1] + 1)
        at = hay.text.find(needle, at + 1)
    return None


def _cuts(origins: list[int], at: int) -> bool:
    """Return whether ``at`` is inside the folded form of one character, such as "1⁄2" for "½"."""
    return 0 < at < len(origins) and origins[at - 1] == origins[at]


def _at_boundaries(text: str, start: int, end: int) -> bool:
    """Return whether both ends are at word boundaries. Scripts without spaces have none and always pass."""
    cut_before = start > 0 and _one_word(text[start - 1], text[start])
    cut_after = end < len(text) and _one_word(text[end - 1], text[end])
    return not (cut_before or cut_after)


def _one_word(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum() and not has_spaceless(left + right)


def has_spaceless(text: str) -> bool:
    """Return whether a character of the text belongs to a script without spaces between words."""
    return not text.isascii() and _SPACELESS.search(text) is not None


@lru_cache(maxsize=256)  # one passage is searched for several quotes
def _fold(text: str, *, join_hyphenated: bool) -> _Folded:
    folded: list[str] = []
    origins: list[int] = []
    for index, character in _units(text, join_hyphenated):
        if character == " " and (not folded or folded[-1] == " "):
            continue
        folded.append(character)
        origins.append(index)
    return _Folded("".join(folded), origins)


def _units(text: str, join_hyphenated: bool) -> Iterator[tuple[int, str]]:
    """Yield folded characters with their index in the original text."""
    index = 0
    while index < len(text):
        character = text[index]
        if skip := _line_end_hyphen(text, index):
            if not join_hyphenated:  # the hyphen belongs to the word; remove only the break
                yield index, "-"
            index += skip
            continue
        for part in _FOLDED[ord(character)]:
            yield index, part
        index += 1


class _FoldedCharacters(dict[int, str]):
    """The folded form of each character, for ``str.translate``."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(chr(code))
        return folded


def _fold_character(character: str) -> str:
    if character.isspace():
        return " "
    if character in _INVISIBLE:
        return ""
    dash = "-" if unicodedata.category(character) == "Pd" else character.translate(_MARKS)
    return "".join(" " if part.isspace() else part for part in unicodedata.normalize("NFKC", dash))


_FOLDED = _FoldedCharacters()


def _line_end_hyphen(text: str, index: int) -> int:
    """Return the length of a hyphen and white space that split a word at ``index``, or 0.

    The white space may be a plain space, as copying can replace the line break.
    """
    if text[index] not in "-\u2010\u00ad" or index == 0 or not text[index - 1].isalpha():
        return 0
    end = index + 1
    while end < len(text) and text[end].isspace():
        end += 1
    return end - index if index + 1 < end < len(text) and text[end].isalpha() else 0
