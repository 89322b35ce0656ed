"""Plans of a single step for the modes ``direct`` and ``fast``, which need no planner."""

from collections.abc import Collection, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from multi_agent.agent import AgentCard
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import AgentError
from multi_agent.orchestrator.planning.validation import ANSWERS
from multi_agent.values.plan import Plan, Step
from multi_agent.values.tasks import NoInputs

ALL = "@all"
"""A placeholder for the names of all agents that can answer alone."""


def direct_plan(names: Sequence[str], question: str, registry: AgentRegistry) -> Plan:
    """Return a plan in which these agents answer the question. A vote compares the answers of several agents.

    Raises UnknownAgent, and AgentError if an agent needs results of other agents or inputs from a plan, or if one of
    several agents gives no answer that can be compared.
    """
    able = fast_agents(registry)
    named = dict.fromkeys(other for name in names for other in ([c.name for c in able] if name == ALL else [name]))
    cards = [registry.get(name).card for name in named]
    if not cards:
        raise AgentError(f"No enabled agent can answer alone, so {ALL} is empty. Enable an agent, such as the Reader.")
    for card in cards:
        _require_alone(card)
        if len(cards) > 1 and card not in able:
            choice = ", ".join(each.name for each in able)
            raise AgentError(f"{card.name} gives no answer that can be compared. Agents that do: {choice}.")
    if closing := cards[0].closing:
        inputs = cards[0].asked(question) if cards[0].asked else NoInputs()
        return two_step_plan(cards[0], inputs, question, registry, mode="direct", instruction=closing)
    return one_step_plan(cards, question, "direct")


def _require_alone(card: AgentCard) -> None:
    """Raise AgentError if the agent needs results of other agents or inputs from a plan."""
    if card.requires:
        raise AgentError(
            f"{card.name} cannot be asked directly, because it needs {', '.join(sorted(card.requires))} from other "
            "agents. Ask without naming an agent."
        )
    if not can_be_asked(card):
        raise AgentError(
            f"{card.name} cannot be asked directly, because it needs inputs from a plan "
            f"({', '.join(card.inputs.model_fields)}). Its author can set `asked` on its card to provide them."
        )


def one_step_plan(
    cards: Sequence[AgentCard],
    question: str,
    mode: Literal["fast", "direct"],
    queries: Sequence[str] = (),
    documents: Sequence[str] = (),
) -> Plan:
    """Return a plan in which these agents answer the question.

    ``queries`` and ``documents`` are passed to agents whose inputs have fields for them.
    """
    given = {"queries": list(queries), "related_queries": list(queries), "documents": list(documents)}
    inputs: dict[str, Any] = {}
    for card in cards:
        inputs |= card.asked(question).model_dump(mode="json") if card.asked else {}
        inputs |= {name: value for name, value in given.items() if value and name in card.inputs.model_fields}
    answers = any(card.writes & ANSWERS for card in cards)
    agents = tuple(card.name for card in cards)
    step = Step(id="answer", agents=agents, instruction=question, inputs=inputs, final=answers)
    return Plan(goal=question, mode=mode, steps=(step,))


def two_step_plan(
    card: AgentCard,
    inputs: BaseModel,
    question: str,
    registry: AgentRegistry,
    *,
    mode: Literal["fast", "direct"] = "fast",
    instruction: str = "",
) -> Plan:
    """Return a plan in which an agent looks something up or reads, and another one answers from it.

    ``instruction`` is that of the answer, by default the question. Raises AgentError if no agent writes answers.
    """
    writer = next((agent.card.name for agent in registry if "synthesis" in agent.card.writes), "")
    if not writer:
        raise AgentError(f"{card.name} needs an agent that writes the answer. Enable the Synthesizer.")
    look = Step(id="look_up", agents=(card.name,), instruction="", inputs=inputs.model_dump(mode="json"))
    answer = Step(id="answer", agents=(writer,), instruction=instruction or question, needs=(look.id,), final=True)
    return Plan(goal=question, mode=mode, steps=(look, answer))


def lookup_agents(registry: AgentRegistry) -> tuple[AgentCard, ...]:
    """Return the agents that look things up in a run with documents, if there is one that writes an answer."""
    can_answer = any("synthesis" in agent.card.writes for agent in registry)
    return tuple(agent.card for agent in registry if agent.card.lookup) if can_answer else ()


def can_be_asked(card: AgentCard) -> bool:
    """Return whether the agent can answer a question without a planner."""
    needs_none = card.inputs is NoInputs or not card.planned_inputs
    return not card.requires and (card.asked is not None or needs_none)


def answers_alone(card: AgentCard) -> bool:
    """Return whether a person can talk to the agent: it can be asked and writes findings or notes.

    Others only prepare the work of further agents, or draw their findings together.
    """
    return can_be_asked(card) and bool(card.closing or card.writes & {"findings", "notes"})


def fast_agents(registry: AgentRegistry, barred: Collection[str] = ()) -> tuple[AgentCard, ...]:
    """Return the agents for mode ``fast`` except ``barred`` ones. They find the answer without other agents."""
    cards = (agent.card for agent in registry if agent.card.name not in barred)
    return tuple(card for card in cards if can_be_asked(card) and _finds(card))


def _finds(card: AgentCard) -> bool:
    """Return whether the agent answers from its own findings, in the documents or with its tools."""
    return "findings" in card.writes or bool(card.tools and card.writes & {"synthesis", "evidence", "notes"})
