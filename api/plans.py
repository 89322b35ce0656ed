"""Saving the plan of a run, to be followed again."""

from __future__ import annotations

from api.bootstrap import Candor
from multi_agent.errors import AgentError
from multi_agent.events import PlanMade, PlanRevised
from multi_agent.plan import Plan


def plan_of(candor: Candor, run_id: str) -> tuple[str, Plan]:
    """The question of a run and the last plan that it followed. Raises RunNotFound; AgentError if it had none."""
    run = candor.trace.run(run_id)
    made = [event.body for event in candor.trace.events(run.run_id) if isinstance(event.body, PlanMade | PlanRevised)]
    if not made:
        raise AgentError(f"Run {run.run_id!r} ended before it had a plan; there is nothing to save.")
    return run.question, made[-1].plan
