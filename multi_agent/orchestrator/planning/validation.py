"""Validates plans before they run, and resolves references to outputs of earlier steps: ``@{outputs.STEP.FIELD}``.

Each fault is a sentence that a model can act on. A reference that is a whole input is replaced by the value. One that
is a whole list entry is replaced by all entries if the value is a list. Inside a longer text it is replaced by the
value as text.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from pydantic import JsonValue, ValidationError

from multi_agent.agent import DOCUMENTS, AgentCard, StepOutput
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import NothingFound, ReferenceFailed
from multi_agent.values.context import SINGLE_VALUED
from multi_agent.values.plan import REFERENCE, Plan, Reference, Step, find_malformed, find_references


def resolve(value: JsonValue, outputs: Mapping[str, StepOutput], steps: Collection[str]) -> Any:
    """Replace every reference to one of the ``steps`` by its output. Others are a person's text and stay.

    Raises ReferenceFailed for an unknown step or field, NothingFound for an empty output. References inside outputs
    are not resolved.
    """
    return _replace(
        value, lambda reference: _look_up(reference, outputs) if reference.step in steps else str(reference)
    )


def stand_in(value: JsonValue, types: Mapping[Reference, Any], text: str) -> Any:
    """Replace every reference by a sample value of its declared type; texts by ``text``."""
    return _replace(value, lambda reference: _sample(types[reference], text))


def _replace(value: JsonValue, give: Callable[[Reference], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _replace(each, give) for key, each in value.items()}
    if isinstance(value, list):
        return [item for each in value for item in _entries(each, give)]
    if not isinstance(value, str):
        return value
    if whole := REFERENCE.fullmatch(value.strip()):
        return give(Reference(*whole.groups()))
    return REFERENCE.sub(lambda match: _as_text(give(Reference(*match.groups()))), value)


def _entries(entry: JsonValue, give: Callable[[Reference], Any]) -> list[Any]:
    replaced = _replace(entry, give)
    spliced = isinstance(entry, str) and REFERENCE.fullmatch(entry.strip()) and isinstance(replaced, list | tuple)
    return list(replaced) if spliced else [replaced]


def _look_up(reference: Reference, outputs: Mapping[str, StepOutput]) -> Any:
    if reference.step not in outputs:
        raise ReferenceFailed(f"{reference} refers to step {reference.step!r}, which gave nothing.")
    given = outputs[reference.step]
    if reference.field not in type(given).model_fields:
        fields = ", ".join(type(given).model_fields) or "none"
        raise ReferenceFailed(f"{reference}: that step has no output {reference.field!r}; it has {fields}.")
    value = getattr(given, reference.field)
    if value in ("", (), []):
        raise NothingFound(f"{reference} is empty: step {reference.step!r} {given.why_empty}")
    return value


def _sample(annotation: Any, text: str) -> Any:
    examples: dict[Any, Any] = {str: text, int: 1, float: 1.0, bool: True}
    return examples.get(annotation, [text])


def _as_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_as_text(each) for each in value)
    return value if isinstance(value, str) else json.dumps(value)


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
