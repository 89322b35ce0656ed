"""The agents there are, whoever made them: those of packages, with what was chosen for them, and those kept as data.

cast = Cast(AgentRegistry.discover(packages), Roster(engine, home), settings.research, endpoints, tools)
cast.add(CustomAgent(name="Lawyer", …))
cast.registry()       # as the next run has it
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from multi_agent.agent import AgentCard
from multi_agent.agents.reader import Reader
from multi_agent.catalog.entries import SHOWN, Choice, CustomAgent, Skill
from multi_agent.catalog.note_taker import NoteTaker, NoteTakerOutput
from multi_agent.catalog.registry import AgentRegistry, RegisteredAgent
from multi_agent.catalog.store import CatalogStore, Kept
from multi_agent.errors import AgentError, NameTaken, NotKept
from multi_agent.prompt import OpenPrompt, Prompt
from multi_agent.settings import ResearchSettings
from multi_agent.toolbox.registry import ToolRegistry

PromptT = TypeVar("PromptT", bound=Prompt)


@dataclass(frozen=True)
class Member:
    """An agent, and what is known of it beside its card."""

    registered: RegisteredAgent
    choice: Choice
    enabled: bool
    """As it was chosen, if the settings do not disable it."""
    custom: CustomAgent | None = None
    """None for one that comes in a package."""
    file: Path | None = None
    """Where it is kept, if that is a file."""


class AgentCatalog:
    """All agents, for those who list and change them; and the registry that a run is made with."""

    def __init__(
        self,
        found: AgentRegistry,
        roster: CatalogStore,
        settings: ResearchSettings,
        endpoints: Collection[str],
        tools: ToolRegistry,
    ) -> None:
        self._found, self._roster, self._settings = found, roster, settings
        self._endpoints, self._tools = endpoints, tools

    def registry(self) -> AgentRegistry:
        """The agents that plans may use now. Raises AgentError if what is kept cannot be used."""
        members = self.members()
        disabled = {name for name, member in members.items() if not member.enabled}
        return AgentRegistry((member.registered for member in members.values()), disabled)

    def members(self) -> dict[str, Member]:
        """Every agent by name, disabled ones too. Raises AgentError if what is kept cannot be used."""
        skills = {name: kept.value for name, kept in self._roster.skills.items()}
        choices = self._roster.choices
        members = {
            agent.card.name: self._chosen(agent, choices.get(agent.card.name, Choice()), skills)
            for agent in self._found
        }
        for name, kept in self._roster.agents.items():
            if name in members:
                raise AgentError(f"There are two agents {name!r}: a built-in one and that in {kept.file}. Rename it.")
            members[name] = self._described(kept, skills)
        if unknown := sorted(set(self._settings.disabled_agents) - members.keys()):
            AgentRegistry((member.registered for member in members.values()), unknown[:1])  # says which there are
        return dict(sorted(members.items()))

    def member(self, name: str) -> Member:
        """Raises NotKept, naming those there are."""
        members = self.members()
        if name not in members:
            raise NotKept(f"There is no agent {name!r}; there are {', '.join(members)}.")
        return members[name]

    def custom(self, name: str) -> CustomAgent:
        """Raises NotKept; AgentError for a built-in one."""
        custom = self.member(name).custom
        if custom is None:
            raise AgentError(f"{name!r} is a built-in agent: it can be enabled, disabled, and given a model and "
                             "skills; it cannot be edited or removed.")  # fmt: skip
        return custom

    def skills(self) -> dict[str, Kept[Skill]]:
        """By name. Raises AgentError if a file holds none."""
        return dict(sorted(self._roster.skills.items()))

    # Changing them

    def add(self, agent: CustomAgent) -> None:
        """Keep a new agent. Raises NameTaken, AgentError for what it names and is not there."""
        if agent.name in self._found:
            raise NameTaken(f"{agent.name!r} is a built-in agent; take another name.")
        self._check(agent)
        self._roster.save(agent, new=True)

    def edit(self, agent: CustomAgent) -> None:
        """Keep it in place of the one of its name. Raises NotKept, KeptInFile, AgentError as ``add``."""
        self.custom(agent.name)
        self._check(agent)
        self._roster.save(agent)

    def give(self, name: str, choice: Choice) -> None:
        """Let an agent be enabled or not, ask this model, and have these skills. Raises as ``edit``."""
        member = self.member(name)
        self._require(choice.skills, choice.model)
        if choice.enabled and name in self._settings.disabled_agents:
            raise AgentError(f"{name!r} is disabled by the setting `research.disabled_agents`; take it out there.")
        if member.custom:
            self._roster.save(member.custom.model_copy(update=dict(choice)))
            return
        if choice.skills and member.registered.prompt is None:
            raise AgentError(f"{name} asks no model, so no skill is of use to it.")
        if member.registered.make is not Reader and (tools := self._tools_of(choice.skills)):
            raise AgentError(f"{name} works without tools, so a skill with {', '.join(tools)} is of no use to it; give "
                             "it to the Reader, or to an agent that you describe.")  # fmt: skip
        self._roster.choose(name, choice)

    def remove(self, name: str) -> None:
        """Forget a custom agent. Raises NotKept, KeptInFile; AgentError for a built-in one."""
        self.custom(name)
        self._roster.delete(CustomAgent, name)

    def add_skill(self, skill: Skill) -> None:
        """Keep a new skill. Raises NameTaken; UnknownTool for a tool that is not there."""
        self._require_tools(skill.tools)
        self._roster.save(skill, new=True)

    def edit_skill(self, skill: Skill) -> None:
        """Keep it in place of the one of its name. Raises NotKept, KeptInFile, UnknownTool."""
        self.skill(skill.name)
        self._require_tools(skill.tools)
        self._roster.save(skill)

    def skill(self, name: str) -> Kept[Skill]:
        """Raises NotKept, naming those there are."""
        known = self.skills()
        if name not in known:
            raise NotKept(f"There is no skill {name!r}; there are: {', '.join(known) or 'none yet'}.")
        return known[name]

    def remove_skill(self, name: str) -> None:
        """Forget a skill that no agent has. Raises NotKept, KeptInFile, AgentError."""
        self.skill(name)
        if having := [each for each, member in self.members().items() if name in member.choice.skills]:
            raise AgentError(f"The skill {name!r} is given to {', '.join(having)}; take it from them first.")
        self._roster.delete(Skill, name)

    def _check(self, agent: CustomAgent) -> None:
        """Raises AgentError if it names what is not there, or answers and has nothing to quote from."""
        self._require(agent.skills, agent.model)
        self._require_tools(agent.tools)
        tools = (*agent.tools, *self._tools_of(agent.skills))
        if agent.gives == "answer" and not tools and "passages" not in Prompt(agent.name, agent.prompt).placeholders:
            raise AgentError("An answer quotes passages: name $passages in the prompt, or give the agent tools that "
                             "find some, such as search_documents.")  # fmt: skip

    def _tools_of(self, skills: Sequence[str]) -> tuple[str, ...]:
        return tuple(tool for name in skills for tool in self.skill(name).value.tools)

    def _require_tools(self, tools: Sequence[str]) -> None:
        for name in tools:
            self._tools.require(name)

    def _require(self, skills: Sequence[str], model: str) -> None:
        for name in skills:
            self.skill(name)
        if model and model not in self._endpoints:
            known = ", ".join(sorted(self._endpoints)) or "none yet"
            raise AgentError(f"There is no model endpoint {model!r}; there are: {known}. Describe it under "
                             f"[llms.{model}] in candor.toml.")  # fmt: skip

    # Making them

    def _chosen(self, agent: RegisteredAgent, choice: Choice, skills: Mapping[str, Skill]) -> Member:
        enabled = choice.enabled and agent.card.name not in self._settings.disabled_agents
        tools = _with_tools(agent.card.tools, choice.skills, skills)
        card = agent.card.model_copy(update={"model": choice.model or agent.card.model, "tools": tools})
        prompt = _with_skills(agent.prompt, agent.card.name, choice.skills, skills) if agent.prompt else None
        return Member(replace(agent, card=card, prompt=prompt), choice, enabled)

    def _described(self, kept: Kept[CustomAgent], skills: Mapping[str, Skill]) -> Member:
        agent = kept.value
        enabled = agent.enabled and agent.name not in self._settings.disabled_agents
        choice = Choice(enabled=agent.enabled, model=agent.model, skills=agent.skills)
        return Member(registered(agent, skills), choice, enabled, agent, kept.file)


def registered(agent: CustomAgent, skills: Mapping[str, Skill]) -> RegisteredAgent:
    """A described agent as the engine knows agents. Raises AgentError for a skill that is not there."""
    answers = agent.gives == "answer"
    prompt = OpenPrompt(agent.name, agent.prompt)
    card = _reader_card(agent) if answers else _note_taker_card(agent, prompt)
    card = card.model_copy(update={"tools": _with_tools(agent.tools, agent.skills, skills)})
    rules = Prompt.part("custom_answer" if answers else "custom_notes")
    prompt = _with_skills(prompt.with_sections(rules), agent.name, agent.skills, skills)
    make = type(agent.name, (Reader if answers else NoteTaker,), {"card": card})
    return RegisteredAgent(card=card, make=cast(Any, make), prompt=prompt)


def _reader_card(agent: CustomAgent) -> AgentCard:
    """What the Reader's is where it says what goes in and out: so the two can vote on one question."""
    return Reader.card.model_copy(update=_described(agent))


