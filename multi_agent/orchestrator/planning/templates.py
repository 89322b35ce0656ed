"""Checks saved plans as templates, and fills in ``@{question}`` and ``@{inputs.NAME}`` for a question."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import AgentError, PlanError
from multi_agent.orchestrator.planning.old_question import OldQuestion, documents_in
from multi_agent.orchestrator.planning.validation import STAND_IN, faults
from multi_agent.values.plan import PLACEHOLDER, REFERENCE, Parameter, Plan, PlanExample, find_placeholders, texts_of

QUESTION = "question"
_INPUTS = "inputs."


def template_faults(plan: Plan, registry: AgentRegistry, documents: Collection[str]) -> tuple[str, ...]:
    """Return all faults of a template for a library of ``documents``. Empty if the template can be used."""
    own = tuple(_placeholder_faults(plan))
    return own or faults(fill(plan, STAND_IN, {each.name: STAND_IN for each in plan.parameters}), registry, documents)


def _placeholder_faults(plan: Plan) -> Iterator[str]:
    texts = [plan.goal, *(text for step in plan.steps for text in texts_of(step.task))]
    for text in texts:
        if text.count("@{") != len(PLACEHOLDER.findall(text)) + len(REFERENCE.findall(text)):
            yield (
                f"{text!r} has an invalid placeholder; write @{{question}}, @{{inputs.NAME}} or "
                "@{outputs.STEP.FIELD}."
            )
    used = {name.removeprefix(_INPUTS) for name in find_placeholders(list(texts)) if name != QUESTION}
    for name, times in Counter(each.name for each in plan.parameters).items():
        if times > 1:
            yield f"There are {times} parameters {name!r}; every parameter needs a name of its own."
        if name not in used:
            yield f"No step uses the parameter {name!r}; write @{{inputs.{name}}} in a step, or remove the parameter."
    for name in sorted(used - {each.name for each in plan.parameters}):
        yield f"@{{inputs.{name}}} has no parameter; add one with the name {name!r} and its meaning."


def fill(plan: Plan, question: str, values: Mapping[str, str]) -> Plan:
    """Return the plan for a question. Placeholders in the question and in the values are not replaced.

    List entries that become empty are dropped, so that "" for a document means all documents.
    """
    given = {QUESTION: question} | {f"{_INPUTS}{name}": value for name, value in values.items()}
    steps = tuple(
        step.model_copy(update={"instruction": _fill(step.instruction, given), "inputs": _fill(step.inputs, given)})
        for step in plan.steps
    )
    return plan.model_copy(update={"goal": _fill(plan.goal, given), "steps": steps, "parameters": ()})


def _fill(value: JsonValue, given: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return PLACEHOLDER.sub(lambda match: given.get(match[1], match[0]), value)
    if isinstance(value, list):
        filled = [(entry, _fill(entry, given)) for entry in value]
        return [new for entry, new in filled if new != "" or entry == ""]
    if isinstance(value, dict):
        return {key: _fill(each, given) for key, each in value.items()}
    return value


def missing_parameters(plan: Plan, given: Mapping[str, str]) -> tuple[Parameter, ...]:
    """Return the parameters without a given value. The model looks for their values in the question."""
    return tuple(each for each in plan.parameters if each.name not in given)


def values_for(plan: Plan, given: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """Return a value for each parameter, which is the given one, the one found in the question, or the default.

    Raises PlanError for parameters without a value.
    """
    values = {each.name: given.get(each.name) or found.get(each.name, "") or each.default for each in plan.parameters}
    if lacking := [f"{each.name!r} ({each.meaning})" for each in plan.parameters if values[each.name] is None]:
        raise PlanError(
            f"The saved plan needs a value for {', '.join(lacking)}, but the question does not contain it. Add it to "
            "the question, or set it with `--input NAME=VALUE` (REST: `inputs`)."
        )
    return {name: value for name, value in values.items() if value is not None}


def require_followable(template: PlanExample, inputs: Mapping[str, str], registry: AgentRegistry) -> Plan:
    """Return the plan of a template.

    Raises PlanError if the plan contains parts of the question that it was saved from, AgentError for an unknown input.
    """
    if shared := OldQuestion(template.question).shared_with(template.plan, registry):
        raise PlanError(
            f"The saved plan {template.name!r} contains parts of its original question in {'; '.join(shared)}. It "
            "would answer that question again. Write @{question} instead, or save the plan of its run again."
        ).with_command(f"`candor plans edit {shlex.quote(template.name)}` and `candor plans save` do that.")
    names = [each.name for each in template.plan.parameters]
    if unknown := sorted(inputs.keys() - set(names)):
        known = f"it has {', '.join(names)}" if names else "it has none"
        raise AgentError(f"The saved plan {template.name!r} has no parameter {', '.join(unknown)}; {known}.")
    return template.plan


def require_saveable(
    plan: Plan, question: str, registry: AgentRegistry, documents: Collection[str], *, keep_documents: bool
) -> None:
    """Raise PlanError with all faults if the plan is not a valid template, or contains the question or documents."""
    if found := saving_faults(plan, question, registry, documents, keep_documents=keep_documents):
        raise PlanError(f"The plan cannot be saved: {' '.join(found)}")


def saving_faults(
    plan: Plan, question: str, registry: AgentRegistry, documents: Collection[str], *, keep_documents: bool
) -> tuple[str, ...]:
    """Return the reasons why a plan cannot be saved, with corrections. Empty if it can be saved."""
    named = documents_in(plan, registry)
    known = documents if keep_documents else {*documents, *named}
    return (
        *template_faults(plan, registry, known),
        *_old_faults(plan, question, registry, () if keep_documents else named),
    )


def _old_faults(plan: Plan, question: str, registry: AgentRegistry, documents: Collection[str]) -> Iterator[str]:
    if shared := OldQuestion(question).shared_with(plan, registry):
        yield (
            f"It still contains parts of its original question in {'; '.join(shared)}. Write @{{question}} instead of "
            "the whole question, or @{inputs.NAME} instead of such words, with NAME among the parameters."
        )
    if documents:
        yield (
            f"It contains the document names {', '.join(map(repr, documents))}. Write [] for all documents, or "
            "@{inputs.document} with a parameter 'document'. To keep the names, save it with `--keep-documents` (REST: "
            "`keep_documents`)."
        )
