"""Skills: instructions that agents can be given."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Response

from api.errors import UsageError
from api.http.deps import CurrentCaller, Served
from api.http.errors import problems
from api.services.skills import SkillDescription, describe_skill, list_skills
from multi_agent.catalog.entries import Skill

router = APIRouter(prefix="/v1/skills", tags=["agents"])

SkillPath = Annotated[str, Path(description="The skill's name.", examples=["plain-words"])]
_EXAMPLE = {"name": "plain-words", "instructions": "Write short sentences. Explain every technical term."}
Described = Annotated[Skill, Body(examples=[_EXAMPLE])]


@router.get("", responses=problems(422, 503))
def skills(service: Served, caller: CurrentCaller) -> list[SkillDescription]:
    """All skills, by name."""
    return list_skills(service.candor)


@router.post("", status_code=201, responses=problems(403, 409, 422, 503))
def add(service: Served, caller: CurrentCaller, skill: Described, response: Response) -> SkillDescription:
    """Add a skill. Agents are given it by `PATCH /v1/agents/{name}`."""
    caller.require_admin()
    service.candor.agent_catalog.add_skill(skill)
    response.headers["Location"] = f"/v1/skills/{skill.name}"
    return describe_skill(service.candor, skill.name)


@router.get("/{name}", responses=problems(404, 422, 503))
def skill(service: Served, caller: CurrentCaller, name: SkillPath) -> SkillDescription:
    """One skill, and who has it."""
    return describe_skill(service.candor, name)


@router.put("/{name}", responses=problems(403, 404, 409, 422, 503))
def edit(service: Served, caller: CurrentCaller, name: SkillPath, skill: Described) -> SkillDescription:
    """Put this in place of a skill; the agents that have it have this in the next run."""
    caller.require_admin()
    if skill.name != name:
        raise UsageError(f"The body describes {skill.name!r}, not {name!r}; a skill keeps its name.")
    service.candor.agent_catalog.edit_skill(skill)
    return describe_skill(service.candor, name)


@router.delete("/{name}", status_code=204, responses=problems(403, 404, 409, 422, 503))
def remove(service: Served, caller: CurrentCaller, name: SkillPath) -> None:
    """Remove a skill that no agent has."""
    caller.require_admin()
    service.candor.agent_catalog.remove_skill(name)
