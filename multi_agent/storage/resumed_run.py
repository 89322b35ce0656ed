"""The state of an interrupted run, which is read from its trace when the run resumes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.llm.wrappers.meter import Meter
from multi_agent.model import Usage
from multi_agent.storage.trace import Trace
from multi_agent.values.events import Event, ModelFailed, RunResumed, RunStarted
from multi_agent.values.plan import PlanExample
from multi_agent.values.remembered import Remembered


class EarlierRun:
    """The initial state of a run, read from its events. A run that repeats it must start with the same state."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events

    @property
    def examples(self) -> tuple[PlanExample, ...] | None:
        """The example plans that were shown to the planner and must be shown again. None if the run has no events."""
        return next((event.body.examples for event in self.events if isinstance(event.body, RunStarted)), None)

    @property
    def remembered(self) -> Remembered | None:
        """The memories that were shown to the planner. None if the run has no events."""
        return next((event.body.remembered for event in self.events if isinstance(event.body, RunStarted)), None)

    @property
    def today(self) -> str | None:
        """The date of the run for terms such as 'last year'. Empty in older runs, None without events."""
        return next((event.body.today for event in self.events if isinstance(event.body, RunStarted)), None)


class ResumedRun(EarlierRun):
    """The events and journal entries of a run so far. Both are empty for a new run."""

    def __init__(self, events: Sequence[Event], journal: Sequence[JournalEntry]) -> None:
        super().__init__(events)
        self._journal = journal

    @classmethod
    def of(cls, trace: Trace, run_id: str) -> ResumedRun:
        """Load the events and journal entries of the run."""
        events = trace.events(run_id)
        return cls(events, trace.journal_entries(run_id) if events else ())

    @property
    def resumed(self) -> int:
        """The number of earlier resumptions."""
        return sum(isinstance(event.body, RunResumed) for event in self.events)

    @property
    def answered(self) -> int:
        """The number of model calls with a response in the journal."""
        return len(self._journal)

    @cached_property
    def usage(self) -> Usage:
        """The usage of all finished calls, which are calls in the journal (even without an event) and failed calls.

        Calls that were in progress when the process was killed are unknown and not counted.
        """
        failed = [event.body.usage for event in self.events if isinstance(event.body, ModelFailed)]
        return sum((*failed, *(entry.usage for entry in self._journal)), Usage())

    @cached_property
    def seconds(self) -> float:
        """The seconds during which processes worked on the run, without the time between them."""
        return sum(
            (after.at - before.at).total_seconds()
            for before, after in pairwise(self.events)
            if not isinstance(after.body, RunResumed)
        )

    def meter(self) -> Meter:
        """Return a meter that has counted the run's events, so that replayed calls are not counted again."""
        meter = Meter()
        for event in self.events:
            meter.count(event)
        return meter
