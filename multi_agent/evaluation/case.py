"""The input of metrics, which is a question with its answer, the retrieved passages and the cited quotes.

Also compares documents, pages and quotes with gold.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from pydantic import Field

from base.models import FrozenModel
from multi_agent.evaluation.question_set import AnswerType, Gold, Question
from multi_agent.grounding.quotes import fold
from multi_agent.grounding.written_answer import is_foreseen
from multi_agent.llm.wrappers.usage import ResponseFaults
from multi_agent.values.answer import Answer, Status

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """Return the text in lower case, without punctuation and English articles, with single spaces.

    This is the normalization of SQuAD (Rajpurkar et al. 2016, the official evaluation script).
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def token_f1(answer: str, accepted: str) -> float:
    """Return the F1 of the normalized words, 0 to 1. Two empty answers give 1."""
    ours, theirs = normalize_answer(answer).split(), normalize_answer(accepted).split()
    if not ours or not theirs:
        return float(ours == theirs)
    common = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * common / (len(ours) + len(theirs))


def contains_phrase(phrase: str, text: str) -> bool:
    """Return whether the normalized text contains the normalized phrase as consecutive words."""
    needle = normalize_answer(phrase)
    return bool(needle) and f" {needle} " in f" {normalize_answer(text)} "


_CITATION = re.compile(r"\s*\[(?:C?\d+(?:, ?C?\d+)*|unsupported|not checked|contradicts its quote)\]")


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
    """Return the text of an answer without its citation marks and remarks."""
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


_SEPARATORS = re.compile(r"[;\n]")
_COMMAS = re.compile(r",(?!\d)")  # not inside numbers


class ItemMatch(NamedTuple):
    """Counts of right, wrong and missing items."""

    right: int
    wrong: int
    missing: int


def match_items(question: Question, case: Case) -> ItemMatch:
    """Match the items of the answer with the accepted ones. An item is right if it contains an accepted one."""
    items = _items(case)
    missing = [each for each in question.accepted if not any(contains_phrase(each, item) for item in items)]
    wrong = [item for item in items if not any(contains_phrase(each, item) for each in question.accepted)]
    return ItemMatch(len(question.accepted) - len(missing), len(wrong), len(missing))


def _items(case: Case) -> list[str]:
    """Split the short answer at semicolons or line ends, else at commas. Without a short answer, return the claims."""
    if not case.answered:
        return []
    if not case.answer.short:
        return [claim.text for claim in case.answer.claims]
    marks = _SEPARATORS if _SEPARATORS.search(case.answer.short) else _COMMAS
    return [item for item in marks.split(case.answer.short) if item.strip()]


class Place(StrEnum):
    """The outcome of a question: right, or the stage that failed. The values are stored."""

    RIGHT = "right"
    RUN_FAILED = "run failed"
    ANSWERED_WRONGLY = "answered what has no answer"
    NOT_ASKED_BACK = "unclear, and not asked back"
    ASKED_BACK_WRONGLY = "clear, and asked back"
    NOT_RETRIEVED = "not retrieved"
    NOT_EXTRACTED = "retrieved but not extracted"
    NOT_USED = "extracted but not used"
    REFUSED_WRONGLY = "all there, and not answered"
    WRONG_COMPUTING = "computed wrongly"
    WRONG_CONCLUSION = "used, and still not right"
    UNKNOWN = "wrong, cause unknown"

    @classmethod
    def _missing_(cls, value: object) -> Place | None:
        return cls.UNKNOWN if value == "not to be told without gold" else None  # the name in older evaluations


def find_failure(case: Case, *, right: bool) -> Place:
    """Return the stage at which the answer failed, or ``Place.RIGHT``, by comparing the trace with the gold.

    The stages retrieval, extraction and use are checked in this order. The first stage that lacks gold is the cause.
    Without gold, the stage is unknown.
    """
    if case.answer.status in (Status.FAILED, Status.CANCELLED):
        return Place.RUN_FAILED
    if right:
        return Place.RIGHT
    if case.question.type is AnswerType.UNCLEAR:
        return Place.NOT_ASKED_BACK
    if case.asked_back:
        return Place.ASKED_BACK_WRONGLY
    if case.question.answerable is False:
        return Place.ANSWERED_WRONGLY
    gold = case.question.gold
    if not gold:
        return Place.UNKNOWN
    if not all(any(_contains(each, passage) for passage in case.retrieved) for each in gold):
        return Place.NOT_RETRIEVED
    if not all(any(matches_gold(each, item) for item in case.extracted) for each in gold):
        return Place.NOT_EXTRACTED
    if not case.answered:
        return Place.REFUSED_WRONGLY
    if not all(any(matches_gold(each, item) for item in case.cited) for each in gold):
        return Place.NOT_USED
    computed = any(claim.computations for claim in case.answer.claims)
    return Place.WRONG_COMPUTING if computed else Place.WRONG_CONCLUSION


def _contains(gold: Gold, passage: Passage) -> bool:
    if gold.quote:
        return contains_gold(gold, passage.document, passage.text) or overlaps(gold, passage.document, passage.text)
    return on_page(gold, passage.document, passage.pages) if gold.pages else is_document(gold, passage.document)
