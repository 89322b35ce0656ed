"""Forks of a run. Copies calls from the journal of the run and changes a step of its plan."""

from __future__ import annotations

from collections.abc import Sequence

from multi_agent.errors import AgentError, RunNotFound
from multi_agent.model import Usage
from multi_agent.storage.recording import last_try
from multi_agent.storage.tool_calls import ToolCalls
from multi_agent.storage.trace import Trace
from multi_agent.values.events import Event, ModelCalled, PlanMade, PlanRevised, StepFailed, StepSkipped, StepStarted
from multi_agent.values.plan import Plan, Step
from multi_agent.values.request import Fork


def origin_events(trace: Trace, fork: Fork, *, copied: bool = False) -> list[Event]:
    """Return the events of the run before the step, and those of the steps that had started before it.

    Raises RunNotFound, and AgentError if the run did not reach the step. If the fork has ``copied`` the calls already,
    the run may have been deleted. It then has no events.
    """
    try:
        events = last_try(trace.events(trace.run(fork.run_id).run_id))
    except RunNotFound:
        if copied:
            return []
        raise
    begins = begin_of(fork.run_id, events, fork.step)
    before = {event.step for event in events if event.number < begins and event.step} - {fork.step}
    return [event for event in events if event.number < begins or event.step in before]


def begin_of(run_id: str, events: Sequence[Event], step: str) -> int:
    """Return the number of the event with which a step begins. Raises AgentError if the run did not reach it."""
    begins = next((event.number for event in events if _begins(event, step)), None)
    if begins is None:
        known = ", ".join(step.id for step in steps_of(events)) or "none"
        raise AgentError(f"Run {run_id!r} has not reached a step {step!r}. Its steps: {known}.")
    return begins


def steps_of(events: Sequence[Event]) -> list[Step]:
    """Return the steps of the plan and its revisions."""
    plans = [event.body.plan for event in events if isinstance(event.body, PlanMade | PlanRevised)]
    return [step for plan in plans for step in plan.steps]


def copy_calls(trace: Trace, tools: ToolCalls, fork: Fork, events: Sequence[Event], run_id: str) -> None:
    """Copy the model and tool calls of these events into the journal of the new run. Copied calls cost nothing."""
    wanted = {(event.body.key, event.body.occurrence) for event in events if isinstance(event.body, ModelCalled)}
    journal = trace.journal(run_id)
    for entry in trace.journal_entries(fork.run_id):
        if (entry.key, entry.occurrence) in wanted and journal.find(entry.key, entry.occurrence) is None:
            journal.record(entry.model_copy(update={"usage": Usage()}))
    steps = {event.step for event in events}
    for call in tools.entries(fork.run_id):
        if call.step in steps:
            tools.record(run_id, call)


class PlanChange:
    """Changes the first plan that has the step of a fork: the step, or the whole plan."""

    def __init__(self, fork: Fork | None) -> None:
        self._fork = fork

    def __call__(self, plan: Plan) -> Plan:
        """Return the plan, changed if it has the step of the fork."""
        fork = self._fork
        if fork is None or all(step.id != fork.step for step in plan.steps):
            return plan
        self._fork = None
        plan = fork.plan or plan
        steps = tuple(_changed(step, fork) if step.id == fork.step else step for step in plan.steps)
        return plan.model_copy(update={"steps": steps})


def _changed(step: Step, fork: Fork) -> Step:
    instruction = step.instruction if fork.instruction is None else fork.instruction
    return step.model_copy(update={"instruction": instruction, "inputs": {**step.inputs, **fork.inputs}})


def _begins(event: Event, step: str) -> bool:
    return event.step == step and isinstance(event.body, StepStarted | StepSkipped | StepFailed)
