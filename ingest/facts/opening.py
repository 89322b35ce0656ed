"""The opening of a document: its first pages, where it says what it is."""

from __future__ import annotations

import re
from functools import cached_property

from ingest.document import Fact, FactSource, ParsedDocument

_PAGES = 3
_CHARACTERS = 8_000  # of a format without pages: about three pages
_LONGEST_OPENING = 30_000  # characters
_LONGEST_WHOLE = 2_000_000  # characters; the rest of a longer document is not counted
WORD = re.compile(r"\w+")
_LONGEST_QUOTE = 300


class Opening:
    """The first pages of one document. ``whole`` is the text of all of it, with the same offsets.

    Both are cut to a length that bounds the time that the rules take.
    """

    def __init__(self, parsed: ParsedDocument) -> None:
        self._pages = parsed.pages
        self.whole = parsed.text[:_LONGEST_WHOLE]
        end = parsed.pages[min(_PAGES, len(parsed.pages)) - 1].end if parsed.pages else _CHARACTERS
        self.text = parsed.text[: min(end, _LONGEST_OPENING)]

    @cached_property
    def words(self) -> frozenset[str]:
        """The words and numbers on the first pages, in lower case."""
        return frozenset(WORD.findall(self.text.casefold()))

    @cached_property
    def letters(self) -> str:
        """The words and numbers on the first pages, in lower case, with nothing between them."""
        return "".join(WORD.findall(self.text.casefold()))

    def fact(self, start: int, end: int, value: str = "") -> Fact:
        """Return the fact that whole[start:end] states, quoted with its line. The value is the words themselves."""
        first = max(self.whole.rfind("\n", 0, start) + 1, start - _LONGEST_QUOTE // 2)
        last = self.whole.find("\n", end)
        quote = " ".join(self.whole[first : last if last >= 0 else len(self.whole)].split())
        printed = " ".join(self.whole[start:end].split())
        page = next((page.number for page in self._pages if page.start <= start < page.end), None)
        return Fact(
            value=value or printed, printed=printed, quote=quote[:_LONGEST_QUOTE], page=page, source=FactSource.RULE
        )
