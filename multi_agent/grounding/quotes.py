"""Finds a quote in its passage: an exact match after folding, never by similarity.

Folding removes what copying changes: compatibility forms, ligatures and decomposed letters (Unicode NFKC), typographic
quotation marks and dashes, soft hyphens and zero-width characters, runs of white space, also in scripts without spaces,
and hyphenation at line ends. It keeps letters, digits, their case and their order. A range is found with and without
spaces around its dash ("5 – 7"). A raised figure after a figure stays raised, because 10⁶ is not 106. After a letter,
as in m² and CO₂, it is the same as a plain one. Struck text (``~~…~~``) is not found without its marks.
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
_GAP = re.compile(rf"(?<={_SPACELESS.pattern}) (?={_SPACELESS.pattern}|[^\w ])|(?<=[^\w ]) (?={_SPACELESS.pattern})")
"""A space between characters of a script that has none, where a line break was."""
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufe0e\ufe0f\ufeff")
_STRUCK = "~~"
_SHIFT = re.compile(r"(?<=[^\W\d_])[\^_](?=\d)")
_RANGE = re.compile(r"\d(?:-| - )(?=\d)")
_BROKEN = re.compile(r"(?<=\w)[-\u2010\u00ad]\s+(?=\w)")


def locate(quote: str, chunk: Chunk) -> Span | None:
    """Return the span of the quote in the chunk, or in the table header shown with it; None if it is in neither.

    A quote must start and end at a word boundary of the passage: "10" is not found in "2010".
    """
    parts = [(chunk.text, chunk.start)]
    if chunk.header:
        parts.append((chunk.header.text, chunk.header.start))
    for text, offset in parts:
        if (span := _locate(quote, text)) and not _is_struck(span, text):
            return Span(span.start + offset, span.end + offset)
    return None


def _locate(quote: str, text: str) -> Span | None:
    if span := _find_exact(quote.strip(), text):  # most quotes are exact, and folding takes a millisecond
        return span
    return next(iter(places(quote, text)), None)


def places(quote: str, text: str) -> list[Span]:
    """Return every span of the quote in the text. White space and forms of signs may differ, words may not."""
    return list(_find(quote, text, join_hyphenated=True)) or list(_find(quote, text, join_hyphenated=False))


def _is_struck(span: Span, text: str) -> bool:
    """Return whether the span is inside text that its line strikes out, without the marks."""
    line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    return line.count(_STRUCK) % 2 == 1 and _STRUCK not in text[span.start : span.end]


def _find_exact(quote: str, text: str) -> Span | None:
    at = text.find(quote) if quote else -1
    while at >= 0:
        if at_boundaries(text, at, at + len(quote)):
            return Span(at, at + len(quote))
        at = text.find(quote, at + 1)
    return None


def fold(text: str) -> str:
    """Return the text in the folded form in which quotes are compared.

    The result is that of ``_fold``, which also maps it to the original text and takes ten times as long.
    """
    joined = _BROKEN.sub(_join_broken, text)
    plain = joined if joined.isascii() else unicodedata.normalize("NFC", joined).translate(_FOLDED)
    plain = " ".join(_SHIFT.sub("", plain).split())
    return plain if plain.isascii() else _GAP.sub("", plain)


def _join_broken(hyphen: re.Match[str]) -> str:
    text, start, end = hyphen.string, hyphen.start(), hyphen.end()
    return "" if text[start - 1].isalpha() and text[end].isalpha() else hyphen[0]


class _Folded(NamedTuple):
    text: str
    origins: list[int]  # origins[i]: index in the original text of the character text[i]


def _find(quote: str, text: str, *, join_hyphenated: bool) -> Iterator[Span]:
    needle, hay = (_fold(each, join_hyphenated=join_hyphenated) for each in (quote, text))
    if _RANGE.search(needle.text):
        needle, hay = _without_spaces(needle), _without_spaces(hay)
    sought = needle.text.strip()
    at = hay.text.find(sought) if sought else -1
    while at >= 0:
        end = at + len(sought)
        if at_boundaries(hay.text, at, end) and not (_cuts(hay.origins, at) or _cuts(hay.origins, end)):
            yield Span(hay.origins[at], _letter_end(text, hay.origins[end - 1]))
        at = hay.text.find(sought, at + 1)


def _without_spaces(folded: _Folded) -> _Folded:
    """Return the text without the spaces around the dashes of ranges: "5-7" for "5 - 7"."""
    spaces = {at for found in _RANGE.finditer(folded.text) for at in (found.start() + 1, found.end() - 1)}
    kept = [at for at, each in enumerate(folded.text) if not (at in spaces and each == " ")]
    return _Folded("".join(folded.text[at] for at in kept), [folded.origins[at] for at in kept])


def _cuts(origins: list[int], at: int) -> bool:
    """Return whether ``at`` is inside the folded form of one character, such as "1⁄2" for "½"."""
    return 0 < at < len(origins) and origins[at - 1] == origins[at]


def at_boundaries(text: str, start: int, end: int) -> bool:
    """Return whether both ends are at word boundaries. Scripts without spaces have none and always pass."""
    cut_before = start > 0 and _one_word(text[start - 1], text[start])
    cut_after = end < len(text) and _one_word(text[end - 1], text[end])
    return not (cut_before or cut_after)


def _one_word(left: str, right: str) -> bool:
    if "^" in (left, right) or _is_joined(right):  # an exponent belongs to its number, an accent to its letter
        return True
    return left.isalnum() and right.isalnum() and not has_spaceless(left + right)


def has_spaceless(text: str) -> bool:
    """Return whether a character of the text belongs to a script without spaces between words."""
    return not text.isascii() and _SPACELESS.search(text) is not None


@lru_cache(maxsize=256)  # one passage is searched for several quotes
def _fold(text: str, *, join_hyphenated: bool) -> _Folded:
    folded: list[str] = []
    origins: list[int] = []
    for index, character in _without_shifts(_units(text, join_hyphenated)):
        if character == " " and (not folded or folded[-1] == " "):
            continue
        if folded[-1:] == [" "] and _GAP.match("".join(folded[-2:]) + character, 1):
            del folded[-1], origins[-1]
        folded.append(character)
        origins.append(index)
    return _Folded("".join(folded), origins)


def _without_shifts(units: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the units without the marks of raised and lowered figures after letters, as ``_SHIFT`` removes them."""
    mark: tuple[int, str] | None = None
    last = ""
    for unit in units:
        if mark is not None:
            if not unit[1].isdigit():
                yield mark
            mark = None
        elif unit[1] in ("^", "_") and last.isalpha():
            mark, last = unit, unit[1]
            continue
        yield unit
        last = unit[1]
    if mark is not None:
        yield mark


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
        end = _letter_end(text, index)
        for each in character if end == index + 1 else unicodedata.normalize("NFC", text[index:end]):
            yield from ((index, part) for part in _FOLDED[ord(each)])
        index = end


def _letter_end(text: str, index: int) -> int:
    """Return the end of the letter at ``index`` with its marks, such as the accents of decomposed letters (NFD)."""
    end = index + 1
    while end < len(text) and _is_joined(text[end]):
        end += 1
    return end


def _is_joined(character: str) -> bool:
    """Return whether the character is a part of the letter before it: a mark, or a vowel or final of Hangul."""
    return character >= "\u0300" and (unicodedata.category(character)[0] == "M" or "\u1160" <= character <= "\u11ff")


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
    form = unicodedata.decomposition(character)
    shift = "^" if form.startswith("<super>") else "_" if form.startswith("<sub>") else ""
    plain = "".join(" " if part.isspace() else part for part in unicodedata.normalize("NFKC", dash))
    return shift + plain if plain[:1].isdigit() else plain


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
