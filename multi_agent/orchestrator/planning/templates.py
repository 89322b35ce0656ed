"""Checks saved plans as templates, and fills in ``@{question}`` and ``@{inputs.NAME}`` for a question.

A plan that contains parts of its original question answers that question again, regardless of the new one. Therefore, a
plan is not saved or followed if its texts contain a figure, a name or quoted words of the question, or several
consecutive words of it.
"""

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from multi_agent.agent import document_fields
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import AgentError, PlanError
from multi_agent.grounding.quotes import has_spaceless
from multi_agent.grounding.terms import Term, TermIndex, find_terms, words_of
from multi_agent.orchestrator.planning.validation import STAND_IN, faults
from multi_agent.values.plan import (
    PLACEHOLDER,
    REFERENCE,
    Parameter,
    Plan,
    PlanExample,
    Step,
    find_placeholders,
    texts_of,
)

_SENTENCE_END = re.compile(r"(?<=[!?…؟])\s+|(?<=[^\W_]{2}\.)(?<!\b[A-Z][a-z]\.)(?<!\b[A-Z][a-z]{3}\.)\s+")
"""Excludes abbreviations such as "Dr." and "Prof.", which precede a name."""
_QUOTED = re.compile(r"[\"“”„«‹']([^\"“”„«»‹›]{2,}?)[\"“”»›'](?!\w)")
_SHARED_WORDS = 3  # consecutive words, at least one of them with five or more letters
_SHARED_CHARACTERS = 4  # consecutive characters, in scripts without spaces
_LONG_WORD = 6  # letters; in a question without figures and names, long words identify its subject
_WORDS_OF_PLANS = frozenset({"answer", "answers", "document", "documents", "passage", "passages", "question"})
"""Words of every plan. They do not identify the subject of a question."""


class OldQuestion:
    """The original question of a plan."""

    def __init__(self, question: str) -> None:
        terms = [term for sentence in _SENTENCE_END.split(question) for term in find_terms(sentence)]
        self._words = _units_of(question)
        self._content = {term.text.casefold() for term in terms} - _WORDS_OF_PLANS
        self._quoted = [_units_of(quoted) for quoted in _QUOTED.findall(question)]
        self._exact = {term.text: term for term in terms if term.kind != "word"}
        long_words = (term for term in find_terms(question, _LONG_WORD) if term.text.casefold() in self._content)
        self._long_words: dict[str, Term] = {} if self._exact else {term.text: term for term in long_words}

    def shared_with(self, plan: Plan, registry: AgentRegistry) -> tuple[str, ...]:
        """Return the parts of the question in the plan, as one phrase per text."""
        found = ((where, self.shared_with_text(text)) for where, text in _texts(plan, registry))
        return tuple(f"{where} ({', '.join(map(repr, shared))})" for where, shared in found if shared)

    def shared_with_text(self, text: str) -> tuple[str, ...]:
        """Return the terms and word sequences of the question in a text, without its references and placeholders.

        A text with a parameter or a reference asks for a part of a question, so it may share word sequences with the
        question.
        """
        parts = PLACEHOLDER.sub("\n", REFERENCE.sub("\n", text)).split("\n")
        is_part = "@{inputs." in text or "@{outputs." in text
        found = (shared for part in parts for shared in self._shared(part, is_part=is_part))
        return tuple(dict.fromkeys(found))

    def _shared(self, text: str, *, is_part: bool) -> Iterator[str]:
        index, words = TermIndex(text), _units_of(text)
        yield from (name for name, term in self._exact.items() if term in index)
        yield from (" ".join(quoted) for quoted in self._quoted if quoted and _holds(words, quoted))
        if is_part:
            return
        runs = list(_common_runs(self._words, words))
        yield from (name for name, term in self._long_words.items() if term in index)
        yield from (" ".join(run) for run in runs if self._content.intersection(run))
        yield from ("".join(run) for run in runs if _is_spaceless_run(run))


def documents_in(plan: Plan, registry: AgentRegistry) -> tuple[str, ...]:
    """Return the document names in the inputs of a plan, without duplicates."""
    inputs = [
        text
        for step in plan.steps
        for name in document_inputs(step, registry)
        for text in texts_of(step.inputs.get(name))
    ]
    return tuple(dict.fromkeys(text for text in inputs if not PLACEHOLDER.search(text) and not REFERENCE.search(text)))


def document_inputs(step: Step, registry: AgentRegistry) -> frozenset[str]:
    """Return the inputs of a step that contain document names."""
    cards = [registry.get(agent).card for agent in step.agents if agent in registry]
    return frozenset(name for card in cards for name in document_fields(card.inputs))


def _texts(plan: Plan, registry: AgentRegistry) -> Iterator[tuple[str, str]]:
    """Yield the location of each text of a plan, and the text. Omits document names."""
    yield "the goal", plan.goal
    for step in plan.steps:
        yield f"the instruction of step {step.id!r}", step.instruction
        for name in sorted(step.inputs.keys() - document_inputs(step, registry)):
            for text in texts_of(step.inputs[name]):
                yield f"the input {name!r} of step {step.id!r}", text
    for parameter in plan.parameters:
        yield f"the meaning of the parameter {parameter.name!r}", parameter.meaning


def _units_of(text: str) -> list[str]:
    """Return the words of a text or, in scripts without spaces, its characters."""
    words = words_of(text)
    return [unit for word in words for unit in (word if has_spaceless(word) else (word,))]


def _is_spaceless_run(run: list[str]) -> bool:
    return len(run) >= _SHARED_CHARACTERS and all(len(unit) == 1 and has_spaceless(unit) for unit in run)


def _holds(words: list[str], sought: list[str]) -> bool:
    return any(words[at : at + len(sought)] == sought for at in range(len(words)))


def _common_runs(one: list[str], other: list[str]) -> Iterator[list[str]]:
    """Yield the longest word sequences that both lists share."""
    for at in range(len(one)):
        for start in range(len(other)):
            if at and start and one[at - 1] == other[start - 1]:
                continue  # part of a longer sequence that began earlier
            length = 0
            while at + length < len(one) and start + length < len(other) and one[at + length] == other[start + length]:
                length += 1
            if length >= _SHARED_WORDS:
                yield one[at : at + length]


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
