"""Who does the research, and by which saved plans."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field

from api.access import Called
from api.problems import problems
from api.service import Served
from multi_agent.agent import AgentCard
from multi_agent.plan import PlanExample
from multi_agent.tasks import NoInputs
from vectorstore.models import Value

router = APIRouter(prefix="/v1", tags=["panel"])


class AgentDescription(Value):
    """An agent's card, as JSON."""

    name: str
    description: str
    capabilities: tuple[str, ...]
    requires: tuple[str, ...] = Field(description="fields of the context that must be written before it")
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    inputs: dict[str, Any] = Field(description="JSON schema of what the planner gives it")
    outputs: dict[str, Any] = Field(description="JSON schema of what later steps may refer to")
    listens_to: tuple[str, ...] = Field(description="types of events that it may react to")
    direct: bool = Field(description="whether a person can ask it alone, by `agent`")

    @classmethod
    def of(cls, card: AgentCard) -> AgentDescription:
        """Its types as schemas, its sets in order."""
        return cls(
            name=card.name,
            description=card.description,
            capabilities=card.capabilities,
            requires=tuple(sorted(card.requires)),
            reads=tuple(sorted(card.reads)),
            writes=tuple(sorted(card.writes)),
            inputs=card.inputs.model_json_schema(),
            outputs=card.outputs.model_json_schema(),
            listens_to=tuple(sorted(card.listens_to)),
            direct=not card.requires and (card.asked is not None or card.inputs is NoInputs),
        )


@router.get("/agents", responses=problems(503))
def agents(service: Served, _: Called) -> list[AgentDescription]:
    """The agents that plans are made of."""
    return [AgentDescription.of(registered.card) for registered in service.candor.registry]


@router.get("/plans", responses=problems(503))
def plans(service: Served, _: Called) -> list[PlanExample]:
    """The plans that were saved under a name; `template` follows one."""
    return list(service.candor.plans.list())
