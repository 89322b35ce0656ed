"""The catalog of agents and skills. Lists and changes them, and builds the registry of a run.

catalog = AgentCatalog(AgentRegistry.discover_all(packages), CatalogStore(engine, home), settings, endpoints, toolbox)
catalog.add(CustomAgent(name="Lawyer", …))
catalog.registry()
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from multi_agent.agents.reader import Reader
from multi_agent.catalog.custom_agents import add_skills, add_tools, build_agent
from multi_agent.catalog.entries import AgentOptions, CustomAgent, Skill
from multi_agent.catalog.registry import AgentRegistry, RegisteredAgent
from multi_agent.catalog.store import CatalogStore, Stored
from multi_agent.catalog.tool_steps import tool_step
from multi_agent.errors import AgentError, NameTaken, NotKept, ToolServerFailed
from multi_agent.prompt import Prompt
from multi_agent.settings.research import ResearchSettings
from multi_agent.toolbox.toolbox import Toolbox

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CatalogAgent:
    """An agent with its options."""

    registered: RegisteredAgent
    options: AgentOptions
    enabled: bool
    """False if the options of the agent or the settings disable it."""
    custom: CustomAgent | None = None
    """The definition of a custom agent. None for an agent of a package."""
    file: Path | None = None
    """The file that defines the agent. None if a package or the database defines it."""


class AgentCatalog:
    """All agents and skills. Changes take effect in the next run."""

    def __init__(
        self,
        discovered: AgentRegistry,
        store: CatalogStore,
        settings: ResearchSettings,
        endpoints: Collection[str],
        toolbox: Toolbox,
    ) -> None:
        self._discovered, self._store, self._settings = discovered, store, settings
        self._endpoints, self._toolbox, self._tools = endpoints, toolbox, toolbox.registry

    def registry(self) -> AgentRegistry:
        """Return the enabled agents, and the tools that plans may call. Leaves out the tools of a server that fails.

        Raises AgentError for an invalid file or a duplicate name, and UnknownTool.
        """
        agents = self.agents()
        disabled = {name for name, agent in agents.items() if not agent.enabled}
        steps, failed = self._tool_steps()
        return AgentRegistry((*(agent.registered for agent in agents.values()), *steps), disabled).without(failed)

    def _tool_steps(self) -> tuple[list[RegisteredAgent], dict[str, str]]:
        """Return the tools that plans may call as agents, and why others cannot be called."""
        steps: list[RegisteredAgent] = []
        failed = {}
        for name in self._settings.plan_tools:
            try:
                steps += map(tool_step, self._toolbox.cards(name))
            except ToolServerFailed as error:
                failed[name] = f"cannot be called by plans. {error}"
                log.warning("Plans cannot call the tool %s: %s", name, error)
        return steps, failed

    def agents(self) -> dict[str, CatalogAgent]:
        """Return every agent by name, including disabled ones. Raises AgentError like ``registry``."""
        skills = {name: stored.value for name, stored in self._store.skills.items()}
        options = self._store.options
        agents = {
            agent.card.name: self._with_options(
                agent, options.get(agent.card.name, AgentOptions(enabled=agent.card.enabled)), skills
            )
            for agent in self._discovered
        }
        for name, stored in self._store.agents.items():
            if name in agents:
                raise AgentError(
                    f"Two agents are named {name!r}: a built-in one and the one in {stored.file}. Rename yours."
                )
            agents[name] = self._from_custom(stored, skills)
        if unknown := sorted({*self._settings.disabled_agents, *self._settings.agent_weights} - agents.keys()):
            AgentRegistry((agent.registered for agent in agents.values()), unknown[:1])  # raises with all known names
        return {name: self._weighted(agent) for name, agent in sorted(agents.items())}

    def get(self, name: str) -> CatalogAgent:
        """Return an agent. Raises NotKept."""
        agents = self.agents()
        if name not in agents:
            raise NotKept(f"There is no agent {name!r}. The agents are {', '.join(agents)}.")
        return agents[name]

    def get_custom(self, name: str) -> CustomAgent:
        """Return a custom agent. Raises NotKept, and AgentError for a built-in one."""
        custom = self.get(name).custom
        if custom is None:
            raise AgentError(
                f"{name!r} is a built-in agent. You can enable it, disable it, and set its model and skills, but not "
                "edit or remove it."
            )
        return custom

    # Changing agents

    def add(self, agent: CustomAgent) -> None:
        """Add a custom agent. Raises NameTaken, and AgentError if it names an unknown skill, tool or model."""
        if agent.name in self._discovered:
            raise NameTaken(f"{agent.name!r} is a built-in agent. Choose another name.")
        self._validate(agent)
        self._store.save(agent, new=True)

    def edit(self, agent: CustomAgent) -> None:
        """Replace the custom agent of the same name. Raises NotKept, KeptInFile, and AgentError like ``add``."""
        self.get_custom(agent.name)
        self._validate(agent)
        self._store.save(agent)

    def set_options(self, name: str, options: AgentOptions) -> None:
        """Enable or disable an agent and set its model and skills. Raises the same errors as ``edit``."""
        agent = self.get(name)
        self._require(options.skills, options.model)
        if options.enabled and name in self._settings.disabled_agents:
            raise AgentError(
                f"{name!r} is disabled by the setting `research.disabled_agents`. Remove it from that setting."
            )
        if agent.custom:
            self._store.save(agent.custom.model_copy(update=dict(options)))
            return
        if options.skills and agent.registered.prompt is None:
            raise AgentError(f"{name} calls no model, so it cannot use skills.")
        uses_tools = agent.registered.make is Reader or agent.registered.card.tools
        if not uses_tools and (tools := self._tools_of(options.skills)):
            raise AgentError(
                f"{name} works without tools, so it cannot use a skill with {', '.join(tools)}. Give the skill to the "
                "Reader or to a custom agent."
            )
        self._store.save_options(name, options)

    def remove(self, name: str) -> None:
        """Remove a custom agent. Raises NotKept, KeptInFile, and AgentError for a built-in one."""
        self.get_custom(name)
        self._store.delete(CustomAgent, name)

    # Skills

    def skills(self) -> dict[str, Stored[Skill]]:
        """Return all skills by name. Raises AgentError for an invalid file."""
        return dict(sorted(self._store.skills.items()))

    def get_skill(self, name: str) -> Stored[Skill]:
        """Return a skill. Raises NotKept."""
        known = self.skills()
        if name not in known:
            raise NotKept(f"There is no skill {name!r}. The skills are: {', '.join(known) or 'none yet'}.")
        return known[name]

    def add_skill(self, skill: Skill) -> None:
        """Add a skill. Raises NameTaken, UnknownTool."""
        self._require_tools(skill.tools)
        self._store.save(skill, new=True)

    def edit_skill(self, skill: Skill) -> None:
        """Replace the skill of the same name. Raises NotKept, KeptInFile, UnknownTool."""
        self.get_skill(skill.name)
        self._require_tools(skill.tools)
        self._store.save(skill)

    def remove_skill(self, name: str) -> None:
        """Remove a skill. Raises NotKept, KeptInFile, and AgentError if an agent uses it."""
        self.get_skill(name)
        if users := [each for each, agent in self.agents().items() if name in agent.options.skills]:
            raise AgentError(f"The skill {name!r} is used by {', '.join(users)}. Remove it from them first.")
        self._store.delete(Skill, name)

    # Validation

    def _validate(self, agent: CustomAgent) -> None:
        self._require(agent.skills, agent.model)
        self._require_tools(agent.tools)
        self._require_agents(agent)
        tools = (*agent.tools, *self._tools_of(agent.skills))
        if agent.gives == "answer" and not tools and "passages" not in Prompt(agent.name, agent.prompt).placeholders:
            raise AgentError(
                "An answer quotes passages. Use $passages in the prompt, or give the agent a tool that finds passages, "
                "such as search_documents."
            )

    def _require_agents(self, listener: CustomAgent) -> None:
        known = {*self.agents(), listener.name}
        for entry in listener.listens_to:
            _, _, name = entry.partition(":")
            if name and name not in known:
                raise AgentError(
                    f"{listener.name} listens to {entry!r}, but there is no agent {name!r}. The agents are "
                    f"{', '.join(sorted(known))}."
                )

    def _tools_of(self, skills: Sequence[str]) -> tuple[str, ...]:
        return tuple(tool for name in skills for tool in self.get_skill(name).value.tools)

    def _require_tools(self, tools: Sequence[str]) -> None:
        for name in tools:
            self._tools.require(name)

    def _require(self, skills: Sequence[str], model: str) -> None:
        for name in skills:
            self.get_skill(name)
        if model and model not in self._endpoints:
            known = ", ".join(sorted(self._endpoints)) or "none yet"
            raise AgentError(
                f"There is no model endpoint {model!r}. Endpoints: {known}. Add it under [llms.{model}] in candor.toml."
            )

    # Building agents

    def _with_options(self, agent: RegisteredAgent, options: AgentOptions, skills: Mapping[str, Skill]) -> CatalogAgent:
        enabled = options.enabled and agent.card.name not in self._settings.disabled_agents
        tools = add_tools(agent.card.tools, options.skills, skills)
        card = agent.card.model_copy(
            update={"model": options.model or agent.card.model, "tools": tools, "skills": options.skills}
        )
        prompt = add_skills(agent.prompt, agent.card.name, options.skills, skills) if agent.prompt else None
        return CatalogAgent(replace(agent, card=card, prompt=prompt), options, enabled)

    def _weighted(self, agent: CatalogAgent) -> CatalogAgent:
        """Return the agent with the weight from the settings, if they set one."""
        card = agent.registered.card
        weight = self._settings.agent_weights.get(card.name, card.weight)
        return replace(agent, registered=replace(agent.registered, card=card.model_copy(update={"weight": weight})))

    def _from_custom(self, stored: Stored[CustomAgent], skills: Mapping[str, Skill]) -> CatalogAgent:
        agent = stored.value
        enabled = agent.enabled and agent.name not in self._settings.disabled_agents
        options = AgentOptions(enabled=agent.enabled, model=agent.model, skills=agent.skills)
        return CatalogAgent(build_agent(agent, skills), options, enabled, agent, stored.file)
