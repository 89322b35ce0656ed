"""The confidence of an answer, measured as the share of correct answers with the same signal.

The model's own estimate is not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from multi_agent.grounding.support import Judged
from multi_agent.grounding.terms import TermIndex, find_terms
from vectorstore.models import ToolOutput

_MOST_OF_QUESTION = 0.5


class Signal(StrEnum):
    """The result of the checks of an answer."""

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
"""Share of correct answers by signal. An insufficient answer is correct if the documents do not answer the question.

Measured with ``benchmarks/local_model`` on 2026-11-22: a model of 1.5 billion parameters answered 65 questions, a third
of them unanswerable, and careful readers answered 40. Correct answers of the model and the readers:
``ON_QUESTION`` 15 of 33 and 37 of 40; ``OFF_QUESTION`` 7 of 25 and none; ``INSUFFICIENT`` 3 of 7 and none. ``ABSENT``
uses the share of ``INSUFFICIENT``, since both mean that the documents lack the answer. ``PARTLY`` and ``PICTURED`` are
estimates: no answer had these signals.
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
    # The result of a calculation contains no word of the question, but its arguments can.
    origins = [item.origin for statement in statements for item in statement.evidence]
    arguments = [str(origin.arguments) for origin in origins if isinstance(origin, ToolOutput)]
    shown = TermIndex("\n".join((*quotes, *results, *arguments)))
    asked = list(find_terms(question))
    on_question = sum(term in shown for term in asked) >= _MOST_OF_QUESTION * len(asked)
    return Signal.ON_QUESTION if on_question else Signal.OFF_QUESTION
