"""The response models of the planner, and the plans that are built from the steps that a model wrote.

The JSON schema offers each agent with its own inputs, but a response is parsed as plain ``WrittenStep`` values.
``draft_plan`` repairs unambiguous errors and derives the order of the steps. Other errors stay unchanged, and
``validation.py`` reports all of them to the model at once.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainValidator, create_model

from base.models import FrozenModel
from multi_agent.agent import AgentCard, document_fields
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.orchestrator.planning.validation import output_fields
from multi_agent.values.context import SINGLE_VALUED, Understanding
from multi_agent.values.plan import Parameter, Plan, Step, find_references, map_texts
from multi_agent.values.tasks import NoInputs

_STEPS = 13  # in the schema only; prevents a small model from repeating steps endlessly


class WrittenStep(FrozenModel):
    """A step as the model wrote it."""

    id: str
    agent: str
    instruction: str = ""
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    also: tuple[str, ...] = Field(default=(), description="further agents that take the same step")
    final: bool = False


class UnderstandingResponse(BaseModel):
    """What a question asks for."""

    model_config = ConfigDict(extra="forbid")

    intent: str = Field(description="what the person wants to know or decide, in one sentence")
    domain: str = Field(default="", description="the field that the question belongs to, in one or two words")
    requirements: list[str] = Field(min_length=1, description="what a complete answer must contain, one item each")

    @property
    def understanding(self) -> Understanding:
        return Understanding(intent=self.intent, domain=self.domain, requirements=tuple(self.requirements))


def understanding_response(parameters: Sequence[Parameter]) -> type[UnderstandingResponse]:
    """Return the response model for following a template, with the values of these parameters if there are any."""
    if not parameters:
        return UnderstandingResponse
    fields: dict[str, Any] = {each.name: (str, Field(description=each.meaning)) for each in parameters}
    inputs = create_model("TemplateInputs", __config__=ConfigDict(extra="forbid"), **fields)
    described = Field(description="values of the plan's parameters, as the question names them; '' if it names none")
    return create_model("UnderstandingResponse", __base__=UnderstandingResponse, inputs=(inputs, described))


@lru_cache(maxsize=32)
def planner_response(cards: tuple[AgentCard, ...]) -> type[BaseModel]:
    """Return the response model of the planner."""
    described = "in the order of the work; [] if one search answers the question"
    steps = (_steps(cards), Field(description=described, json_schema_extra=_AT_MOST))
    return create_model("PlannerResponse", __base__=UnderstandingResponse, steps=steps)


@lru_cache(maxsize=32)
def revision_response(cards: tuple[AgentCard, ...]) -> type[BaseModel]:
    """Return the response model for revising a plan."""
    fields: dict[str, Any] = {
        "diagnosis": (str, Field(description="why the answer was not found, in one sentence")),
        "try_again": (bool, Field(description="whether another way is worth trying")),
        "steps": (_steps(cards), Field(description="the new plan; [] if not worth trying", json_schema_extra=_AT_MOST)),
    }
    return create_model("RevisionResponse", __config__=ConfigDict(extra="forbid"), **fields)


_AT_MOST: dict[str, JsonValue] = {"maxItems": _STEPS}


def _steps(cards: Sequence[AgentCard]) -> Any:
    """Return the type of the list of steps. Agents without own fields share one form. Others have one form each."""
    own = {card: _own(card, cards) for card in cards}
    plain = tuple(card.name for card, fields in own.items() if not fields)
    variants = [_step_model("PlainStep", plain, instructed=True, own={})] if plain else []
    variants += [
        _step_model(f"{card.name}Step", (card.name,), instructed=card.instructed, own=fields)
        for card, fields in own.items()
        if fields
    ]
    shown: Any = Union[tuple(variants)]  # noqa: UP007 - the variants are made at run time
    return list[Annotated[Any, PlainValidator(WrittenStep.model_validate, json_schema_input_type=shown)]]


def _own(card: AgentCard, cards: Sequence[AgentCard]) -> dict[str, Any]:
    """Return the fields that only steps of this agent have."""
    own: dict[str, Any] = {}
    if card.inputs is not NoInputs and card.planned_inputs:
        own["inputs"] = (card.inputs, Field())
    if peers := peers_of(card, cards):
        description = "further agents that take the same step, to compare their results by vote; [] if not needed"
        own["also"] = (list[Literal[peers]], Field(description=description))  # type: ignore[valid-type]
    if "findings" in card.writes:
        description = "whether its answer is the whole answer, so that no other step writes one"
        own["final"] = (bool, Field(description=description))
    return own


def peers_of(card: AgentCard, cards: Sequence[AgentCard]) -> tuple[str, ...]:
    """Return the names of the other agents that can take the same steps as this one."""
    return tuple(other.name for other in cards if other is not card and _is_peer(other, card))


def _is_peer(one: AgentCard, other: AgentCard) -> bool:
    """Return whether two agents can take the same step and give comparable answers."""
    answers = {"synthesis", "findings"} & one.writes
    return bool(answers) and (one.inputs, one.writes, one.outputs) == (other.inputs, other.writes, other.outputs)


def _step_model(name: str, agents: tuple[str, ...], *, instructed: bool, own: dict[str, Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        "id": (str, Field(description="short unique name, such as 'author'")),
        "agent": (Literal[agents], Field(description="who takes this step")),
    }
    if instructed:
        fields["instruction"] = (str, Field(description="what it is to do for this question, in one sentence"))
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields, **own)


_REFERENCE = re.compile(r"(?:[@$]|(?<!\{))\{+([^{}]*)\}+")
"""A reference as models write it, with or without ``@`` and ``outputs``, in single or double braces.

