"""Replays an ended run. Executes the current code with the responses and tool results of the run's journal.

A replay calls no endpoint, tool or web page, stores nothing, and uses the settings of the run. It searches the
documents again, so it detects changed documents. It calls no tools of MCP servers, but asks each server for the
descriptions of its tools.
"""

import asyncio
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import AgentError
from multi_agent.llm.models import Models
from multi_agent.llm.wrappers.journal import Journal, JournalEntry
from multi_agent.llm.wrappers.replay import RecordedCalls, RecordedLLM
from multi_agent.memory.memories import NO_MEMORY
from multi_agent.memory.plans import PlanMemory
from multi_agent.model import LLM
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.orchestrator.planning.dependencies import RunDependencies
from multi_agent.orchestrator.rerun.difference import (
    Cause,
    ChangedLine,
    Difference,
    changed_line,
    comparable,
    find_causes,
    first_difference,
    observe_environment,
    without_end,
)
from multi_agent.settings.research import ResearchSettings
from multi_agent.storage.recording import Recording, last_try
from multi_agent.storage.tables import Environment
from multi_agent.storage.tool_calls import ToolCalls, ToolEntry
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Answer
from multi_agent.values.bus import Subscriber
from multi_agent.values.events import Event, ModelCalled
from multi_agent.values.plan import PlanExample
from multi_agent.values.request import Request

_NOT_CALLED = "The recorded run has no result of this call, and a replay calls no tools."


@dataclass(frozen=True)
class ReplayingOrchestrator(Orchestrator):
    """An orchestrator whose models are those of a recorded run."""

    calls: RecordedCalls = field(kw_only=True)

    def model_of(self, caller: str, request: Request, step: str = "") -> LLM:
        return RecordedLLM(self.calls, caller, self.calls.model_of(caller, step) or self.models.default.model)

    def require_models(self, request: Request) -> None:
        """Accept every name, because no model is called."""


class RecordedModels(Models):
    """The models of a recorded run. Every endpoint is its default model."""

    def __init__(self, calls: RecordedCalls, model: str) -> None:
        super().__init__(RecordedLLM(calls, "", model))

    def get(self, name: str) -> LLM:
        return self.default

    def require(self, name: str, used_by: str = "") -> None:
        """Accept every name."""


class MemoryTrace(Trace):
    """The trace of a replayed run, in memory. Its model calls are the recorded ones."""

    def __init__(self, calls: RecordedCalls, stored: Trace) -> None:
        self._calls, self._stored = calls, stored
        self.observed: Environment | None = None
        self.recorded: list[Event] = []

    def start(self, run_id: str, request: Request, collection: str, model: str) -> None: ...

    def record(self, event: Event) -> None:
        self.recorded.append(event)

    def finish(self, answer: Answer, last: Event) -> None:
        self.recorded.append(last)

    def keep_environment(self, run_id: str, environment: Environment) -> None:
        self.observed = environment

    def journal(self, run_id: str) -> Journal:
        return self._calls

    def events(self, run_id: str, after: int = 0) -> list[Event]:
        return []

    def journal_entries(self, run_id: str) -> list[JournalEntry]:
        return []

    def ended_answer(self, run_id: str) -> Answer | None:
        """Return the stored answer of the run of a section. Raises RunNotFound, since a replay researches none."""
        return self._stored.answer(run_id)


class RecordedToolCalls(ToolCalls):
    """The tool calls of a recorded run. A call that it did not make fails."""

    def __init__(self, entries: Sequence[ToolEntry]) -> None:
        self._entries = {(entry.key, entry.occurrence): entry for entry in entries}

    def find(self, run_id: str, key: str, occurrence: int) -> ToolEntry | None:
        entry = self._entries.get((key, occurrence)) or _unknown_call(key, occurrence)
        return entry if entry.ended else entry.model_copy(update={"error": _NOT_CALLED})

    def record(self, run_id: str, entry: ToolEntry) -> None:
        """Raise AssertionError: ``find`` answers every call."""
        raise AssertionError(f"a replay called {entry.tool!r}")

    def entries(self, run_id: str) -> list[ToolEntry]:
        return list(self._entries.values())


def _unknown_call(key: str, occurrence: int) -> ToolEntry:
    return ToolEntry(
        key=key, occurrence=occurrence, step="", agent="", tool="", arguments={}, why="", began_at=datetime.now(UTC)
    )


class RecordedPlans(PlanMemory):
    """The saved plans. None are shown as examples, and none are added."""

    def __init__(self, plans: PlanMemory) -> None:
        self._plans = plans

    def get(self, name: str, among: Set[str] | None = None) -> PlanExample:
        return self._plans.get(name, among)

    def similar(self, *_: Any, **__: Any) -> tuple[PlanExample, ...]:
        return ()

    def remember(self, *_: Any, **__: Any) -> None: ...


