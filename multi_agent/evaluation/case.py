"""What a metric sees of one answered question: the question, the answer, and what was done for it."""

from __future__ import annotations

import re
from functools import cached_property

from pydantic import Field

from multi_agent.answer import Answer, Status
from multi_agent.evaluation.question_set import Gold, Question
from multi_agent.grounding.quotes import fold
from vectorstore.models import FrozenModel

_MARK = re.compile(r"\s*\[C?\d+(?:, ?C?\d+)*\]")


class Passage(FrozenModel):
    """A chunk that was found, with what tells whether it is gold."""

    chunk_id: str
    document: str = Field(description="its name in the collection")
    pages: tuple[int, ...]
    text: str


class Cited(FrozenModel):
    """A quote that an agent took as evidence."""

    document: str = Field(description="its name in the collection")
    title: str = ""
    pages: tuple[int, ...]
    quote: str
    in_source: bool = Field(description="whether these words stand at its place in the parsed text")


class Case(FrozenModel):
    """One answered question."""

    question: Question
    answer: Answer
    retrieved: tuple[Passage, ...] = Field(description="what searches found, best first, first searches first")
    extracted: tuple[Cited, ...] = Field(default=(), description="all evidence that was taken")
    cited: tuple[Cited, ...] = Field(default=(), description="the evidence that claims of the answer stand on")

    @property
    def answered(self) -> bool:
        """Whether an answer was given, be it right or wrong."""
        return self.answer.status is Status.ANSWERED

    @property
    def abstained(self) -> bool:
        """Whether the run came to its end and gave no answer; one that failed has not decided anything."""
        return self.answer.status is Status.INSUFFICIENT

    @property
    def said(self) -> str:
        """The bare answer: the short form, else the text without its marks."""
        return self.answer.short or self.in_full

    @cached_property
    def in_full(self) -> str:
        """The text of the answer without its marks."""
        return _MARK.sub("", self.answer.answer)


def is_document(gold: Gold, name: str) -> bool:
    """Whether the document is meant: by its whole name, or by the last part of it."""
    return name == gold.document or name.endswith(f"/{gold.document}")


def on_page(gold: Gold, name: str, pages: tuple[int, ...]) -> bool:
    """Whether one of its gold pages is among these."""
    return is_document(gold, name) and bool(set(gold.pages) & set(pages))


def holds(gold: Gold, name: str, text: str) -> bool:
    """Whether the text, of the document of that name, holds the gold passage."""
    return is_document(gold, name) and bool(gold.quote) and fold(gold.quote) in fold(text)


def lies_in(gold: Gold, cited: Cited) -> bool:
    """Whether the quote lies in the gold, at the finest that the gold names: passage, page or document."""
    if gold.quote:
        return overlap(gold, cited.document, cited.quote)
    return on_page(gold, cited.document, cited.pages) if gold.pages else is_document(gold, cited.document)


def overlap(gold: Gold, name: str, text: str) -> bool:
    """Whether both share a stretch of the document, of at least half of the shorter one.

    A quote may be longer or shorter than the gold passage, or begin within it: where one sentence ends is a matter of
    taste, and in a PDF it may be where its line does.
    """
    if not (is_document(gold, name) and gold.quote):
        return False
    ours, theirs = fold(text), fold(gold.quote)
    return bool(ours) and (theirs in ours or ours in theirs or _joined(ours, theirs) or _joined(theirs, ours))


def _joined(first: str, second: str) -> bool:
    """Whether the end of the one is the beginning of the other, for at least half of the shorter."""
    shorter = min(len(first), len(second))
    return any(first.endswith(second[:size]) for size in range(shorter - 1, (shorter - 1) // 2, -1))
