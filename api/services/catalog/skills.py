"""Use cases for listing, describing and changing skills. The catalog adds and removes them."""

from pydantic import Field

from api.errors import UsageError
from multi_agent.catalog.catalog import AgentCatalog
from multi_agent.catalog.entries import Skill


class SkillDescription(Skill):
    """A skill, the agents that have it, and where it is stored."""

    given_to: tuple[str, ...] = Field(description="Agents that have the skill.")
    file: str = Field(description="The file that defines the skill and must be edited to change it. Often empty.")


def list_skills(catalog: AgentCatalog) -> list[SkillDescription]:
    """Describe all skills. Raises AgentError if a stored definition is invalid."""
    agents = catalog.agents()
    return [
        SkillDescription(
            **dict(kept.value),
            given_to=tuple(agent for agent, found in agents.items() if name in found.options.skills),
            file=str(kept.file or ""),
        )
        for name, kept in catalog.skills().items()
    ]


def describe_skill(catalog: AgentCatalog, name: str) -> SkillDescription:
    """Describe one skill. Raises NotKept."""
    catalog.get_skill(name)
    return next(each for each in list_skills(catalog) if each.name == name)


def replace_skill(catalog: AgentCatalog, name: str, skill: Skill) -> None:
    """Replace a skill. The next run uses the new version. Raises NotKept, KeptInFile, UsageError."""
    if skill.name != name:
        raise UsageError(f"The definition is for {skill.name!r}, not for {name!r}. A skill cannot be renamed.")
    catalog.edit_skill(skill)