_ENVIRONMENT = ("prompts", "documents", "settings", "index", "version of Candor")  # older runs did not store it
_IDLE_S = 5.0  # a run that was stopped during a call has no more events


class Replay(FrozenModel):
    """The result of a replay."""

    run_id: str
    same: bool = Field(description="whether all events are the same, apart from times")
    events: int = Field(description="number of recorded events that were compared")
    difference: Difference | None = Field(default=None, description="the first event that differs")
    line: ChangedLine | None = Field(default=None, description="the first differing line of a prompt")
    causes: tuple[Cause, ...] = Field(default=(), description="what has changed, the most probable cause first")
    not_compared: tuple[str, ...] = Field(
        default=(), description="what the run did not store, so that a change of it cannot be named as a cause"
    )
    error: str = Field(default="", description="why the run could not be repeated; empty if it was repeated")


async def replay(parts: RunDependencies, recording: Recording) -> Replay:
    """Repeat the run with these dependencies and compare the events."""
    if recording.started is None:
        error = "The run ended before it started, so there is nothing to replay."
        return Replay(run_id=recording.run.run_id, same=False, events=0, error=error)
    if not recording.calls and any(isinstance(event.body, ModelCalled) for event in recording.events):
        error = "The run was imported without its texts, so its model responses are not known."
        return Replay(run_id=recording.run.run_id, same=False, events=0, error=error)
    return await _Replaying(parts, recording).compare()


class _Replaying:
    """One replay."""

    def __init__(self, parts: RunDependencies, recording: Recording) -> None:
        self._parts, self._recording = parts, recording
        self._events = last_try(recording.events)
        self._stopped = recording.run.status == "cancelled"
        self._settings = settings_of(recording.environment) or parts.settings
        self._calls = RecordedCalls(self._events, recording.calls)
        self._trace = MemoryTrace(self._calls, parts.trace)
        self._task: asyncio.Task[object] | None = None

    async def compare(self) -> Replay:
        """Repeat the run and compare the events."""
        error = ""
        try:
            await self._run()
        except AgentError as problem:  # the request is not valid any more
            error = str(problem)
        expected, repeated = comparable(self._events), comparable(self._trace.recorded)
        if self._stopped:  # the replay may be some events further when it stops
            expected = without_end(expected)
            repeated = without_end(repeated)[: len(expected)]
        difference = first_difference(expected, repeated)
        result = Replay(
            run_id=self._recording.run.run_id,
            same=difference is None and not error,
            events=len(expected),
            difference=difference,
            error=error,
        )
        return result if result.same else await self._explained(result)

    async def _explained(self, result: Replay) -> Replay:
        line = changed_line(self._calls.unknown, self._recording.calls)
        if (then := self._recording.environment) is None:
            return result.model_copy(update={"line": line, "not_compared": _ENVIRONMENT})
        if (now := self._trace.observed) is None:
            now = await asyncio.to_thread(self._observe)
        causes = find_causes(then, now, result.difference, line)
        return result.model_copy(update={"line": line, "causes": causes})

    def _observe(self) -> Environment:
        parts = replace(self._parts, settings=self._settings)
        return observe_environment(parts, parts.library.catalogue())

    async def _run(self) -> None:
        """Repeat the run. A run that was stopped is stopped after the same events."""
        started = self._recording.started
        assert started is not None
        self._task = asyncio.create_task(
            self._orchestrator(started.model).research(
                started.request, self._stopper(), run_id=self._recording.run.run_id, like=self._events
            )
        )
        seen = -1
        while not self._task.done():
            await asyncio.wait({self._task}, timeout=_IDLE_S)
            if self._calls.waiting and seen == len(self._trace.recorded):
                self._stopped = True
                self._task.cancel()
            seen = len(self._trace.recorded)
        if not self._task.cancelled() and (error := self._task.exception()):
            raise error

    def _orchestrator(self, model: str) -> ReplayingOrchestrator:
        parts = self._parts
        return ReplayingOrchestrator(
            RecordedModels(self._calls, model),
            parts.library,
            parts.registry,
            self._trace,
            RecordedPlans(parts.plans),
            self._settings,
            replace(parts.tools, calls=RecordedToolCalls(self._recording.tool_calls)),
            NO_MEMORY,
            calls=self._calls,
        )

    def _stopper(self) -> Subscriber:
        last = len(without_end(comparable(self._events))) if self._stopped else None

        async def stop(_: Event) -> None:
            if self._task and len(comparable(self._trace.recorded)) == last:
                self._task.cancel()

        return stop


def settings_of(environment: Environment | None) -> ResearchSettings | None:
    """Return the settings that the run used. Settings that are new since then have their defaults."""
    if environment is None:
        return None
    known = {name: value for name, value in environment.settings.items() if name in ResearchSettings.model_fields}
    return ResearchSettings.model_validate(known)
