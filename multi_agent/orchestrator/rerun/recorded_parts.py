"""Replacements for the dependencies of a run. They return recorded results and store nothing."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from multi_agent.llm.models import Models
from multi_agent.llm.wrappers.journal import Journal, JournalEntry
from multi_agent.llm.wrappers.recorded import RecordedCalls, RecordedLLM
from multi_agent.memory.plans import PlanMemory
from multi_agent.model import LLM
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.storage.environments import Environment
from multi_agent.storage.tool_calls import ToolCalls, ToolEntry
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Answer
from multi_agent.values.events import Event
from multi_agent.values.plan import PlanExample
from multi_agent.values.request import Fork, Request

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

    def start(
        self, run_id: str, question: str, collection: str, model: str, continues: str = "", fork: Fork | None = None
    ) -> None: ...

    async def record(self, event: Event) -> None:
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
