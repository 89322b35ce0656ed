"""Use cases for listing, describing, adding, changing and removing skills."""

from __future__ import annotations

from pydantic import Field

from api.errors import UsageError
from multi_agent.catalog.catalog import AgentCatalog
from multi_agent.catalog.entries import Skill


class SkillDescription(Skill):
    """A skill, the agents that have it, and where it is stored."""

    given_to: tuple[str, ...] = Field(description="Agents that have the skill.")
    file: str = Field(description="The file that defines the skill and must be edited to change it. Often empty.")


class Skills:
    """The skills of the catalog. Calls block."""

    def __init__(self, catalog: AgentCatalog) -> None:
        self._catalog = catalog

    def get(self, name: str) -> Skill:
        """Return one skill. Raises NotKept."""
        return self._catalog.get_skill(name).value

    def describe(self, name: str) -> SkillDescription:
        """Describe one skill. Raises NotKept."""
        self._catalog.get_skill(name)
        return next(each for each in self.list() if each.name == name)

    def add(self, skill: Skill) -> SkillDescription:
        """Add a skill. Raises NameTaken, AgentError."""
        self._catalog.add_skill(skill)
        return self.describe(skill.name)

    def replace(self, name: str, skill: Skill) -> SkillDescription:
        """Replace a skill. The next run uses the new version. Raises NotKept, KeptInFile, UsageError."""
        if skill.name != name:
            raise UsageError(f"The definition is for {skill.name!r}, not for {name!r}. A skill cannot be renamed.")
        self._catalog.edit_skill(skill)
        return self.describe(name)

    def remove(self, name: str) -> None:
        """Remove a skill that no agent has. Raises NotKept, KeptInFile, AgentError."""
        self._catalog.remove_skill(name)

    def list(self) -> list[SkillDescription]:
        """Describe all skills. Raises AgentError if a stored definition is invalid."""
        agents = self._catalog.agents()
        return [
            SkillDescription(
                **dict(kept.value),
                given_to=tuple(agent for agent, found in agents.items() if name in found.options.skills),
                file=str(kept.file or ""),
            )
            for name, kept in self._catalog.skills().items()
        ]
