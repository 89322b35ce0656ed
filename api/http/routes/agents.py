"""Who does the research: agents that come with Candor or in packages, and those that people describe."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Response

from api.errors import UsageError
from api.http.deps import CurrentCaller, Served
from api.http.errors import problems
from api.services.agents import AgentChanges, AgentDescription, change_agent, describe_agent, list_agents
from multi_agent.catalog.entries import CustomAgent
from vectorstore.models import FrozenModel

router = APIRouter(prefix="/v1", tags=["agents"])

AgentPath = Annotated[str, Path(description="The agent's name.", examples=["Lawyer"])]
_EXAMPLE = {
    "name": "Lawyer",
    "description": "Knows contracts. Notes which clauses bear on the question, and what they leave open.",
    "capabilities": ["contracts", "clauses"],
    "prompt": "# System\nYou know contracts.\n# User\n$question\n\nYour task: $instruction\n\n$evidence\n",
}
Described = Annotated[CustomAgent, Body(examples=[_EXAMPLE])]


class EndpointDescription(FrozenModel):
    """A model that agents and questions can name."""

    name: str
    model: str
    provider: str


@router.get("/agents", responses=problems(422, 503))
def agents(service: Served, caller: CurrentCaller) -> list[AgentDescription]:
    """All agents, by name; disabled ones, too."""
    return list_agents(service.candor)


@router.post("/agents", status_code=201, responses=problems(403, 404, 409, 422, 503))
def add(service: Served, caller: CurrentCaller, agent: Described, response: Response) -> AgentDescription:
    """Add an agent; the next run may use it."""
    caller.require_admin()
    service.candor.agent_catalog.add(agent)
    response.headers["Location"] = f"/v1/agents/{agent.name}"
    return describe_agent(service.candor, agent.name)


@router.get("/agents/{name}", responses=problems(404, 422, 503))
def agent(service: Served, caller: CurrentCaller, name: AgentPath) -> AgentDescription:
    """One agent; a custom one in full, with its prompt."""
    return describe_agent(service.candor, name)


@router.put("/agents/{name}", responses=problems(403, 404, 409, 422, 503))
def edit(service: Served, caller: CurrentCaller, name: AgentPath, agent: Described) -> AgentDescription:
    """Put this in place of a custom agent; the next run has it."""
    caller.require_admin()
    if agent.name != name:
        raise UsageError(f"The body describes {agent.name!r}, not {name!r}; an agent keeps its name.")
    service.candor.agent_catalog.edit(agent)
    return describe_agent(service.candor, name)


@router.patch("/agents/{name}", responses=problems(403, 404, 409, 422, 503))
def change(
    service: Served,
    caller: CurrentCaller,
    name: AgentPath,
    changes: Annotated[AgentChanges, Body(examples=[{"enabled": False}])],
) -> AgentDescription:
    """Enable or disable any agent, or give it a model or skills; built-in ones, too."""
    caller.require_admin()
    return change_agent(service.candor, name, changes)


@router.delete("/agents/{name}", status_code=204, responses=problems(403, 404, 409, 422, 503))
def remove(service: Served, caller: CurrentCaller, name: AgentPath) -> None:
    """Remove a custom agent; runs that have it go on with it."""
    caller.require_admin()
    service.candor.agent_catalog.remove(name)


@router.get("/endpoints", responses=problems(503))
def endpoints(service: Served, caller: CurrentCaller) -> list[EndpointDescription]:
    """The models that are set; the default one has no name."""
    settings = service.candor.settings
    return [
        EndpointDescription(name=name, model=each.model, provider=each.provider)
        for name, each in {"": settings.llm, **settings.llms}.items()
    ]
