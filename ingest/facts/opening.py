"""Provides the opening of a document: the first pages, which usually state its title, issuer and period."""

import re
from functools import cached_property

from ingest.document import Fact, FactSource, ParsedDocument

_PAGES = 3
_CHARACTERS = 8_000  # about three pages, for formats without pages
_FIRST_PAGE = 2_500  # characters, for formats without pages
_LONGEST_OPENING = 30_000  # characters
_LONGEST_WHOLE = 2_000_000  # characters; the rules ignore the rest of a longer document
WORD = re.compile(r"\w+")
_LONGEST_QUOTE = 300  # characters


class Opening:
    """The opening of one document. ``text`` is the text of the first pages, ``whole`` that of the document.

    Offsets are the same in both. Both are truncated to limit the run time of the rules.
    """

    def __init__(self, parsed: ParsedDocument) -> None:
        self._pages = parsed.pages
        self.whole = parsed.text[:_LONGEST_WHOLE]
        end = parsed.pages[min(_PAGES, len(parsed.pages)) - 1].end if parsed.pages else _CHARACTERS
        self.text = parsed.text[: min(end, _LONGEST_OPENING)]
        self.first_page = parsed.pages[0].end if parsed.pages else _FIRST_PAGE

    @cached_property
    def words(self) -> frozenset[str]:
        """The words and numbers of the opening in lower case."""
        return frozenset(WORD.findall(self.text.casefold()))

    @cached_property
    def letters(self) -> str:
        """The words and numbers of the opening in lower case, concatenated."""
        return "".join(WORD.findall(self.text.casefold()))

    def line(self, start: int, end: int) -> str:
        """Return the line or lines of this span of the text."""
        after = self.text.find("\n", end)
        return self.text[self.text.rfind("\n", 0, start) + 1 : after if after >= 0 else len(self.text)].strip()

    def fact(self, start: int, end: int, value: str = "") -> Fact:
        """Return the fact that ``whole[start:end]`` states. Its line is the quote; ``value`` defaults to the text."""
        first = max(self.whole.rfind("\n", 0, start) + 1, start - _LONGEST_QUOTE // 2)
        last = self.whole.find("\n", end)
        quote = " ".join(self.whole[first : last if last >= 0 else len(self.whole)].split())
        printed = " ".join(self.whole[start:end].split())
        page = next((page.number for page in self._pages if page.start <= start < page.end), None)
        return Fact(
            value=value or printed, printed=printed, quote=quote[:_LONGEST_QUOTE], page=page, source=FactSource.RULE
        )
