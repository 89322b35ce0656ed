"""The confidence of an answer: the share of right answers with the same signal, never the model's own figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from multi_agent.grounding.support import Judged
from multi_agent.grounding.terms import TermIndex, find_terms

_MOST_OF_QUESTION = 0.5


class Signal(StrEnum):
    """What the checks of an answer showed."""

    ON_QUESTION = "every claim supported; the quotes have at least half of the question's words"
    OFF_QUESTION = "every claim supported; the quotes have fewer"
    PICTURED = "every claim supported; some only by what a model read in a picture"
    PARTLY = "some claims not supported"
    ABSENT = "nothing found, and the question says what to answer then"
    INSUFFICIENT = "insufficient"


SHARE_RIGHT: Mapping[Signal, float] = MappingProxyType(
    {
        Signal.ON_QUESTION: 0.7,
        Signal.OFF_QUESTION: 0.3,
        Signal.PICTURED: 0.3,
        Signal.PARTLY: 0.5,
        Signal.ABSENT: 0.4,
        Signal.INSUFFICIENT: 0.4,
    }
)
"""Share of right answers by signal; for insufficient ones, of questions that the documents do not answer.

From ``benchmarks/local_model``, 2026-11-22: 65 questions answered by a model of 1.5 billion parameters, a third of them
unanswerable, and 40 answered by careful readers. On the question: 15 of 33 and 37 of 40; off the question: 7 of 25 and
none; insufficient: 3 of 7 and none. ``ABSENT`` has the share of insufficient ones: both say that the documents do not
have the answer. No answer was partly supported, and none rested on a picture; these figures are guesses.
"""


def signal_of(judged: Sequence[Judged], question: str, *, sufficient: bool) -> Signal:
    """Return the signal of an answer with these claims."""
    supported = [each for each in judged if each.supported]
    if not sufficient or not supported:
        return Signal.INSUFFICIENT
    if len(supported) < len(judged):
        return Signal.PARTLY
    if any(each.pictured for each in supported):
        return Signal.PICTURED
    statements = [each.statement for each in supported]
    quotes = [item.quote for statement in statements for item in statement.evidence]
    results = [computed.purpose for statement in statements for computed in statement.computations]
    shown = TermIndex("\n".join((*quotes, *results)))
    asked = list(find_terms(question))
    on_question = sum(term in shown for term in asked) >= _MOST_OF_QUESTION * len(asked)
    return Signal.ON_QUESTION if on_question else Signal.OFF_QUESTION
