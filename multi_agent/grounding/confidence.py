"""The confidence of an answer: the share of right answers with the same signals, never the model's own figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from multi_agent.grounding.support import Judged


class Signal(StrEnum):
    """What the checks of an answer showed."""

    RULE = "every claim supported by rules"
    MODEL = "every claim supported, some by the check call"
    PARTLY = "some claims not supported"
    INSUFFICIENT = "insufficient"


SHARE_RIGHT: Mapping[Signal, float] = MappingProxyType(
    {Signal.RULE: 0.85, Signal.MODEL: 0.7, Signal.PARTLY: 0.5, Signal.INSUFFICIENT: 0.6}
)
"""Share of right answers by signal; for insufficient ones, of questions that the documents do not answer.

Placeholders until ``benchmarks/local_model`` has measured them.
"""


def signal_of(judged: Sequence[Judged], *, sufficient: bool) -> Signal:
    """Return the signal of an answer with these claims."""
    supported = [each for each in judged if each.supported]
    if not sufficient or not supported:
        return Signal.INSUFFICIENT
    if len(supported) < len(judged):
        return Signal.PARTLY
    return Signal.MODEL if any(each.method == "model" for each in judged) else Signal.RULE
