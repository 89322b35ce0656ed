"""Built-in agents, agents from packages, and custom agents."""

from typing import Annotated

from fastapi import Body, Path, Response

from api.http.deps import CandorDep, CurrentCaller, Owner
from api.http.errors import problem_responses
from api.http.router import make_router
from api.services.catalog.agents import AgentChanges, AgentDescription
from base.models import FrozenModel
from multi_agent.catalog.entries import CustomAgent

router = make_router(prefix="/v1", tags=["agents"])

AgentPath = Annotated[str, Path(description="Name of the agent.", examples=["Lawyer"])]
_EXAMPLE = {
    "name": "Lawyer",
    "description": "Knows contracts. Notes which clauses bear on the question, and what they leave open.",
    "capabilities": ["contracts", "clauses"],
    "prompt": "# System\nYou know contracts.\n# User\n$question\n\nYour task: $instruction\n\n$evidence\n",
}
AgentBody = Annotated[CustomAgent, Body(examples=[_EXAMPLE])]


class EndpointDescription(FrozenModel):
    """A model endpoint that agents and questions can name."""

    name: str
    model: str
    provider: str


@router.get("/agents", responses=problem_responses(422, 503))
def agents(candor: CandorDep, caller: CurrentCaller) -> list[AgentDescription]:
    """List all agents by name, including disabled ones."""
    return candor.agents.list()


@router.post("/agents", status_code=201, responses=problem_responses(403, 404, 409, 422, 503))
def add(candor: CandorDep, caller: Owner, agent: AgentBody, response: Response) -> AgentDescription:
    """Add a custom agent. The next run can use it."""
    added = candor.agents.add(agent)
    response.headers["Location"] = f"/v1/agents/{agent.name}"
    return added


@router.get("/agents/{name}", responses=problem_responses(404, 422, 503))
def agent(candor: CandorDep, caller: CurrentCaller, name: AgentPath) -> AgentDescription:
    """Get one agent. A custom agent comes with its prompt."""
    return candor.agents.describe(name)


@router.put("/agents/{name}", responses=problem_responses(403, 404, 409, 422, 503))
def edit(candor: CandorDep, caller: Owner, name: AgentPath, agent: AgentBody) -> AgentDescription:
    """Replace a custom agent. The next run uses the new definition."""
    return candor.agents.replace(name, agent)


@router.patch("/agents/{name}", responses=problem_responses(403, 404, 409, 422, 503))
def change(
    candor: CandorDep,
    caller: Owner,
    name: AgentPath,
    changes: Annotated[AgentChanges, Body(examples=[{"enabled": False}])],
) -> AgentDescription:
    """Enable or disable an agent, or assign it an endpoint or skills. Works for built-in agents, too."""
    return candor.agents.change(name, changes)


@router.delete("/agents/{name}", status_code=204, responses=problem_responses(403, 404, 409, 422, 503))
def remove(candor: CandorDep, caller: Owner, name: AgentPath) -> None:
    """Remove a custom agent. Active runs can still use it."""
    candor.agent_catalog.remove(name)


@router.get("/endpoints", responses=problem_responses(503))
def endpoints(candor: CandorDep, caller: CurrentCaller) -> list[EndpointDescription]:
    """List the configured model endpoints. The default endpoint has an empty name."""
    return [
        EndpointDescription(name=name, model=each.model, provider=each.provider)
        for name, each in {"": candor.settings.llm, **candor.settings.llms}.items()
    ]
