"""Selects the passages to read: the best ones found, then the rest of their tables, pages and sections.

Search works best on small passages, but a row needs its table and a sentence its page. The found passages take most of
the token budget, so that documents of lower rank are read, too. The passages around them take the rest.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest

from base.tokens import estimate_tokens
from multi_agent.library import Library
from multi_agent.prompts.show_passages import fitted
from vectorstore.models import Chunk

_REACH = 12
"""Passages before and after a found one that may belong to its table, page or section."""
FOUND_SHARE = 0.7
"""Share of the token budget that found passages take first. ``benchmarks/filings.py`` compared shares of 0.5, 0.7 and 1
on 56 questions about 20 quarterly reports. 16,000 tokens contained a figure of the answer for 41, 43 and 41 questions,
and its whole page for 24, 22 and 3; 8,000 tokens for 32, 34 and 37, and for 13, 8 and 2."""

Place = tuple[str, str, int]
"""A document's id and version, and the position of a passage in it. An ingest may replace the version during a run."""


def read_around(
    found: Sequence[Chunk], library: Library, tokens: int, found_share: float = FOUND_SHARE
) -> tuple[Chunk, ...]:
    """Return the found passages, best first, each followed by the passages around it.

    ``found`` is ranked, best first. The passages have at most ``tokens`` tokens together, by Candor's estimate. A found
    passage that could never fit is cut. Passages with the same text are returned once, and none that a copy of its
    document contains.
    """
    reading = _Reading(tokens)
    for chunk in found:
        reading.add(chunk, chunk, found_share)
    near = {(each.document_id, each.version, each.index): each for each in library.around(reading.found, _REACH)}
    for chunk in reading.found:
        for each in _around(chunk, near):
            reading.add(each, chunk)
    for chunk in found:
        reading.add(chunk, chunk)
    return reading.passages


def in_turn(*ranked: Sequence[Chunk]) -> Iterator[Chunk]:
    """Yield the first passage of each ranking, then the second of each, and so on."""
    return filter(None, chain.from_iterable(zip_longest(*ranked)))


class _Reading:
    """Passages within a token budget, each with the found passage that it was read for."""

    def __init__(self, tokens: int) -> None:
        self._left, self._tokens = tokens, tokens
        self._texts: dict[str, str] = {}
        self._groups: dict[str, list[Chunk]] = {}

    @property
    def found(self) -> list[Chunk]:
        """The found passages that were added, best first."""
        return [group[0] for group in self._groups.values()]

    @property
    def passages(self) -> tuple[Chunk, ...]:
        return tuple(chunk for group in self._groups.values() for chunk in group)

    def add(self, chunk: Chunk, reason: Chunk, share: float = 1) -> None:
        """Add the passage unless its text is known or it does not fit into this share of the budget."""
        text, room = " ".join(chunk.reading_text.split()).casefold(), self._left - (1 - share) * self._tokens
        if chunk is reason and (share == 1 or not self._groups) and estimate_tokens(chunk.reading_text) > self._tokens:
            chunk = fitted(chunk, room)
        size = estimate_tokens(chunk.reading_text)
        if not self._is_known(text, chunk.title) and chunk.text and (size <= room or not self._groups):
            self._texts[text] = chunk.title
            self._left -= size
            self._groups.setdefault(reason.id, []).append(chunk)

    def _is_known(self, text: str, title: str) -> bool:
        """Return whether the text was added, or is a part of an added one from a document of the same title."""
        return text in self._texts or any(title == each and text in longer for longer, each in self._texts.items())


def _around(chunk: Chunk, near: Mapping[Place, Chunk]) -> list[Chunk]:
    """Return the passages of the same table, page or section, nearest first."""
    unit = _same_page if chunk.pages else _same_section
    related = {each.index: each for belongs in (_same_table, unit) for each in _run(chunk, near, belongs)}
    return sorted(related.values(), key=lambda each: abs(each.index - chunk.index))


def _run(chunk: Chunk, near: Mapping[Place, Chunk], belongs: Callable[[Chunk, Chunk], bool]) -> Iterator[Chunk]:
    """Yield the unbroken runs of passages before and after the chunk that belong to it."""
    for step in (-1, 1):
        position = chunk.index + step
        while (each := near.get((chunk.document_id, chunk.version, position))) and belongs(chunk, each):
            yield each
            position += step


def _same_table(chunk: Chunk, other: Chunk) -> bool:
    """Return whether one passage contains the table header of the other, or both have the same header."""
    if chunk.header and other.header:
        return chunk.header.start == other.header.start
    header, first = (chunk.header, other) if chunk.header else (other.header, chunk)
    return header is not None and first.start <= header.start < first.end


def _same_page(chunk: Chunk, other: Chunk) -> bool:
    return not set(chunk.pages).isdisjoint(other.pages)


def _same_section(chunk: Chunk, other: Chunk) -> bool:
    return chunk.section == other.section
