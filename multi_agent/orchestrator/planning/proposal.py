"""Proposes a template for the plan of a run. The model marks the parts that belong to the original question.

The model only marks texts that state the whole question, and words that another question replaces. It cannot change any
other part of the plan.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, get_origin

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from base.models import FrozenModel
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.grounding.terms import words_of
from multi_agent.model import LLM
from multi_agent.orchestrator.planning.templates import document_inputs, saving_faults
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.values.plan import (
    PLACEHOLDER,
    REFERENCE,
    Parameter,
    Plan,
    Step,
    find_placeholders,
    map_texts,
    texts_of,
)

_QUESTION = "@{question}"
_PLACED = re.compile(r"(@\{[^{}]*\})")
_RETRIES = 1


class Proposal(FrozenModel):
    """A template proposed for the plan of a run."""

    question: str = Field(description="The question of the run.")
    plan: Plan = Field(description="The proposed template.")
    faults: tuple[str, ...] = Field(description="Faults that must be corrected before the template can be saved.")
    collection: str = Field(default="", description="The collection of the run.")


class ProposedParameter(BaseModel):
    """Words of the question that another question replaces."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="a short name, such as 'company'")
    meaning: str = Field(description="what it is, in a few words")
    words: list[str] = Field(description="the words to replace, copied from the texts")


class PlanTemplateResponse(BaseModel):
    """What of a plan belongs to its question."""

    model_config = ConfigDict(extra="forbid")

    same_question: list[int] = Field(description="numbers of the texts that say the whole question; [] if none")
    parameters: list[ProposedParameter] = Field(description="[] if no other words belong to the question")


async def propose(llm: LLM, plan: Plan, question: str, registry: AgentRegistry, *, keep_documents: bool) -> Proposal:
    """Return the template that the model proposes, with the faults that prevent saving it. Raises LLMError."""
    prompt = Prompt.shipped("plan_template")
    start = without_question(plan, question, registry, keep_documents=keep_documents)
    known = {
        text
        for step in plan.steps
        for name in document_inputs(step, registry)
        for text in texts_of(step.inputs.get(name))
    }
    texts = _texts_to_judge(start, registry)
    if not texts:
        return _checked(start, question, registry, known, keep_documents)
    shown = "\n".join(f"[{number}] {text}" for number, text in enumerate(texts, start=1))
    messages = prompt.render(question=question, texts=shown)
    for _ in range(_RETRIES + 1):
        response = (await llm.complete(messages, PlanTemplateResponse)).value
        proposal = _checked(_apply(response, start, texts, registry), question, registry, known, keep_documents)
        if not proposal.faults:
            break
        messages = [*messages, *prompt.again(response.model_dump_json(), faults=bullets(proposal.faults))]
    return proposal


def without_question(plan: Plan, question: str, registry: AgentRegistry, *, keep_documents: bool) -> Plan:
    """Return the plan with placeholders for verbatim copies of the question and for documents.

    Calls no model. Unless ``keep_documents`` is set, each document gets a parameter that defaults to all documents.
    """
    exact = re.compile(re.escape(question.strip()), re.IGNORECASE)
    replaced = _map_plan(plan, registry, lambda text: exact.sub(lambda _: _QUESTION, text))
    return replaced if keep_documents else _without_documents(replaced, registry)


def _without_documents(plan: Plan, registry: AgentRegistry) -> Plan:
    names: dict[str, str] = {}

    def parameter_of(name: str) -> str:
        if PLACEHOLDER.search(name) or REFERENCE.search(name):
            return name
        names.setdefault(name, f"document_{len(names) + 1}" if names else "document")
        return f"@{{inputs.{names[name]}}}"

    steps = []
    for step in plan.steps:
        documents = {
            name: map_texts(step.inputs[name], parameter_of)
            for name in document_inputs(step, registry) & step.inputs.keys()
        }
        steps.append(step.model_copy(update={"inputs": {**step.inputs, **documents}}))
    meaning = "name of the document to read, as listed; empty for all"
    parameters = tuple(Parameter(name=name, meaning=meaning, default="") for name in names.values())
    return plan.model_copy(update={"steps": tuple(steps), "parameters": (*plan.parameters, *parameters)})


