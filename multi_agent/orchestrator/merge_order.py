"""The order in which a resumed run merges its steps: the same as before it was interrupted. A fork uses its origin's.

Parallel steps finish in any order, and later prompts show their results in that order. In a resumed run the journal
answers all of them at once. In a different order, later prompts would differ from the journal's, and finished calls
would be made again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from multi_agent.values.events import Event, RunResumed, StepFinished


class MergeOrder:
    """The order in which an interrupted run finished its steps. A new run has no order.

    ``origin`` are the events of the run that this one repeats. They count until the run itself has finished more steps.
    """

    def __init__(self, events: Sequence[Event], origin: Sequence[Event] = ()) -> None:
        tries: list[list[str]] = [[each.step for each in origin if isinstance(each.body, StepFinished)], []]
        for event in events:
            if isinstance(event.body, RunResumed):
                tries.append([])
            elif isinstance(event.body, StepFinished):
                tries[-1].append(event.step)
        longest = max(tries, key=len)
        self._order = [step for step, _ in groupby(longest)]  # each agent of a step publishes StepFinished

    def first_of(self, steps: Collection[str]) -> str | None:
        """Return the step that finished first before; None if none of them had finished."""
        return next((step for step in self._order if step in steps), None)

    def remove(self, step: str) -> None:
        """Remove a merged step. A later plan may have another step of the same name."""
        if step in self._order:
            self._order.remove(step)
