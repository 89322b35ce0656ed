"""Forks of a run: what a fork can change, the checks before it starts, and the copies of the run's calls."""

from collections.abc import Collection, Iterator, Sequence

from pydantic import Field, TypeAdapter, ValidationError

from base.models import FrozenModel
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import AgentError, PlanError, RunNotFound
from multi_agent.model import Usage
from multi_agent.orchestrator.planning.validation import faults
from multi_agent.storage.recording import last_try
from multi_agent.storage.tool_calls import ToolCalls
from multi_agent.storage.trace import Trace
from multi_agent.values.context import Evidence
from multi_agent.values.context_merge import number_evidence
from multi_agent.values.events import (
    Event,
    ModelCalled,
    PlanMade,
    PlanRevised,
    StepFailed,
    StepFinished,
    StepSkipped,
    StepStarted,
)
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
    of_step = (each for each in events if each.step == step)
    begins = next(
        (each.number for each in of_step if isinstance(each.body, StepStarted | StepSkipped | StepFailed)), None
    )
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


_EVIDENCE = TypeAdapter(tuple[Evidence, ...])


class ForkOptions(FrozenModel):
    """The plan, prompts and evidence that a fork from a step can change."""

    plan: Plan = Field(description="the plan with the step")
    prompts: dict[str, str] = Field(description="texts of the prompts of the step's agents, by agent")
    evidence: tuple[Evidence, ...] = Field(description="the evidence that the step could use, with its numbers")


def fork_options(trace: Trace, registry: AgentRegistry, run_id: str, step: str) -> ForkOptions:
    """Return what a fork from this step can change. Raises RunNotFound, and AgentError if the run did not reach it."""
    events = last_try(trace.events(run_id))
    begins = begin_of(run_id, events, step)
    plan = _plan_with(step, events)
    agents = (registry.get(name) for name in plan.step(step).agents if name in registry)
    return ForkOptions(
        plan=plan,
        prompts={agent.card.name: agent.prompt.source for agent in agents if agent.prompt},
        evidence=number_evidence(_written(event for event in events if event.number < begins)),
    )


def require_possible(trace: Trace, registry: AgentRegistry, documents: Collection[str], fork: Fork) -> None:
    """Raise AgentError or PlanError if a fork of this run is not possible. Names what the run has instead."""
    run_id = trace.run(fork.run_id).run_id
    options = fork_options(trace, registry, run_id, fork.step)
    known = {each.number for each in options.evidence}
    if unknown := sorted({*(fork.evidence or ())} - known):
        raise AgentError(
            f"Step {fork.step!r} has no evidence {_listed(unknown)}. Its evidence: {_listed(sorted(known))}."
        )
    plan = options.plan
    if fork.plan:
        started = {event.step for event in origin_events(trace, fork) if event.step} - {fork.step}
        _require_plan(fork, fork.plan, plan, started, faults(fork.plan, registry, documents))
        plan = fork.plan
    agents = plan.step(fork.step).agents
    for name, text in fork.prompts.items():
        prompt = registry.get(name).prompt if name in agents else None
        if prompt is None:
            with_prompt = [each for each in agents if registry.get(each).prompt]
            raise AgentError(
                f"Step {fork.step!r} has no agent {name!r} with a prompt. Its agents with a prompt: "
                f"{_listed(with_prompt)}."
            )
        prompt.with_source(text)


def _require_plan(fork: Fork, plan: Plan, origin: Plan, started: Collection[str], found: Sequence[str]) -> None:
    if found:
        raise PlanError(f"The plan of the fork is invalid: {' '.join(found)}")
    new = {step.id: step for step in plan.steps}
    if fork.step not in new:
        raise PlanError(f"The plan of the fork has no step {fork.step!r}. Its steps: {_listed(list(new))}.")
    changed = [step.id for step in origin.steps if step.id in started and new.get(step.id) != step]
    if changed:
        raise PlanError(
            f"The plan of the fork drops or changes {_listed(changed)}, which ran before {fork.step!r}. Fork at "
            f"{changed[0]!r}, or leave these steps as they were."
        )


def _plan_with(step: str, events: Sequence[Event]) -> Plan:
    plans = [event.body.plan for event in events if isinstance(event.body, PlanMade | PlanRevised)]
    return next(plan for plan in plans if any(each.id == step for each in plan.steps))


def _written(events: Iterator[Event]) -> Iterator[Evidence]:
    for event in events:
        if isinstance(event.body, StepFinished):
            try:
                yield from _EVIDENCE.validate_python(event.body.wrote.get("evidence", ()))
            except ValidationError as error:
                raise AgentError(
                    f"The evidence of step {event.step!r} cannot be read, because another version of Candor stored it. "
                    "Fork this step or an earlier one."
                ) from error


def _listed(values: Sequence[object]) -> str:
    return ", ".join(map(str, values)) or "none"