def _texts_to_judge(plan: Plan, registry: AgentRegistry) -> list[str]:
    """Return the texts of a plan that may belong to its question, without duplicates and mere placeholders."""
    texts: dict[str, None] = {}

    def collect(text: str) -> str:
        if words_of(REFERENCE.sub("", PLACEHOLDER.sub("", text))):
            texts[text] = None
        return text

    _map_plan(plan, registry, collect)
    return list(texts)


def _apply(response: PlanTemplateResponse, plan: Plan, texts: Sequence[str], registry: AgentRegistry) -> Plan:
    """Return the plan with placeholders for the texts and words that the response marks."""
    whole = {texts[number - 1] for number in response.same_question if 0 < number <= len(texts)}
    used = {each.name for each in plan.parameters}
    parameters = {_name(each.name, used): each for each in response.parameters}
    replacing = dict(_replacements(parameters))
    longest_first = sorted(replacing, key=len, reverse=True)
    words = "|".join(map(re.escape, longest_first)) or r"(?!)"  # matches nothing if there are no words
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)

    def change(text: str) -> str:
        if text in whole:
            return _QUESTION
        return _outside_placeholders(text, lambda part: pattern.sub(lambda match: replacing[match[0].casefold()], part))

    changed = _map_plan(plan, registry, change)
    named = {name for step in changed.steps for name in find_placeholders(step.task)} | set(
        find_placeholders(changed.goal)
    )
    new = (Parameter(name=name, meaning=each.meaning) for name, each in parameters.items() if f"inputs.{name}" in named)
    return changed.model_copy(update={"parameters": (*plan.parameters, *new)})


def _outside_placeholders(text: str, change: Callable[[str], str]) -> str:
    return "".join(part if at % 2 else change(part) for at, part in enumerate(_PLACED.split(text)))


def _replacements(parameters: Mapping[str, ProposedParameter]) -> Iterator[tuple[str, str]]:
    for name, parameter in parameters.items():
        for words in parameter.words:
            if words.strip() and "@{" not in words:
                yield words.strip().casefold(), f"@{{inputs.{name}}}"


def _name(written: str, used: set[str]) -> str:
    """Return a valid parameter name that is not in ``used``, and add it to ``used``."""
    slug = re.sub(r"[^a-z0-9]+", "_", written.casefold()).strip("_")[:36]
    slug = slug if slug[:1].isalpha() else f"input_{slug}".rstrip("_")
    name = next(each for each in (slug, *(f"{slug}_{at}" for at in range(2, len(used) + 3))) if each not in used)
    used.add(name)
    return name


def _map_plan(plan: Plan, registry: AgentRegistry, change: Callable[[str], str]) -> Plan:
    """Return the plan with its goal, instructions and inputs changed, except document names and choices."""
    goal = change(plan.goal)
    steps = tuple(
        step.model_copy(update={"instruction": change(step.instruction), "inputs": _map_inputs(step, registry, change)})
        for step in plan.steps
    )
    return plan.model_copy(update={"goal": goal, "steps": steps})


def _map_inputs(step: Step, registry: AgentRegistry, change: Callable[[str], str]) -> dict[str, JsonValue]:
    fixed = document_inputs(step, registry) | _choices(step, registry)
    changed = {name: value if name in fixed else map_texts(value, change) for name, value in step.inputs.items()}
    return {name: _unique(value) if isinstance(value, list) else value for name, value in changed.items()}


def _choices(step: Step, registry: AgentRegistry) -> frozenset[str]:
    """Return the inputs of a step that accept only fixed values, such as the method of a Retriever."""
    cards = [registry.get(agent).card for agent in step.agents if agent in registry]
    fields = ((name, field) for card in cards for name, field in card.inputs.model_fields.items())
    return frozenset(name for name, field in fields if get_origin(field.annotation) is Literal)


def _unique(values: Sequence[JsonValue]) -> list[JsonValue]:
    return [value for at, value in enumerate(values) if value not in values[:at]]


def _checked(
    plan: Plan, question: str, registry: AgentRegistry, known: Collection[str], keep_documents: bool
) -> Proposal:
    found = saving_faults(plan, question, registry, known, keep_documents=keep_documents)
    return Proposal(question=question, plan=plan, faults=found)
