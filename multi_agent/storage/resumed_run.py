"""What a run had done before it was interrupted, read back from its trace when it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from multi_agent.events import Event, ModelFailed, RunResumed, RunStarted
from multi_agent.llm.journal import JournalEntry
from multi_agent.llm.llm import Usage
from multi_agent.llm.observed import Meter
from multi_agent.plan import PlanExample
from multi_agent.remembered import Remembered
from multi_agent.storage.trace import Trace


class ResumedRun:
    """The events and the journal of a run so far; of a run that only begins, both are empty."""

    def __init__(self, events: Sequence[Event], journal: Sequence[JournalEntry]) -> None:
        self.events = events
        self._journal = journal

    @classmethod
    def of(cls, trace: Trace, run_id: str) -> ResumedRun:
        """What is stored of the run."""
        events = trace.events(run_id)
        return cls(events, trace.journal_entries(run_id) if events else ())

    @property
    def examples(self) -> tuple[PlanExample, ...] | None:
        """The plans that its planner was shown, and has to be shown again; None if it has not begun."""
        return next((event.body.examples for event in self.events if isinstance(event.body, RunStarted)), None)

    @property
    def remembered(self) -> Remembered | None:
        """What else its planner was told; None if it has not begun."""
        return next((event.body.remembered for event in self.events if isinstance(event.body, RunStarted)), None)

    @property
    def resumed(self) -> int:
        """How often it was resumed before."""
        return sum(isinstance(event.body, RunResumed) for event in self.events)

    @property
    def answered(self) -> int:
        """How many model calls its journal has the answer to."""
        return len(self._journal)

    @cached_property
    def usage(self) -> Usage:
        """What its finished calls cost: those that the journal has, also where no event tells of them any more, and
        those that failed. What was under way when the process was killed is not known, and not counted."""
        failed = [event.body.usage for event in self.events if isinstance(event.body, ModelFailed)]
        return sum((*failed, *(entry.usage for entry in self._journal)), Usage())

    @cached_property
    def seconds(self) -> float:
        """How long it was at work; the time between two processes is nobody's."""
        return sum(
            (after.at - before.at).total_seconds()
            for before, after in pairwise(self.events)
            if not isinstance(after.body, RunResumed)
        )

    def meter(self) -> Meter:
        """A meter that has counted its events; what the journal answers again it knows, and counts no more."""
        meter = Meter()
        for event in self.events:
            meter.count(event)
        return meter
