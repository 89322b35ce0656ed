"""The confidence of an answer, measured as the share of correct answers with the same signal.

The model's own estimate is not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from base.counts import count
from multi_agent.grounding.judged import WORD_FOR_WORD, Judged
from multi_agent.grounding.meaning.lexicon import lexicon_for
from multi_agent.grounding.meaning.reading import plain_words, read
from multi_agent.grounding.terms import TermIndex, find_terms
from multi_agent.values.context import Computation
from vectorstore.models import ToolOutput

_MOST_OF_QUESTION = 0.5


class Signal(StrEnum):
    """The result of the checks of an answer."""

    ON_QUESTION = "every claim supported; the quotes have at least half of the question's words"
    OFF_QUESTION = "every claim supported; the quotes have fewer"
    PICTURED = "every claim supported; some only by what a model read in a picture"
    PARTLY = "some claims not supported"
    UNCHECKED = "some claims not checked"
    ABSENT = "nothing found, and the question says what to answer then"
    INSUFFICIENT = "insufficient"


SHARE_RIGHT: Mapping[Signal, float] = MappingProxyType(
    {
        Signal.ON_QUESTION: 0.7,
        Signal.OFF_QUESTION: 0.3,
        Signal.PICTURED: 0.3,
        Signal.PARTLY: 0.5,
        Signal.UNCHECKED: 0.6,
        Signal.ABSENT: 0.4,
        Signal.INSUFFICIENT: 0.4,
    }
)
"""Share of correct answers by signal. An insufficient answer is correct if the documents do not answer the question.

Measured with ``benchmarks/local_model`` on 2026-11-22: a model of 1.5 billion parameters answered 65 questions, a third
of them unanswerable, and careful readers answered 40. Correct answers of the model and the readers:
``ON_QUESTION`` 15 of 33 and 37 of 40; ``OFF_QUESTION`` 7 of 25 and none; ``INSUFFICIENT`` 3 of 7 and none. ``ABSENT``
uses the share of ``INSUFFICIENT``, since both mean that the documents lack the answer. ``PARTLY``, ``UNCHECKED`` and
``PICTURED`` are estimates. Of 20 answers of careful readers to questions of two hops, nearly all ``UNCHECKED``, 17 were
right (2026-11-28); a small model does worse.
"""


WEAK = "Weak"
"""The first word of the basis of an uncertain answer."""
_WEAK: Mapping[Signal, str] = MappingProxyType(
    {
        Signal.OFF_QUESTION: "its quotes have few words of the question",
        Signal.PICTURED: "a model read it in a picture of the page",
        Signal.ABSENT: "nothing was found",
    }
)


def signal_of(judged: Sequence[Judged], question: str, *, sufficient: bool) -> Signal:
    """Return the signal of an answer with these claims."""
    supported = [each for each in judged if each.stands]
    if not sufficient or not supported:
        return Signal.INSUFFICIENT
    if len(supported) < len(judged):
        return Signal.PARTLY
    if any(each.pictured for each in supported):
        return Signal.PICTURED
    if not all(each.supported for each in judged):
        return Signal.UNCHECKED
    statements = [each.statement for each in supported]
    quotes = [item.quote for statement in statements for item in statement.evidence]
    results = [computed.purpose for statement in statements for computed in statement.computations]
    # The result of a calculation contains no word of the question, but its arguments can.
    origins = [item.origin for statement in statements for item in statement.evidence]
    arguments = [str(origin.arguments) for origin in origins if isinstance(origin, ToolOutput)]
    shown = TermIndex("\n".join((*quotes, *results, *arguments)))
    content = _content_of(question)
    asked = [term for term in find_terms(question) if term in content]
    on_question = sum(term in shown for term in asked) >= _MOST_OF_QUESTION * len(asked)
    return Signal.ON_QUESTION if on_question else Signal.OFF_QUESTION


def _content_of(question: str) -> TermIndex:
    """Return the words of the question without grammar, such as "every"; all words if no lexicon knows its language."""
    lexicon = lexicon_for(plain_words(question))
    return TermIndex(" ".join(token.written for token in read(question, lexicon)) if lexicon else question)


def describe_basis(signal: Signal, judged: Sequence[Judged], computations: Sequence[Computation]) -> str:
    """Describe the basis of an answer: "Word for word on page 36" or "Weak: nothing was found"."""
    if signal is Signal.INSUFFICIENT:
        return (
            "Contradicted by its quotes"
            if any(each.contradicted for each in judged)
            else "Not answered by what was read"
        )
    if signal in _WEAK:
        return f"{WEAK}: {_WEAK[signal]}"
    share = f"{sum(not each.supported for each in judged)} of {count(len(judged), 'claim')}"
    if signal is Signal.PARTLY:
        return f"{WEAK}: {share} not supported"
    if signal is Signal.UNCHECKED:
        where = "quotes" if any(each.statement.evidence for each in judged) else "computations"
        return f"Names and figures found in its {where}; {share} not checked further"
    used = {each.number for claim in judged for each in claim.statement.computations}
    if computed := [each for each in computations if each.number in used]:
        return describe_computed(computed)
    places = {item.place: item for each in judged for item in each.statement.evidence}
    pages = sorted({page for item in places.values() for page in item.pages})
    if all(each.shown == WORD_FOR_WORD for each in judged):
        return f"Word for word{f' on page {pages[0]}' if len(pages) == 1 else ''}"
    return f"Follows from {count(len(places), 'quote')}"


def describe_computed(computations: Sequence[Computation]) -> str:
    """Return what an answer was computed from: "Computed from 3 rows"."""
    rows = sum(len(each.evidence) for each in computations)
    sources = dict.fromkeys(each.source for each in computations if each.source)
    return f"Computed from {' and '.join(([count(rows, 'row')] if rows or not sources else []) + list(sources))}"