The search takes linear time for any text.
"""


def draft_plan(
    goal: str,
    written: Sequence[WrittenStep],
    registry: AgentRegistry,
    find_document: Callable[[str], str | None],
    finished: Sequence[Step] = (),
) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan and the repairs for at least one written step.

    ``find_document`` returns the name of the document that a text refers to, or None. Steps can refer to ``finished``
    steps of earlier attempts.
    """
    drafter = _Drafter(registry, find_document)
    steps = drafter.named(written)
    steps = [drafter.referring(step, [*finished, *steps]) for step in steps]
    steps = [drafter.with_documents(step) for step in steps]
    steps = drafter.ending(_ordered(steps))
    plan = Plan(goal=goal, steps=tuple(_with_needs(steps, registry)))
    return plan, tuple(dict.fromkeys(drafter.repairs))


def with_documents(
    plan: Plan, registry: AgentRegistry, find_document: Callable[[str], str | None]
) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan with document names as in the library, and the repairs."""
    drafter = _Drafter(registry, find_document)
    steps = tuple(drafter.with_documents(step) for step in plan.steps)
    return plan.model_copy(update={"steps": steps}), tuple(dict.fromkeys(drafter.repairs))


class _Drafter:
    """Repairs the steps of one plan and records each repair."""

    def __init__(self, registry: AgentRegistry, find_document: Callable[[str], str | None]) -> None:
        self._registry, self._find_document = registry, find_document
        self._agents = {name.casefold(): name for name in registry.names}
        self.repairs: list[str] = []

    def named(self, written: Sequence[WrittenStep]) -> list[Step]:
        """Return the steps with valid ids and with agent names as registered."""
        steps: list[Step] = []
        for each in written:
            agents = tuple(dict.fromkeys(self._agent(name) for name in (each.agent, *each.also)))
            inputs = dict(each.inputs)
            instruction = each.instruction or str(inputs.get("question", ""))
            step_id = self._id(each.id, {step.id for step in steps})
            steps.append(Step(id=step_id, agents=agents, instruction=instruction, inputs=inputs, final=each.final))
        return steps

    def _agent(self, written: str) -> str:
        name = self._agents.get(written.strip().casefold(), written)
        self._note(name != written, f"agent {written!r} read as {name!r}")
        return name

    def _id(self, written: str, used: set[str]) -> str:
        slug = _slug(written)
        step_id = next(name for name in (slug, *(f"{slug}_{at}" for at in range(2, len(used) + 3))) if name not in used)
        self._note(step_id != written, f"step {written!r} named {step_id!r}")
        return step_id

    def referring(self, step: Step, steps: Sequence[Step]) -> Step:
        """Return the step with its references in canonical form."""
        outputs = {each.id: output_fields(each, self._registry) for each in steps if self._cards(each)}

        def mend(match: re.Match[str]) -> str:
            written = _parts(match[1])
            if written is None:
                return match[0]
            target = _slug(written[0])
            name = _output(written[1], outputs.get(target, {})) if target != step.id else None
            reference = f"@{{outputs.{target}.{name}}}" if name else match[0]
            self._note(reference != match[0], f"{match[0]!r} read as {reference!r}")
            return reference

        instruction, inputs = map_texts([step.instruction, step.inputs], lambda text: _REFERENCE.sub(mend, text))
        return step.model_copy(update={"instruction": instruction, "inputs": inputs})

    def with_documents(self, step: Step) -> Step:
        """Return the step with document names as in the library."""
        inputs = dict(step.inputs)
        for name in {name for card in self._cards(step) for name in document_fields(card.inputs)}:
            given = inputs.get(name)
            if isinstance(given, list):
                inputs[name] = [self._document(each) for each in given]
        return step.model_copy(update={"inputs": inputs})

    def _document(self, written: JsonValue) -> JsonValue:
        known = self._find_document(written) if isinstance(written, str) else None
        self._note(known is not None and known != written, f"document {written!r} read as {known!r}")
        return written if known is None else known

    def ending(self, steps: Sequence[Step]) -> list[Step]:
        """Return the steps up to the one that writes the answer. Append that one if it is missing and can be added."""
        finals = [at for at, step in enumerate(steps) if step.final]
        answering = finals or [at for at, step in enumerate(steps) if "synthesis" in self._written(step)]
        if not answering and self._is_chain(steps):
            return [*steps[:-1], steps[-1].model_copy(update={"final": True})]
        if not answering:
            return [*steps, *self._answering_step(steps)]
        last = answering[-1]
        if last == 0 and not finals:  # a first step has no results to answer from
            self._note(len(steps) > 1, f"step {steps[0].id!r} moved to the end")
            return [*steps[1:], steps[0]]
        for step in steps[last + 1 :]:
            self._note(True, f"dropped step {step.id!r}, which comes after the answer")
        return list(steps[: last + 1])

    def _is_chain(self, steps: Sequence[Step]) -> bool:
        """Return whether each step answers a question that names what the step before it found."""
        linked = all(before.id in _referred(step) for before, step in pairwise(steps))
        return linked and all(self._finds_the_answer(step) for step in steps)

    def _finds_the_answer(self, step: Step) -> bool:
        cards = self._cards(step)
        return bool(cards) and all("findings" in card.writes and not card.requires for card in cards)

    def _answering_step(self, steps: Sequence[Step]) -> list[Step]:
        writers = [agent.card.name for agent in self._registry if "synthesis" in agent.card.writes]
        found = any(self._written(step) & {"evidence", "computations", "findings", "notes"} for step in steps)
        if not found or len(writers) != 1 or not all(self._cards(step) for step in steps):
            return []
        step_id = next(name for name in ("answer", "write_answer", "final_answer") if name not in {s.id for s in steps})
        self._note(True, f"added step {step_id!r}, which writes the answer")
        return [Step(id=step_id, agents=(writers[0],), instruction="Answer the question.")]

    def _written(self, step: Step) -> frozenset[str]:
        return frozenset().union(*(card.writes for card in self._cards(step)))

    def _cards(self, step: Step) -> list[AgentCard]:
        """Return the cards of the step's agents. Empty if one of the agents does not exist."""
        known = all(agent in self._registry for agent in step.agents)
        return [self._registry.get(agent).card for agent in step.agents] if known else []

    def _note(self, changed: bool, repair: str) -> None:
        if changed:
            self.repairs.append(repair)


