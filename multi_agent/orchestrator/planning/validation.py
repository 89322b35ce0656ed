"""Validates plans before they run. Each fault is a sentence that a model can act on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from pydantic import ValidationError

from multi_agent.agent import DOCUMENTS, AgentCard
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.orchestrator.planning.references import stand_in
from multi_agent.values.context import SINGLE_VALUED
from multi_agent.values.plan import Plan, Reference, Step, find_malformed, find_references

ANSWERS = frozenset({"synthesis", "findings"})
"""Context fields with an answer. A final step must write one of them."""
STAND_IN = "something"


def faults(
    plan: Plan,
    registry: AgentRegistry,
    documents: Collection[str],
    known: Collection[str] = (),
    finished: Collection[Step] = (),
) -> tuple[str, ...]:
    """Return all faults of the plan for a library of ``documents``. Empty if it is valid.

    ``known`` contains the context fields that an earlier attempt has written, and ``finished`` its finished steps, to
    whose outputs the plan can refer.
    """
    steps = {step.id: step for step in (*finished, *plan.steps)}
    structural = (*_id_faults(plan), *_agent_faults(plan, registry), *_need_faults(plan, steps), *_cycle_faults(plan))
    if structural:
        return structural
    referring = tuple(_reference_faults(plan, steps, registry))
    inputs = () if referring else tuple(_input_faults(plan, steps, registry, documents))
    return (*referring, *inputs, *_flow_faults(plan, registry, frozenset(known)), *_answer_faults(plan, registry))


def _id_faults(plan: Plan) -> Iterator[str]:
    for step_id, times in Counter(step.id for step in plan.steps).items():
        if times > 1:
            yield f"The id {step_id!r} is used by {times} steps; every step needs an id of its own."


def _agent_faults(plan: Plan, registry: AgentRegistry) -> Iterator[str]:
    choice = f"choose from {', '.join(registry.names)}"
    for step in plan.steps:
        for agent in step.agents:
            if agent in registry.disabled:
                yield f"Step {step.id!r}: the agent {agent!r} is disabled; {choice}."
            elif agent in registry.left_out:
                yield f"Step {step.id!r}: the agent {agent!r} {registry.left_out[agent]}"
            elif agent not in registry:
                yield f"Step {step.id!r}: there is no agent {agent!r}; {choice}."
        if len(set(step.agents)) < len(step.agents):
            yield f"Step {step.id!r} names an agent twice."


def _need_faults(plan: Plan, steps: Collection[str]) -> Iterator[str]:
    for step in plan.steps:
        for need in step.after:
            if need not in steps:
                yield f"Step {step.id!r} names {need!r}, which is no step of this plan."


def _cycle_faults(plan: Plan) -> Iterator[str]:
    circular = sorted(step.id for step in plan.steps if step.id in plan.before(step))
    if circular:
        yield f"These steps wait for each other in a circle: {', '.join(circular)}."


def _reference_faults(plan: Plan, steps: Mapping[str, Step], registry: AgentRegistry) -> Iterator[str]:
    for step in plan.steps:
        for text in find_malformed(step.task):
            yield f"Step {step.id!r}: {text!r} holds no right reference; write @{{outputs.STEP.FIELD}}."
        for reference in find_references(step.task):
            fields = output_fields(steps[reference.step], registry)
            if reference.field not in fields:
                offered = f"it gives {', '.join(sorted(fields))}" if fields else "it gives nothing to refer to"
                yield f"Step {step.id!r}: {reference}: step {reference.step!r} gives no {reference.field!r}; {offered}."


def output_fields(step: Step, registry: AgentRegistry) -> dict[str, Any]:
    """Return the outputs that all agents of the step share, with their types."""
    fields = [registry.get(agent).card.outputs.model_fields for agent in step.agents]
    shared = set(fields[0]).intersection(*fields[1:])
    return {name: fields[0][name].annotation for name in shared}


def _input_faults(
    plan: Plan, steps: Mapping[str, Step], registry: AgentRegistry, documents: Collection[str]
) -> Iterator[str]:
    types = {
        Reference(step.id, field): annotation
        for step in steps.values()
        for field, annotation in output_fields(step, registry).items()
    }
    known = {DOCUMENTS: {*documents, STAND_IN}}
    for step in plan.steps:
        inputs = stand_in(step.inputs, types, STAND_IN)
        cards = [registry.get(agent).card for agent in step.agents]
        for card in cards:
            own = own_inputs(card, cards, inputs)
            yield from (f"Step {step.id!r}, {fault}" for fault in input_faults(card, own, known))


def own_inputs(card: AgentCard, cards: Sequence[AgentCard], inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of one agent of a step, without the inputs that only its other agents accept."""
    others = {name for other in cards for name in other.inputs.model_fields} - card.inputs.model_fields.keys()
    return {name: value for name, value in inputs.items() if name not in others}


