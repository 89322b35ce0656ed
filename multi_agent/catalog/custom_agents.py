"""Builds agents from catalog entries, with a card, a class, and a prompt with a section for each skill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from multi_agent.agent import AgentCard
from multi_agent.agents.reader import Reader
from multi_agent.catalog.entries import CustomAgent, Skill
from multi_agent.catalog.findings_agent import FINDINGS, FindingsAgent
from multi_agent.catalog.notes_agent import NotesAgent, NotesOutput
from multi_agent.catalog.placeholders import PLACEHOLDERS
from multi_agent.catalog.registry import RegisteredAgent
from multi_agent.errors import AgentError
from multi_agent.prompt import OpenPrompt, Prompt

PromptT = TypeVar("PromptT", bound=Prompt)


def build_agent(agent: CustomAgent, skills: Mapping[str, Skill]) -> RegisteredAgent:
    """Build a custom agent. Raises AgentError for a skill that does not exist."""
    answers = agent.gives == "answer"
    prompt = OpenPrompt(agent.name, agent.prompt)
    base: type[Any]
    tools = add_tools(agent.tools, agent.skills, skills)
    card = _reader_card(agent) if answers else _notes_card(agent, prompt)
    card = card.model_copy(update={"tools": tools, "skills": agent.skills})
    if answers:
        base, rules = Reader, "custom_answer"
    elif tools:
        base, rules = FindingsAgent, "custom_findings"
        card = card.model_copy(update={"writes": FINDINGS})
    else:
        base, rules = NotesAgent, "custom_notes"
    prompt = add_skills(prompt.with_sections(Prompt.part(rules)), agent.name, agent.skills, skills)
    make = type(agent.name, (base,), {"card": card})
    return RegisteredAgent(card=card, make=cast(Any, make), prompt=prompt)


def add_tools(own: Sequence[str], names: Sequence[str], skills: Mapping[str, Skill]) -> tuple[str, ...]:
    """Return the tools of an agent and of its skills. Skips unknown skills, which ``add_skills`` reports."""
    return tuple(dict.fromkeys((*own, *(tool for name in names if name in skills for tool in skills[name].tools))))


def add_skills(prompt: PromptT, agent: str, names: Sequence[str], skills: Mapping[str, Skill]) -> PromptT:
    """Return the prompt with a section for each skill. Raises AgentError for a skill that does not exist."""
    for name in names:
        if name not in skills:
            raise AgentError(
                f"The agent {agent} uses the skill {name!r}, which does not exist. Add the skill, or remove it from "
                "the agent."
            )
    sections = [Prompt.part("skill", name=name, instructions=skills[name].instructions) for name in names]
    return prompt.with_sections(*sections) if sections else prompt


def _reader_card(agent: CustomAgent) -> AgentCard:
    """Return the Reader's card with the agent's description. Inputs and outputs are the same, so both can vote."""
    return Reader.card.model_copy(update=_described(agent))


def _notes_card(agent: CustomAgent, prompt: Prompt) -> AgentCard:
    reads = frozenset().union(*(PLACEHOLDERS[name].reads for name in prompt.placeholders))
    return AgentCard(reads=reads, writes=frozenset({"notes"}), outputs=NotesOutput, **_described(agent))


def _described(agent: CustomAgent) -> dict[str, Any]:
    return {
        "name": agent.name,
        "description": agent.description,
        "capabilities": agent.capabilities,
        "model": agent.model,
        "weight": agent.weight,
        "reads_memory": agent.reads_memory,
        "listens_to": frozenset(agent.listens_to),
    }
