"""Loads everything that is stored about an ended run, for replays and exports."""

from __future__ import annotations

from collections.abc import Sequence

from base.models import FrozenModel
from multi_agent.errors import RunUnderWay
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.storage.environments import Environment
from multi_agent.storage.tool_calls import ToolCalls, ToolEntry
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.answer import Answer
from multi_agent.values.events import Event, RunResumed, RunStarted


class Recording(FrozenModel):
    """An ended run with its events, model calls, tool calls, answer and environment."""

    run: RunSummary
    answer: Answer
    events: tuple[Event, ...]
    calls: tuple[JournalEntry, ...]
    tool_calls: tuple[ToolEntry, ...]
    environment: Environment | None

    @property
    def started(self) -> RunStarted | None:
        """The first event; None if the run ended before it started."""
        return next((event.body for event in self.events if isinstance(event.body, RunStarted)), None)

    def renamed(self, run_id: str) -> Recording:
        """Return the same run with another id."""
        run, answer, *events = (
            part.model_copy(update={"run_id": run_id}) for part in (self.run, self.answer, *self.events)
        )
        return self.model_copy(update={"run": run, "answer": answer, "events": tuple(events)})


def load_recording(trace: Trace, tools: ToolCalls, run_id: str) -> Recording:
    """Return everything about a run. Raises RunNotFound, and RunUnderWay if it has not ended."""
    run = trace.run(run_id)
    if not run.ended:
        raise RunUnderWay(f"Run {run.run_id!r} has not ended. Wait for its end, or cancel it.")
    return Recording(
        run=run,
        answer=trace.answer(run.run_id),
        events=tuple(trace.events(run.run_id)),
        calls=tuple(trace.journal_entries(run.run_id)),
        tool_calls=tuple(tools.entries(run.run_id)),
        environment=trace.environment(run.run_id),
    )


def last_try(events: Sequence[Event]) -> list[Event]:
    """Return the first event and the events since the last resumption. A resumed run starts from the beginning."""
    resumed = max((at for at, event in enumerate(events) if isinstance(event.body, RunResumed)), default=0)
    return [*events[:1], *events[resumed + 1 :]]
