"""Progress lines of a run, for clients that wait for its answer."""

from __future__ import annotations

from multi_agent.values.events import Event, PlanMade, PlanRevised, QuestionCompleted, ReasoningShared, StepStarted
from multi_agent.values.evidence_events import ClaimDrafted, DraftWithdrawn


def progress(event: Event) -> str:
    """Return a progress line for an event. Most events have none and return an empty string."""
    match event.body:
        case QuestionCompleted(asked=asked, question=question) if asked != question:
            return f"Question: {question}"
        case PlanMade(plan=plan) | PlanRevised(plan=plan):
            return f"Plan: {' → '.join(', '.join(step.agents) for step in plan.steps)}"
        case StepStarted(agent=agent):
            return f"{agent} …"
        case ReasoningShared(agent=agent, reasoning=reasoning):
            return f"{agent}: {' '.join(reasoning.split())}"
        case ClaimDrafted(claim=claim):
            return f"{'Claim' if claim.stands else f'{claim.remark.capitalize()} claim'}: {claim.text}"
        case DraftWithdrawn():
            return "The claims so far are withdrawn. The answer is written again."
        case _:
            return ""
