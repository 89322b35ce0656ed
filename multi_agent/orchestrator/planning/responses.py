"""The response models of the planner, which consist of an understanding and steps.

The JSON schema offers each agent with its own inputs, but a response is parsed as plain ``WrittenStep`` values.
``drafting.py`` repairs faults in names and inputs, and ``validation.py`` reports all others to the model at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainValidator, create_model

from base.models import FrozenModel
from multi_agent.agent import AgentCard
from multi_agent.values.context import Understanding
from multi_agent.values.plan import Parameter
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
