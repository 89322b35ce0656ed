"""Builds the context line of a chunk: the document's title, issuer and period, and the headings above the chunk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from html import unescape
from pathlib import PurePosixPath

from ingest.document import CAPTION, ISSUER, PERIOD, TITLE, Block, BlockKind, ParsedDocument

TokenCounter = Callable[[Sequence[str]], list[int]]

_CONTEXT_SHARE = 4  # the context line uses at most one fourth of the budget
_TITLE_LENGTH = 120  # characters
_TITLE_WITHIN = 500  # characters: a heading further down belongs to a section, not to the document
_PDF = "application/pdf"
_WORKBOOKS = ("spreadsheetml", "ms-excel", "opendocument.spreadsheet")
_WORD = re.compile(r"[^\W\d_]{2}")


class Outline:
    """The title and sections of a document. ``name`` is its file name, ``budget`` the tokens per chunk."""

    def __init__(self, count_tokens: TokenCounter, budget: int, parsed: ParsedDocument, name: str) -> None:
        self._count = count_tokens
        self._budget = budget
        self._parsed = parsed
        self._name = name
        self._counted: dict[str, int] = {}
        self._contexts: dict[tuple[str, ...], tuple[tuple[str, ...], int]] = {}

    @cached_property
    def title(self) -> str:
        """The title fact, the first heading or the file name. The first of these that contains a word is used.

        For a PDF, the file name comes before the first heading. The reader infers headings from the layout, and forms
        of one kind all start with the same heading ("UNITED STATES SECURITIES AND EXCHANGE COMMISSION"). For a workbook
        too, with the title that it stores before both: its headings are names of sheets, which rarely have its title.
        """
        stem = PurePosixPath(self._name).stem.replace("_", " ")
        heading = self._first_heading()
        mime_type = self._parsed.mime_type
        guessed = [stem, heading] if mime_type == _PDF else [heading, stem]
        if any(family in mime_type for family in _WORKBOOKS):
            guessed = [self._parsed.title, stem, heading]
        stated = [self._parsed.facts[TITLE].printed] if TITLE in self._parsed.facts else []
        named = next((title for title in (*stated, *guessed) if _WORD.search(title)), stem)
        length = _TITLE_LENGTH
        while self._tokens(_shortened(named, length)) > self._budget // _CONTEXT_SHARE and length > 1:
            length //= 2
        return _shortened(named, length)

    @cached_property
    def about(self) -> str:
        """Issuer and period as printed, unless the title contains them. Empty if the context line has no room."""
        facts = [self._parsed.facts[name].printed for name in (ISSUER, PERIOD) if name in self._parsed.facts]
        lacking = ", ".join(fact for fact in facts if _letters(fact) not in _letters(self.title))
        fits = lacking and self._tokens(f"{self.title} › {lacking}") <= self._budget // _CONTEXT_SHARE
        return lacking if fits else ""

    def _first_heading(self) -> str:
        """Return the first heading if it is near the start and short enough for a title, otherwise ``""``."""
        first = next((block for block in self._parsed.blocks if block.kind is BlockKind.HEADING), None)
        if first is None or first.start > _TITLE_WITHIN or first.end - first.start > 2 * _TITLE_LENGTH:
            return ""
        return self._of(first)

    def sections(self) -> Iterator[tuple[Block, tuple[str, ...]]]:
        """Yield every block with its section path. The path of a heading includes its own text, but not the title."""
        path: list[tuple[int, str]] = []
        previous = None
        for block in self._parsed.blocks:
            if previous is BlockKind.TABLE and block.kind is not BlockKind.TABLE:
                path = [(level, text) for level, text in path if level != CAPTION]
            previous = block.kind
            if block.kind is BlockKind.HEADING:
                path = [(level, text) for level, text in path if level < block.level]
                path.append((block.level, self._of(block)))
            names = [_shortened(text, _TITLE_LENGTH) for _, text in path]
            yield block, tuple(names[1:] if names and names[0] == self.title else names)

    def context(self, section: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
        """Return the section path and the tokens of its context line. Drops outer headings until the line fits."""
        if section not in self._contexts:
            path = " › ".join(part for part in (self.title, self.about, *section) if part)
            tokens = self._tokens(path) if path else 0
            fits = not section or tokens <= self._budget // _CONTEXT_SHARE
            self._contexts[section] = (section, tokens) if fits else self.context(section[1:])
        return self._contexts[section]

    def room(self, section: tuple[str, ...]) -> int:
        """Return the number of tokens left for the text below the context line."""
        return self._budget - self.context(section)[1]

    def _tokens(self, text: str) -> int:
        """Count the tokens of a context line, each line once."""
        if text not in self._counted:
            [self._counted[text]] = self._count([text])
        return self._counted[text]

    def _of(self, block: Block) -> str:
        """Return the text of a heading. Some sources encode characters twice, so that ``&quot;`` remains."""
        return unescape(self._parsed.text[block.start : block.end])


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _shortened(text: str, length: int) -> str:
    """Shorten the text to at most ``length`` characters, at a word boundary."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    return text[: max(length - 1, 1)].rsplit(" ", 1)[0] + "…"
