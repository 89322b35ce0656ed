"""Finds what a misspelt word of a query may mean: the words of the collection that are one edit away.

All spellings at one edit (letters exchanged, left out, added or replaced) are searched in one request, as if they were
forms of one word. The passages that have one of them tell which exist, so no list of the collection's words is needed.
Source of the edits: Peter Norvig, "How to Write a Spelling Corrector", 2007.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

LEAST, LONGEST = 5, 40
"""Letters. Shorter words have too many neighbours, and the spellings of 10,000 letters take gigabytes."""
MOST = 3
"""Words that are searched instead of one."""
_WORD = re.compile(r"[^\W\d_]+")
_BLOCK = 32  # letters of an alphabet lie in blocks of at least this size


def is_correctable(word: str) -> bool:
    """Return whether the word has letters only, but neither few nor many. Codes and numbers are never corrected."""
    return LEAST <= len(word) <= LONGEST and word.isalpha()


def edits(word: str) -> list[str]:
    """Return all spellings at one edit, in lower case and in order."""
    word = word.casefold()
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    letters = _alphabet(word)
    found = {
        *(left + right[1] + right[0] + right[2:] for left, right in splits if len(right) > 1),
        *(left + right[1:] for left, right in splits if right),
        *(left + letter + right[1:] for left, right in splits if right for letter in letters),
        *(left + letter + right for left, right in splits for letter in letters),
    }
    return sorted(found - {word})


def nearest(word: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the words of the texts that are one edit away, most frequent first, as they are written there."""
    spellings, first, last = set(edits(word)), unicodedata.normalize("NFC", word), Counter[str]()
    written: dict[str, str] = {}
    for found in _words(texts):
        if (folded := found.casefold()) in spellings and folded != first.casefold():
            last[folded] += 1
            written.setdefault(folded, found)
    ordered = sorted(last, key=lambda each: (-last[each], each))
    return tuple(written[each] for each in ordered[:MOST])


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from _WORD.findall(unicodedata.normalize("NFC", text))


def _alphabet(word: str) -> list[str]:
    """Return the lower-case letters of the blocks that the word's letters are in."""
    blocks = {ord(letter) // _BLOCK for letter in word}
    characters = (chr(code) for block in sorted(blocks) for code in range(block * _BLOCK, (block + 1) * _BLOCK))
    return [each for each in characters if each.isalpha() and each == each.lower()]
