"""The agents there are, as they are listed; and what can be changed of one."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from api.bootstrap import Candor
from multi_agent.catalog.catalog import CatalogAgent
from multi_agent.catalog.entries import AgentOptions, CustomAgent, SkillName
from multi_agent.orchestrator.direct import can_be_asked
from vectorstore.models import FrozenModel

_BUILT_IN = "multi_agent."


class AgentDescription(FrozenModel):
    """An agent's card, as JSON, and what is known of it beside."""

    name: str
    description: str
    capabilities: tuple[str, ...]
    requires: tuple[str, ...] = Field(description="fields of the context that must be written before it")
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    inputs: dict[str, Any] = Field(description="JSON schema of what the planner gives it")
    outputs: dict[str, Any] = Field(description="JSON schema of what later steps may refer to")
    listens_to: tuple[str, ...] = Field(description="types of events that it may react to")
    direct: bool = Field(description="whether a person can ask it alone, by `agent`; false while it is disabled")
    enabled: bool = Field(description="whether plans may use it")
    origin: Literal["built-in", "package", "custom"] = Field(description="what it is kept as")
    model: str = Field(description="named endpoint that it asks; empty for the default one")
    tools: tuple[str, ...] = Field(description="tools that it may call, those of its skills among them")
    skills: tuple[str, ...] = Field(description="skills that it was given")
    weight: float | None = Field(description="of its vote; null leaves it to the number of votes")
    custom: CustomAgent | None = Field(description="a custom agent in full, as it can be changed")
    file: str = Field(description="the file that holds it, and has to be edited then; mostly empty")

    @classmethod
    def of(cls, member: CatalogAgent, models: dict[str, str]) -> AgentDescription:
        """Its types as schemas, its sets in order; ``models`` are what the settings say."""
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
            direct=can_be_asked(card) and member.enabled,
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
    """What is to be changed of any agent; what is not given stays as it is."""

    enabled: bool | None = Field(default=None, description="whether plans may use it")
    model: str | None = Field(default=None, description="named endpoint that it is to ask; '' for the default one")
    skills: tuple[SkillName, ...] | None = Field(default=None, description="all skills that it is to have")


def list_agents(candor: Candor) -> list[AgentDescription]:
    """All agents, disabled ones too. Raises AgentError if what is kept cannot be used."""
    models = candor.settings.research.agent_models
    return [AgentDescription.of(member, models) for member in candor.agent_catalog.agents().values()]


def describe_agent(candor: Candor, name: str) -> AgentDescription:
    """One agent. Raises NotKept."""
    return AgentDescription.of(candor.agent_catalog.get(name), candor.settings.research.agent_models)


def change_agent(candor: Candor, name: str, changes: AgentChanges) -> AgentDescription:
    """The agent as it is then. Raises NotKept, KeptInFile, AgentError."""
    given = changes.model_dump(exclude_none=True)
    options = candor.agent_catalog.get(name).options.model_dump() | given
    candor.agent_catalog.set_options(name, AgentOptions(**options))
    return describe_agent(candor, name)


def _origin(member: CatalogAgent) -> Literal["built-in", "package"]:
    return "built-in" if getattr(member.registered.make, "__module__", "").startswith(_BUILT_IN) else "package"
