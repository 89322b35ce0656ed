"""The input of metrics, which is a question with its answer, the retrieved passages and the cited quotes.

Also compares documents, pages and quotes with gold.
"""

from __future__ import annotations

import re
from functools import cached_property

from pydantic import Field

from base.models import FrozenModel
from multi_agent.evaluation.normalize import normalize_answer
from multi_agent.evaluation.question_set import Gold, Question
from multi_agent.grounding.quotes import fold
from multi_agent.grounding.written_answer import is_foreseen
from multi_agent.llm.wrappers.usage import ResponseFaults
from multi_agent.values.answer import Answer, Status

_CITATION = re.compile(r"\s*\[C?\d+(?:, ?C?\d+)*\]")


class Passage(FrozenModel):
    """A retrieved chunk, with the fields that are compared with gold."""

    chunk_id: str
    document: str = Field(description="name in the collection")
    pages: tuple[int, ...]
    text: str


class Cited(FrozenModel):
    """A quote that an agent extracted as evidence."""

    document: str = Field(description="name in the collection")
    title: str = ""
    pages: tuple[int, ...]
    quote: str
    in_source: bool = Field(description="whether the parsed text has exactly these words at this position")
    pictured: bool = Field(default=False, description="whether a model read the words in the picture of a page")


class Case(FrozenModel):
    """One answered question."""

    question: Question
    answer: Answer
    retrieved: tuple[Passage, ...] = Field(description="chunks found by all searches, in search order, best first")
    extracted: tuple[Cited, ...] = Field(default=(), description="all extracted evidence")
    cited: tuple[Cited, ...] = Field(default=(), description="the evidence that claims of the answer cite")
    faults: ResponseFaults = Field(default=ResponseFaults(), description="faults in the model's responses")

    @property
    def answered(self) -> bool:
        """Whether the run gave an answer, whole or in part, right or wrong."""
        return self.answer.status in (Status.ANSWERED, Status.PARTIAL) and not self._says_absent

    @property
    def abstained(self) -> bool:
        """Whether the run ended without an answer. A failed run did not abstain."""
        return self.answer.status is Status.INSUFFICIENT or self._says_absent

    @cached_property
    def _says_absent(self) -> bool:
        """Whether it gave the answer that the question defines for "not found", such as N/A."""
        answer, question = self.answer, self.question
        if answer.status is not Status.ANSWERED or answer.claims or not answer.short:
            return False
        accepted = {normalize_answer(each) for each in question.accepted}
        return is_foreseen(answer.short, question.question) and normalize_answer(answer.short) not in accepted

    @property
    def asked_back(self) -> bool:
        """Whether the run asked what the question means."""
        return self.answer.status is Status.NEEDS_CLARIFICATION

    @property
    def short_text(self) -> str:
        """The short answer, or the full text if there is no short answer."""
        return self.answer.short or self.full_text

    @cached_property
    def full_text(self) -> str:
        """The text of the answer without citation marks."""
        return without_marks(self.answer.answer)


def without_marks(text: str) -> str:
    """Return the text of an answer without its citation marks."""
    return _CITATION.sub("", text)


def is_document(gold: Gold, name: str) -> bool:
    """Return whether the gold document is this document, by its full name or the last parts of its path."""
    return name == gold.document or name.endswith(f"/{gold.document}")


def on_page(gold: Gold, name: str, pages: tuple[int, ...]) -> bool:
    """Return whether any of the pages is a gold page of the document."""
    return is_document(gold, name) and bool(set(gold.pages) & set(pages))


def contains_gold(gold: Gold, name: str, text: str) -> bool:
    """Return whether the text, from the named document, contains the whole gold quote."""
    return is_document(gold, name) and bool(gold.quote) and fold(gold.quote) in fold(text)


def matches_gold(gold: Gold, cited: Cited) -> bool:
    """Return whether the quote matches at the finest level that the gold has: quote, page or document."""
    if gold.quote:
        return overlaps(gold, cited.document, cited.quote)
    return on_page(gold, cited.document, cited.pages) if gold.pages else is_document(gold, cited.document)


def overlaps(gold: Gold, name: str, text: str) -> bool:
    """Return whether the text and the gold quote share at least half of the shorter one.

    An exact match would be too strict, because sentence boundaries vary and a PDF can break a sentence at the end of a
    line.
    """
    if not (is_document(gold, name) and gold.quote):
        return False
    ours, theirs = fold(text), fold(gold.quote)
    return bool(ours) and (theirs in ours or ours in theirs or _joined(ours, theirs) or _joined(theirs, ours))


def _joined(first: str, second: str) -> bool:
    """Return whether ``first`` ends with the beginning of ``second``, for at least half of the shorter."""
    shorter = min(len(first), len(second))
    return any(first.endswith(second[:size]) for size in range(shorter - 1, (shorter - 1) // 2, -1))
