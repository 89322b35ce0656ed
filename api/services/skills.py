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
    members = candor.cast.members()
    return [
        SkillDescription(
            **dict(kept.value),
            given_to=tuple(agent for agent, member in members.items() if name in member.choice.skills),
            file=str(kept.file or ""),
        )
        for name, kept in candor.cast.skills().items()
    ]


def describe_skill(candor: Candor, name: str) -> SkillDescription:
    """One skill. Raises NotKept."""
    candor.cast.skill(name)
    return next(each for each in list_skills(candor) if each.name == name)
