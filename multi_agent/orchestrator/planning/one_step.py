"""Plans of a single step, which need no planner: mode ``direct`` and mode ``fast``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from multi_agent.agent import AgentCard
from multi_agent.catalog.registry import AgentRegistry, RegisteredAgent
from multi_agent.errors import AgentError
from multi_agent.orchestrator.planning.validation import ANSWERS
from multi_agent.plan import Plan, Step
from multi_agent.tasks import NoInputs


def direct_plan(registered: RegisteredAgent, question: str) -> Plan:
    """Return a plan with this agent only. Raises AgentError if it needs results of others or inputs from a plan."""
    card = registered.card
    if card.requires:
        raise AgentError(
            f"{card.name} cannot be asked directly: it needs {', '.join(sorted(card.requires))} from other agents. "
            "Ask without naming an agent."
        )
    if not can_be_asked(card):
        raise AgentError(
            f"{card.name} cannot be asked directly: it needs inputs from a plan "
            f"({', '.join(card.inputs.model_fields)}). Its author can set `asked` on its card to provide them."
        )
    return one_step_plan(card, question, "direct")


def one_step_plan(
    card: AgentCard,
    question: str,
    mode: Literal["fast", "direct"],
    queries: Sequence[str] = (),
    documents: Sequence[str] = (),
) -> Plan:
    """Return a plan in which this agent answers the question.

    ``queries`` and ``documents`` are passed on if the agent's inputs have fields of these names.
    """
    given = {"queries": list(queries), "documents": list(documents)}
    inputs: dict[str, Any] = card.asked(question).model_dump(mode="json") if card.asked else {}
    inputs |= {name: value for name, value in given.items() if value and name in card.inputs.model_fields}
    step = Step(
        id="answer", agents=(card.name,), instruction=question, inputs=inputs, final=bool(card.writes & ANSWERS)
    )
    return Plan(goal=question, mode=mode, steps=(step,))


def can_be_asked(card: AgentCard) -> bool:
    """Return whether the agent can answer a question without a planner."""
    return not card.requires and (card.asked is not None or card.inputs is NoInputs)


def fast_agents(registry: AgentRegistry) -> tuple[AgentCard, ...]:
    """Return the agents that can take a question in mode ``fast``: they find the answer without other agents."""
    return tuple(agent.card for agent in registry if can_be_asked(agent.card) and "findings" in agent.card.writes)
