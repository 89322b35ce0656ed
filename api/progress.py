"""What a client that waits for an answer is told of the way to it: a line for some of the events."""

from __future__ import annotations

from multi_agent.events import Event, PlanMade, PlanRevised, ReasoningShared, StepStarted


def progress(event: Event) -> str:
    """What a person who waits would want to know of an event; nothing of most."""
    match event.body:
        case PlanMade(plan=plan) | PlanRevised(plan=plan):
            return f"Plan: {' → '.join(', '.join(step.agents) for step in plan.steps)}"
        case StepStarted(agent=agent):
            return f"{agent} …"
        case ReasoningShared(agent=agent, reasoning=reasoning):
            return f"{agent}: {' '.join(reasoning.split())}"
        case _:
            return ""
