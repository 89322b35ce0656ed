"""Saving the plan of a run, to be followed again."""

from __future__ import annotations

from api.bootstrap import Candor
from multi_agent.errors import AgentError, PlanError
from multi_agent.events import PlanMade, PlanRevised
from multi_agent.orchestrator.validation import faults
from multi_agent.plan import Plan


def plan_of(candor: Candor, run_id: str) -> tuple[str, Plan]:
    """The question of a run and the last plan that it followed. Raises RunNotFound; AgentError if it had none."""
    run = candor.trace.run(run_id)
    made = [event.body for event in candor.trace.events(run.run_id) if isinstance(event.body, PlanMade | PlanRevised)]
    if not made:
        raise AgentError(f"Run {run.run_id!r} ended before it had a plan; there is nothing to save.")
    return run.question, made[-1].plan


def require_runnable(candor: Candor, plan: Plan, collection: str | None) -> None:
    """Raises PlanError, naming all its faults, for a plan that cannot be run; CollectionNotFound.

    ``collection`` is the one whose documents it names; without, it may name none.
    """
    documents: list[str] = []
    if collection:
        candor.place_of(collection)
        documents = [document.name for document in candor.ledger.list(collection) if document.chunks]
    if found := faults(plan, candor.registry, documents):
        raise PlanError(f"This plan cannot be run: {' '.join(found)}")
