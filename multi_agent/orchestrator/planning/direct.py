"""Plans of mode ``direct``: only the agent named in the request runs."""

from __future__ import annotations

from multi_agent.agent import AgentCard
from multi_agent.catalog.registry import RegisteredAgent
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
    if card.inputs is not NoInputs and card.asked is None:
        raise AgentError(
            f"{card.name} cannot be asked directly: it needs inputs from a plan "
            f"({', '.join(card.inputs.model_fields)}). Its author can set `asked` on its card to provide them."
        )
    inputs = card.asked(question).model_dump(mode="json") if card.asked else {}
    step = Step(
        id="answer",
        agents=(card.name,),
        instruction=question,
        inputs=inputs,
        final=bool(card.writes & ANSWERS),
        why="The person asked this agent.",
    )
    return Plan(goal=question, mode="direct", steps=(step,))


def can_be_asked(card: AgentCard) -> bool:
    """Return whether a person can ask this agent directly."""
    return not card.requires and (card.asked is not None or card.inputs is NoInputs)
