"""Mode ``direct``: the person names an agent, and only that agent runs."""

from __future__ import annotations

from multi_agent.agent import AgentCard
from multi_agent.catalog.registry import RegisteredAgent
from multi_agent.errors import AgentError
from multi_agent.orchestrator.validation import ANSWERS
from multi_agent.plan import Plan, Step
from multi_agent.tasks import NoInputs


def direct_plan(registered: RegisteredAgent, question: str) -> Plan:
    """A plan of that agent alone. Raises AgentError if it works only on what others have found."""
    card = registered.card
    if card.requires:
        raise AgentError(
            f"{card.name} cannot be asked directly: it works on {', '.join(sorted(card.requires))}, which other agents "
            "have to find first. Ask without naming an agent."
        )
    if card.inputs is not NoInputs and card.asked is None:
        raise AgentError(
            f"{card.name} cannot be asked directly: it needs inputs that only a plan gives "
            f"({', '.join(card.inputs.model_fields)}). Its author can say on its card (`asked`) what they are then."
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
    """Whether a person can ask it alone."""
    return not card.requires and (card.asked is not None or card.inputs is NoInputs)