def input_faults(card: AgentCard, inputs: dict[str, Any], known: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield the faults in an agent's inputs after references are resolved."""
    try:
        card.inputs.model_validate(inputs, context=known)
    except ValidationError as error:
        for each in error.errors():
            where = ".".join(str(part) for part in each["loc"]) or "inputs"
            yield f"input {where!r}: {each['msg']}."


def _flow_faults(plan: Plan, registry: AgentRegistry, known: frozenset[str]) -> Iterator[str]:
    writes = {step.id: _written(step, registry) for step in plan.steps}
    before = {step.id: plan.before(step) for step in plan.steps}
    for step in plan.steps:
        written = known.union(*(writes[earlier] for earlier in before[step.id]))
        for agent in step.agents:
            for field in sorted(registry.get(agent).card.requires - written):
                yield (
                    f"Step {step.id!r}: {agent} reads {field!r}, which no step before it writes; "
                    f"put a step of {_writers({field}, registry)} before it."
                )
    for one, other in combinations(plan.steps, 2):
        unordered = one.id not in before[other.id] and other.id not in before[one.id]
        for field in sorted(writes[one.id] & writes[other.id] & SINGLE_VALUED if unordered else ()):
            yield f"Steps {one.id!r} and {other.id!r} both write {field!r} and neither needs the other; order them."


def _answer_faults(plan: Plan, registry: AgentRegistry) -> Iterator[str]:
    finals = [step for step in plan.steps if step.final]
    for step in finals:
        for agent in step.agents:
            if not registry.get(agent).card.writes & ANSWERS:
                able = _writers(ANSWERS, registry)
                yield f"Step {step.id!r} is final, but {agent} writes no answer; that does {able}."
    if len(finals) > 1:
        yield f"Only one step can be final, not {', '.join(step.id for step in finals)}."
    looks_up = all(registry.get(name).card.lookup for step in plan.steps if not step.final for name in step.agents)
    if plan.mode == "fast" and not (looks_up and finals):
        yield (
            "A plan of mode 'fast' is a single step, marked final, after steps that only look something up; for more "
            "steps the mode is 'high'."
        )
        return
    answering = answering_step(plan, registry)
    if answering is None:
        yield f"No step writes the answer; end with a step of {_writers({'synthesis'}, registry)}."
    elif idle := sorted({step.id for step in plan.steps} - plan.before(answering) - {answering.id}):
        yield (
            f"The answering step {answering.id!r} does not wait for {', '.join(idle)}; let it need them, or drop them."
        )


def answering_step(plan: Plan, registry: AgentRegistry) -> Step | None:
    """Return the step that gives the answer: the final step, or else the last step that writes a synthesis."""
    finals = [step for step in plan.steps if step.final]
    writing = [step for step in plan.steps if "synthesis" in _written(step, registry)]
    return next(reversed(finals or writing), None)


def _written(step: Step, registry: AgentRegistry) -> frozenset[str]:
    return frozenset().union(*(registry.get(agent).card.writes for agent in step.agents))


def _writers(fields: Collection[str], registry: AgentRegistry) -> str:
    return " or ".join(agent.card.name for agent in registry if agent.card.writes & set(fields)) or "an agent that does"
