"""Skills: instructions that can be assigned to agents."""

from typing import Annotated

from fastapi import Body, Path, Response

from api.http.deps import CandorDep, CurrentCaller, Owner
from api.http.errors import problem_responses
from api.http.router import make_router
from api.services.catalog.skills import SkillDescription, describe_skill, list_skills, replace_skill
from multi_agent.catalog.entries import Skill

router = make_router(prefix="/v1/skills", tags=["agents"])

SkillPath = Annotated[str, Path(description="Name of the skill.", examples=["plain-words"])]
_EXAMPLE = {"name": "plain-words", "instructions": "Write short sentences. Explain every technical term."}
SkillBody = Annotated[Skill, Body(examples=[_EXAMPLE])]


@router.get("", responses=problem_responses(422, 503))
def skills(candor: CandorDep, caller: CurrentCaller) -> list[SkillDescription]:
    """List all skills by name."""
    return list_skills(candor.agent_catalog)


@router.post("", status_code=201, responses=problem_responses(403, 409, 422, 503))
def add(candor: CandorDep, caller: Owner, skill: SkillBody, response: Response) -> SkillDescription:
    """Add a skill. `PATCH /v1/agents/{name}` assigns it to an agent."""
    candor.agent_catalog.add_skill(skill)
    response.headers["Location"] = f"/v1/skills/{skill.name}"
    return describe_skill(candor.agent_catalog, skill.name)


@router.get("/{name}", responses=problem_responses(404, 422, 503))
def skill(candor: CandorDep, caller: CurrentCaller, name: SkillPath) -> SkillDescription:
    """Get one skill and the agents that have it."""
    return describe_skill(candor.agent_catalog, name)


@router.put("/{name}", responses=problem_responses(403, 404, 409, 422, 503))
def edit(candor: CandorDep, caller: Owner, name: SkillPath, skill: SkillBody) -> SkillDescription:
    """Replace a skill. Its agents use the new version from the next run on."""
    replace_skill(candor.agent_catalog, name, skill)
    return describe_skill(candor.agent_catalog, name)


@router.delete("/{name}", status_code=204, responses=problem_responses(403, 404, 409, 422, 503))
def remove(candor: CandorDep, caller: Owner, name: SkillPath) -> None:
    """Remove a skill that no agent has."""
    candor.agent_catalog.remove_skill(name)
