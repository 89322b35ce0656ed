"""What a client that waits for an answer is told of the way to it: a line for some of the events."""

from __future__ import annotations

from multi_agent.events import ClaimDrafted, DraftWithdrawn, Event, PlanMade, PlanRevised, ReasoningShared, StepStarted


def progress(event: Event) -> str:
    """What a person who waits would want to know of an event; nothing of most."""
    match event.body:
        case PlanMade(plan=plan) | PlanRevised(plan=plan):
            return f"Plan: {' → '.join(', '.join(step.agents) for step in plan.steps)}"
        case StepStarted(agent=agent):
            return f"{agent} …"
        case ReasoningShared(agent=agent, reasoning=reasoning):
            return f"{agent}: {' '.join(reasoning.split())}"
        case ClaimDrafted(claim=claim):
            return f"{'Claim' if claim.supported else 'Unsupported claim'}: {claim.text}"
        case DraftWithdrawn():
            return "The claims so far are withdrawn; the answer is written anew."
        case _:
            return ""
