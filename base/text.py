"""Texts for people and prompts."""

import re
import textwrap
from collections.abc import Sequence

_DOTS = " …"
_BEFORE = 60  # characters of an excerpt before its first word
_STEM = 4  # letters that forms of a word share at least
_RULE = re.compile(r"^\|(?: *:?-+:? *\|)+\n", re.MULTILINE)  # between the heads of a table and its rows
_ROWS = re.compile(r"\|\n\|")
_SURROGATE = re.compile("[\ud800-\udfff]")


def shorten(text: str, width: int) -> str:
    """Return the text with single blanks, in at most ``width`` characters.

    It is cut at a blank or, where words have none between them, such as in Chinese, within a word.
    """
    short = textwrap.shorten(text, width, placeholder=_DOTS)
    plain = " ".join(text.split())
    is_whole = len(plain) <= width
    return short if is_whole or 2 * len(short) >= width else plain[: width - len(_DOTS)] + _DOTS


def without_surrogates(text: str) -> str:
    """Return a text with each pair of surrogates as its character, and single ones as U+FFFD: no store takes them."""
    is_clean = text.isascii() or not _SURROGATE.search(text)
    return text if is_clean else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def excerpt_around(text: str, words: Sequence[str], width: int) -> str:
    """Return the part of a passage that has most of the words. A " / " is between the rows of a table."""
    text = " ".join(_ROWS.sub(" / ", _RULE.sub("", text)).split())
    found = sorted(place for word in words for place in _places(word, text))
    if not found:
        return shorten(text, width)
    last = width - _BEFORE
    first = max((at for at, _ in found), key=lambda at: len({word for other, word in found if 0 <= other - at < last}))
    begin = text.find(" ", first - _BEFORE) + 1 if first > 2 * _BEFORE else 0
    return ("… " if begin else "") + shorten(text[begin:], width)


def _places(word: str, text: str) -> list[tuple[int, str]]:
    """Return where a text has the word, or else words that begin like it."""
    for part in (rf"{re.escape(word)}\b", re.escape(word[: max(_STEM, len(word) - 3)])):
        if found := [(each.start(), word) for each in re.finditer(rf"\b{part}", text, re.IGNORECASE)]:
            return found
    return []
