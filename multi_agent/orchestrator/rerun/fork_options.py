"""What a fork from a step can change, and the checks of a change before the run starts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pydantic import Field, TypeAdapter, ValidationError

from base.models import FrozenModel
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import AgentError, PlanError
from multi_agent.orchestrator.planning.validation import faults
from multi_agent.orchestrator.rerun.forking import begin_of, origin_events
from multi_agent.storage.recording import last_try
from multi_agent.storage.trace import Trace
from multi_agent.values.context import Evidence
from multi_agent.values.context_merge import number_evidence
from multi_agent.values.events import Event, PlanMade, PlanRevised, StepFinished
from multi_agent.values.plan import Plan, Step
from multi_agent.values.request import Fork

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
    agents = (registry.get(name) for name in _step(plan, step).agents if name in registry)
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
        _require_plan(fork, fork.plan, plan, _started_before(trace, fork), faults(fork.plan, registry, documents))
        plan = fork.plan
    agents = _step(plan, fork.step).agents
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


def _started_before(trace: Trace, fork: Fork) -> set[str]:
    return {event.step for event in origin_events(trace, fork) if event.step} - {fork.step}


def _plan_with(step: str, events: Sequence[Event]) -> Plan:
    plans = [event.body.plan for event in events if isinstance(event.body, PlanMade | PlanRevised)]
    return next(plan for plan in plans if any(each.id == step for each in plan.steps))


def _step(plan: Plan, step: str) -> Step:
    return next(each for each in plan.steps if each.id == step)


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