def _slug(written: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "_", written.casefold()).strip("_")
    return (slug if slug[:1].isalpha() else f"step_{slug}".rstrip("_"))[:36]


def _parts(written: str) -> tuple[str, str | None] | None:
    """Return the step and the output that a text in braces refers to, or None if it is not a reference."""
    parts = written.strip().split(".")
    named = parts[1:] if parts[0] in ("output", "outputs") and len(parts) > 1 else parts
    if not all(named) or len(named) > 2:
        return None
    return named[0], named[1] if len(named) == 2 else None


def _output(written: str | None, outputs: Mapping[str, Any]) -> str | None:
    """Return the output that a reference names or, if there is no such output, the only text output."""
    if written in outputs:
        return written
    texts = [name for name, annotation in outputs.items() if annotation not in (int, float, bool)]
    return texts[0] if len(texts) == 1 else None


def _ordered(steps: Sequence[Step]) -> list[Step]:
    """Return the steps in their order, but each after the steps that it references. Cycles stay unchanged."""
    waiting, placed = list(steps), list[Step]()
    ids = {step.id for step in steps}
    while waiting:
        done = {step.id for step in placed}
        ready = (step for step in waiting if done.issuperset(_referred(step) & ids))
        following = next(ready, None)
        if following is None:
            return [*placed, *waiting]
        waiting.remove(following)
        placed.append(following)
    return placed


def _with_needs(steps: Sequence[Step], registry: AgentRegistry) -> Iterable[Step]:
    """Yield the steps with their needs.

    A step needs earlier steps that write a field that it reads, or a single value that it also writes. The last step
    needs all others. A need is omitted if another needed or referenced step already waits for that step.
    """
    before: dict[str, set[str]] = {}
    flows = {step.id: _flow(step, registry) for step in steps}
    for at, step in enumerate(steps):
        earlier = [each.id for each in steps[:at]]
        reads, writes = flows[step.id]
        sought = reads | (writes & SINGLE_VALUED)
        covered = set().union(*(before.get(each, set()) | {each} for each in _referred(step)))
        needs: list[str] = []
        for each in reversed(earlier):
            if each not in covered and (flows[each][1] & sought or step is steps[-1]):
                needs.insert(0, each)
                covered |= before[each] | {each}
        before[step.id] = covered
        yield step.model_copy(update={"needs": tuple(needs)})


def _flow(step: Step, registry: AgentRegistry) -> tuple[frozenset[str], frozenset[str]]:
    """Return the context fields that the step's agents read and write."""
    cards = [registry.get(agent).card for agent in step.agents if agent in registry]
    return frozenset().union(*(card.sees for card in cards)), frozenset().union(*(card.writes for card in cards))


def _referred(step: Step) -> set[str]:
    return {reference.step for reference in find_references(step.task)}
