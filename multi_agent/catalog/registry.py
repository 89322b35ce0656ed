"""The agents of a run by name, and their discovery in packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from multi_agent.agent import AgentCard, AgentClass
from multi_agent.discovery import find_classes
from multi_agent.errors import AgentError, UnknownAgent
from multi_agent.prompt import Prompt

BUILT_IN = "multi_agent.agents"


@dataclass(frozen=True)
class RegisteredAgent:
    """An agent's card, class and prompt."""

    card: AgentCard
    make: AgentClass
    prompt: Prompt | None


class AgentRegistry:
    """The agents that a planner can choose from.

    registry = AgentRegistry.discover(["multi_agent.agents", "my_agents.agents"])
    registry.get("Extractor").card.description
    """

    def __init__(self, agents: Iterable[RegisteredAgent] = (), disabled: Iterable[str] = ()) -> None:
        self._agents: dict[str, RegisteredAgent] = {}
        for agent in agents:
            self.register(agent)
        self.left_out: Mapping[str, str] = {}
        self.disabled: frozenset[str] = frozenset()
        for name in frozenset(disabled):
            self._agents.pop(self.get(name).card.name)
        self.disabled = frozenset(disabled)

    @classmethod
    def discover(cls, packages: Iterable[str] = (BUILT_IN,), disabled: Iterable[str] = ()) -> AgentRegistry:
        """Find the agents in these packages, which are the classes with a ``card`` that their modules define.

        Omits ``disabled`` agents, and agents that a person must enable according to their cards. Raises UnknownAgent if
        a disabled agent does not exist, AgentError for a duplicate name.
        """
        found = cls.discover_all(packages)
        return cls(found, {*disabled, *(agent.card.name for agent in found if not agent.card.enabled)})

    @classmethod
    def discover_all(cls, packages: Iterable[str] = (BUILT_IN,)) -> AgentRegistry:
        """Find all agent classes in these packages, enabled or not. Raises AgentError for a duplicate name."""
        return cls(agent for package in packages for agent in _agents_in(package))

    def register(self, agent: RegisteredAgent) -> None:
        """Add an agent. Raises AgentError if its name is taken."""
        if agent.card.name in self._agents:
            raise AgentError(f"Two agents are named {agent.card.name!r}. Rename one of them on its card.")
        self._agents[agent.card.name] = agent

    def without(self, reasons: Mapping[str, str]) -> AgentRegistry:
        """Return a registry without these agents. ``reasons`` maps their names to the reasons."""
        smaller = AgentRegistry(agent for agent in self if agent.card.name not in reasons)
        smaller.disabled, smaller.left_out = self.disabled, {**self.left_out, **reasons}
        return smaller

    def get(self, name: str) -> RegisteredAgent:
        """Return an agent. Raises UnknownAgent."""
        if name in self.left_out:
            raise UnknownAgent(f"The agent {name!r} {self.left_out[name]}")
        if name not in self._agents:
            is_disabled = name in self.disabled
            reason = "is disabled (by a person, or by `research.disabled_agents`)" if is_disabled else "does not exist"
            error = UnknownAgent(f"The agent {name!r} {reason}; there are {', '.join(self.names)}.")
            raise error.with_command(f"`candor agents enable {name}` enables it." if is_disabled else "")
        return self._agents[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all agents, sorted."""
        return tuple(sorted(self._agents))

    def __contains__(self, name: str) -> bool:
        return name in self._agents

    def __iter__(self) -> Iterator[RegisteredAgent]:
        return (self._agents[name] for name in self.names)


def _agents_in(package: str) -> Iterator[RegisteredAgent]:
    for agent in find_classes("agents", package, AgentCard, "research.agent_packages"):
        stem = agent.__module__.rpartition(".")[2]
        yield RegisteredAgent(card=agent.card, make=agent, prompt=Prompt.find(package, stem))
