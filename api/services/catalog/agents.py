"""Use cases for listing, describing, adding and changing agents."""

from typing import Any, Literal, Self

from pydantic import Field

from api.errors import UsageError
from base.models import FrozenModel
from multi_agent.catalog.catalog import AgentCatalog, CatalogAgent
from multi_agent.catalog.entries import AgentOptions, CustomAgent, SkillName
from multi_agent.orchestrator.planning.one_step import answers_alone

_BUILT_IN = "multi_agent."


class AgentDescription(FrozenModel):
    """An agent's card with its current settings."""

    name: str
    description: str
    capabilities: tuple[str, ...]
    requires: tuple[str, ...] = Field(description="Context fields that other agents must write first.")
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    inputs: dict[str, Any] = Field(description="JSON schema of the inputs that the planner provides.")
    outputs: dict[str, Any] = Field(description="JSON schema of the outputs that later steps can reference.")
    listens_to: tuple[str, ...] = Field(description="Events that the agent hears and may react to.")
    direct: bool = Field(description="Whether the agent can answer a question alone. False if it is disabled.")
    reads_memory: bool = Field(description="Whether the agent gets notes on what worked for similar questions.")
    enabled: bool = Field(description="Whether plans can use the agent.")
    origin: Literal["built-in", "package", "custom"] = Field(description="Where the agent comes from.")
    model: str = Field(description="Name of the endpoint that the agent uses. Empty for the default endpoint.")
    tools: tuple[str, ...] = Field(description="Tools that the agent can call, including those of its skills.")
    skills: tuple[str, ...] = Field(description="Skills assigned to the agent.")
    weight: float | None = Field(description="Weight of the agent's vote. Null: all votes weigh the same.")
    custom: CustomAgent | None = Field(description="The full definition of a custom agent, as PUT accepts it.")
    file: str = Field(description="The file that defines the agent and must be edited to change it. Often empty.")

    @classmethod
    def of(cls, member: CatalogAgent, models: dict[str, str]) -> Self:
        """Describe an agent of the catalog. ``models`` are the endpoints that the settings assign to agents."""
        card = member.registered.card
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
            direct=answers_alone(card) and member.enabled,
            reads_memory=card.reads_memory,
            enabled=member.enabled,
            origin="custom" if member.custom else _origin(member),
            model=card.model or models.get(card.name, ""),
            tools=card.tools,
            skills=member.options.skills,
            weight=card.weight,
            custom=member.custom,
            file=str(member.file or ""),
        )


class AgentChanges(FrozenModel):
    """Changes to an agent. Omitted fields keep their values."""

    enabled: bool | None = Field(default=None, description="Whether plans can use the agent.")
    model: str | None = Field(default=None, description="Name of the endpoint to use; '' for the default endpoint.")
    skills: tuple[SkillName, ...] | None = Field(default=None, description="The complete list of the agent's skills.")


class Agents:
    """The agents of the catalog. ``models`` are the endpoints that the settings assign to agents. Calls block."""

    def __init__(self, catalog: AgentCatalog, models: dict[str, str]) -> None:
        self._catalog, self._models = catalog, models

    def describe(self, name: str) -> AgentDescription:
        """Describe one agent. Raises NotKept."""
        return AgentDescription.of(self._catalog.get(name), self._models)

    def add(self, agent: CustomAgent) -> AgentDescription:
        """Add a custom agent. The next run can use it. Raises NameTaken, AgentError."""
        self._catalog.add(agent)
        return self.describe(agent.name)

    def replace(self, name: str, agent: CustomAgent) -> AgentDescription:
        """Replace the definition of a custom agent. Raises NotKept, KeptInFile, AgentError, UsageError."""
        if agent.name != name:
            raise UsageError(f"The definition is for {agent.name!r}, not for {name!r}. An agent cannot be renamed.")
        self._catalog.edit(agent)
        return self.describe(name)

    def change(self, name: str, changes: AgentChanges) -> AgentDescription:
        """Change the settings of any agent. Raises NotKept, KeptInFile, AgentError."""
        given = changes.model_dump(exclude_none=True)
        options = self._catalog.get(name).options.model_dump() | given
        self._catalog.set_options(name, AgentOptions(**options))
        return self.describe(name)

    def list(self) -> list[AgentDescription]:
        """Describe all agents, including disabled ones. Raises AgentError if a stored definition is invalid."""
        return [AgentDescription.of(member, self._models) for member in self._catalog.agents().values()]


def _origin(member: CatalogAgent) -> Literal["built-in", "package"]:
    return "built-in" if getattr(member.registered.make, "__module__", "").startswith(_BUILT_IN) else "package"
