"""Lets a run that goes on take in its steps in the order in which it took them in before.

Steps that run side by side end in any order, and what a later agent is shown stands in the order in which they ended.
Answered from the journal, all end at once: in another order, later prompts would be others, which the journal does not
know, and calls that had been finished would be made again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from multi_agent.events import Event, RunResumed, StepFinished


class MergeOrder:
    """The order of the steps that a run had finished; of one that only begins, there is none."""

    def __init__(self, events: Sequence[Event]) -> None:
        tries: list[list[str]] = [[]]
        for event in events:
            if isinstance(event.body, RunResumed):
                tries.append([])
            elif isinstance(event.body, StepFinished):
                tries[-1].append(event.step)
        longest = max(tries, key=len)
        self._order = [step for step, _ in groupby(longest)]  # a step of several agents is finished by each of them

    def first_of(self, steps: Collection[str]) -> str | None:
        """Which of them ended first; None if none of them had ended."""
        return next((step for step in self._order if step in steps), None)

    def passed(self, step: str) -> None:
        """It was taken in; of another plan, a step of this name may come again."""
        if step in self._order:
            self._order.remove(step)