def _note_taker_card(agent: CustomAgent, prompt: Prompt) -> AgentCard:
    reads = frozenset().union(*(SHOWN[name][0] for name in prompt.placeholders))
    return AgentCard(reads=reads, writes=frozenset({"notes"}), outputs=NoteTakerOutput, **_described(agent))


def _described(agent: CustomAgent) -> dict[str, Any]:
    return {
        "name": agent.name,
        "description": agent.description,
        "capabilities": agent.capabilities,
        "model": agent.model,
        "weight": agent.weight,
    }


def _with_tools(own: Sequence[str], names: Sequence[str], skills: Mapping[str, Skill]) -> tuple[str, ...]:
    """The tools of an agent, its skills' among them; what is wrong with a skill, ``_with_skills`` says."""
    return tuple(dict.fromkeys((*own, *(tool for name in names if name in skills for tool in skills[name].tools))))


def _with_skills(prompt: PromptT, whose: str, names: Sequence[str], skills: Mapping[str, Skill]) -> PromptT:
    for name in names:
        if name not in skills:
            raise AgentError(f"The agent {whose} is given the skill {name!r}, which is not there. Take it from the "
                             "agent, or add the skill.")  # fmt: skip
    sections = [Prompt.part("skill", name=name, instructions=skills[name].instructions) for name in names]
    return prompt.with_sections(*sections) if sections else prompt
