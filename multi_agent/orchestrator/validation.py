"""What is wrong with a plan, found before anything runs. Every fault is named, in words that a model can act on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import combinations

from pydantic import ValidationError

from multi_agent.agent import DOCUMENTS
from multi_agent.context import SINGLE_VALUED
from multi_agent.plan import Plan, Step
from multi_agent.registry import AgentRegistry

ANSWER = "synthesis"


def faults(plan: Plan, registry: AgentRegistry, documents: Collection[str]) -> tuple[str, ...]:
    """All faults of the plan for a library of ``documents``; empty if it can be run."""
    structural = (*_id_faults(plan), *_agent_faults(plan, registry), *_need_faults(plan), *_cycle_faults(plan))
    if structural:
        return structural
    return (*_input_faults(plan, registry, documents), *_flow_faults(plan, registry), *_answer_faults(plan, registry))


def _id_faults(plan: Plan) -> Iterator[str]:
    for step_id, times in Counter(step.id for step in plan.steps).items():
        if times > 1:
            yield f"The id {step_id!r} is used by {times} steps; every step needs an id of its own."


def _agent_faults(plan: Plan, registry: AgentRegistry) -> Iterator[str]:
    for step in plan.steps:
        if step.agent not in registry:
            yield f"Step {step.id!r}: there is no agent {step.agent!r}; choose from {', '.join(registry.names)}."


def _need_faults(plan: Plan) -> Iterator[str]:
    ids = {step.id for step in plan.steps}
    for step in plan.steps:
        for need in step.needs:
            if need not in ids:
                yield f"Step {step.id!r} needs {need!r}, which is no step of this plan."


def _cycle_faults(plan: Plan) -> Iterator[str]:
    circular = sorted(step.id for step in plan.steps if step.id in plan.before(step))
    if circular:
        yield f"These steps wait for each other in a circle: {', '.join(circular)}."


def _input_faults(plan: Plan, registry: AgentRegistry, documents: Collection[str]) -> Iterator[str]:
    for step in plan.steps:
        try:
            registry.get(step.agent).card.inputs.model_validate(step.inputs, context={DOCUMENTS: documents})
        except ValidationError as error:
            for each in error.errors():
                where = ".".join(str(part) for part in each["loc"]) or "inputs"
                yield f"Step {step.id!r}, input {where!r}: {each['msg']}."


def _flow_faults(plan: Plan, registry: AgentRegistry) -> Iterator[str]:
    writes = {step.id: registry.get(step.agent).card.writes for step in plan.steps}
    before = {step.id: plan.before(step) for step in plan.steps}
    for step in plan.steps:
        written = frozenset().union(*(writes[earlier] for earlier in before[step.id]))
        for field in sorted(registry.get(step.agent).card.requires - written):
            yield (
                f"Step {step.id!r}: {step.agent} reads {field!r}, which no step before it writes; "
                f"let it need a step of {_writers(field, registry)}."
            )
    for one, other in combinations(plan.steps, 2):
        unordered = one.id not in before[other.id] and other.id not in before[one.id]
        for field in sorted(writes[one.id] & writes[other.id] & SINGLE_VALUED if unordered else ()):
            yield f"Steps {one.id!r} and {other.id!r} both write {field!r} and neither needs the other; order them."


def _answer_faults(plan: Plan, registry: AgentRegistry) -> Iterator[str]:
    answering = [step for step in plan.steps if ANSWER in registry.get(step.agent).card.writes]
    if not answering:
        yield f"No step writes the answer; end with a step of {_writers(ANSWER, registry)}."
        return
    last = answering[-1]
    if idle := sorted(_ids(plan) - plan.before(last) - {last.id}):
        yield f"The answering step {last.id!r} does not wait for {', '.join(idle)}; let it need them, or drop them."


def _ids(plan: Plan) -> frozenset[str]:
    return frozenset(step.id for step in plan.steps)


def _writers(field: str, registry: AgentRegistry) -> str:
    return " or ".join(agent.card.name for agent in registry if field in agent.card.writes) or "an agent that writes it"


def ready(plan: Plan, done: frozenset[str], started: frozenset[str]) -> tuple[Step, ...]:
    """The steps that can start now, in the plan's order."""
    return tuple(step for step in plan.steps if step.id not in started and done.issuperset(step.needs))
