"""The skills there are, as they are listed."""

from __future__ import annotations

from pydantic import Field

from api.bootstrap import Candor
from multi_agent.catalog.entries import Skill


class SkillDescription(Skill):
    """A skill, who has it, and where it is kept."""

    given_to: tuple[str, ...] = Field(description="agents that have it")
    file: str = Field(description="the file that holds it, and has to be edited then; mostly empty")


def list_skills(candor: Candor) -> list[SkillDescription]:
    """All skills. Raises AgentError if what is kept cannot be used."""
    agents = candor.agent_catalog.agents()
    return [
        SkillDescription(
            **dict(kept.value),
            given_to=tuple(agent for agent, found in agents.items() if name in found.options.skills),
            file=str(kept.file or ""),
        )
        for name, kept in candor.agent_catalog.skills().items()
    ]


def describe_skill(candor: Candor, name: str) -> SkillDescription:
    """One skill. Raises NotKept."""
    candor.agent_catalog.get_skill(name)
    return next(each for each in list_skills(candor) if each.name == name)
