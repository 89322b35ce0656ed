"""Saved plans: list, save, check and delete them."""

from __future__ import annotations

from api.services.collections import Collections
from multi_agent.catalog.catalog import AgentCatalog
from multi_agent.errors import AgentError, PlanError
from multi_agent.events import PlanMade, PlanRevised
from multi_agent.memory.plans import PlanMemory
from multi_agent.orchestrator.planning.validation import faults
from multi_agent.plan import Plan, PlanExample
from multi_agent.storage.trace import Trace


class Plans:
    """Plans saved under a name. Calls block."""

    def __init__(self, memory: PlanMemory, trace: Trace, catalog: AgentCatalog, collections: Collections) -> None:
        self._memory, self._trace, self._catalog, self._collections = memory, trace, catalog, collections

    def save_from_run(self, name: str, run_id: str) -> PlanExample:
        """Save the last plan of a run. Raises RunNotFound, NameTaken; AgentError if the run had no plan."""
        run = self._trace.run(run_id)
        events = self._trace.events(run.run_id)
        followed = [event.body for event in events if isinstance(event.body, PlanMade | PlanRevised)]
        if not followed:
            raise AgentError(f"Run {run.run_id!r} ended before it had a plan; there is nothing to save.")
        return self._save(name, followed[-1].plan, run.question)

    def save(self, name: str, plan: Plan, question: str, collection: str | None) -> PlanExample:
        """Save a plan for questions like ``question``.

        ``collection`` is the one whose documents the plan names; a plan without it can name no documents. Raises
        PlanError with all faults of the plan, CollectionNotFound, CollectionMismatch, NameTaken.
        """
        documents: list[str] = []
        if collection:
            self._collections.alias_of(collection)
            documents = [entry.name for entry in self._collections.catalogue(collection)]
        if found := faults(plan, self._catalog.registry(), documents):
            raise PlanError(f"Invalid plan: {' '.join(found)}")
        return self._save(name, plan, question.strip())

    def delete(self, name: str) -> None:
        """Delete a saved plan. Raises UnknownPlan."""
        self._memory.delete(name)

    def _save(self, name: str, plan: Plan, question: str) -> PlanExample:
        self._memory.save(name, plan, question)
        return self._memory.get(name.strip())

    def list(self) -> list[PlanExample]:
        """Return the saved plans."""
        return list(self._memory.list())
