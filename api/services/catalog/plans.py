"""Use cases for listing, proposing, saving, changing and deleting plans, and exchanging them as files."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field

from api.auth.permissions import LOCAL_CALLER, Caller
from api.errors import usage_errors
from api.services.documents.collections import Collections
from base.models import FrozenModel
from multi_agent.catalog.catalog import AgentCatalog
from multi_agent.errors import AgentError, UnknownPlan
from multi_agent.memory.plans import PlanMemory
from multi_agent.model import LLM
from multi_agent.orchestrator.planning.proposal import Proposal, propose, without_question
from multi_agent.orchestrator.planning.templates import documents_in, require_saveable
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.events import PlanMade, PlanRevised
from multi_agent.values.plan import Plan, PlanExample


class PlanFile(FrozenModel):
    """A saved plan as a file."""

    version: Literal[1] = Field(description="The version of this format.")
    name: str = Field(examples=["weekly"])
    question: str = Field(min_length=1, description="An example question for the plan.")
    plan: Plan

    @classmethod
    def of(cls, saved: PlanExample) -> Self:
        return cls(version=1, name=saved.name, question=saved.question, plan=saved.plan)

    @classmethod
    def parse(cls, text: str, where: str) -> Self:
        """Parse a plan file. Raises UsageError with all faults. ``where`` names the source of the file."""
        with usage_errors(f"{where} is not a valid plan"):
            return cls.model_validate_json(text)

    @property
    def text(self) -> str:
        """The content of the file."""
        return self.model_dump_json(indent=2, exclude_defaults=True) + "\n"


@dataclass(frozen=True, eq=False)
class Plans:
    """The saved plans. ``make_llm`` builds the planner's model. Calls block."""

    memory: PlanMemory
    trace: Trace
    catalog: AgentCatalog
    collections: Collections
    make_llm: Callable[[], LLM]

    def get(self, name: str, caller: Caller = LOCAL_CALLER) -> PlanExample:
        """Return a saved plan. Raises UnknownPlan, even if it exists but the caller may not read its collection."""
        return self.memory.get(name, caller.readable)

    async def propose(self, run_id: str, *, keep_documents: bool = False) -> Proposal:
        """Ask the model for a template of a run's last plan, without saving it.

        Raises RunNotFound, LLMError, and AgentError if the run had no plan.
        """
        plan, run = await asyncio.to_thread(self._plan_of, run_id)
        registry = await asyncio.to_thread(self.catalog.registry)
        proposal = await propose(self.make_llm(), plan, run.question, registry, keep_documents=keep_documents)
        return proposal.model_copy(update={"collection": run.collection})

    def save_from_run(self, name: str, run_id: str, *, keep_documents: bool = False) -> PlanExample:
        """Save the last plan of a run without asking a model.

        Raises RunNotFound, NameTaken, PlanError if the plan contains the run's question, AgentError if it had no plan.
        """
        plan, run = self._plan_of(run_id)
        registry = self.catalog.registry()
        template = without_question(plan, run.question, registry, keep_documents=keep_documents)
        documents = documents_in(plan, registry)
        require_saveable(template, run.question, registry, documents, keep_documents=keep_documents)
        return self._save(name, template, run.question, run.collection)

    def save_proposal(self, name: str, proposal: Proposal, *, keep_documents: bool = False) -> PlanExample:
        """Save a proposed template. Raises PlanError, NameTaken."""
        registry, plan = self.catalog.registry(), proposal.plan
        require_saveable(plan, proposal.question, registry, documents_in(plan, registry), keep_documents=keep_documents)
        return self._save(name, plan, proposal.question, proposal.collection)

    def save(
        self, name: str, plan: Plan, question: str, collection: str | None = None, *, keep_documents: bool = False
    ) -> PlanExample:
        """Save a plan for questions like ``question``. ``collection`` restricts who can see it.

        With ``keep_documents``, the plan may name documents of ``collection``. Raises PlanError with all faults of the
        plan, CollectionNotFound, CollectionMismatch, NameTaken.
        """
        self._require_saveable(plan, question, self._documents_of(collection), keep_documents)
        return self._save(name, plan, question.strip(), collection or "")

    def replace(
        self, name: str, plan: Plan, question: str, collection: str | None = None, *, keep_documents: bool = False
    ) -> PlanExample:
        """Replace a saved plan. The new plan may name the documents of the old one, and keeps its collection.

        Raises UnknownPlan and the errors of ``save``.
        """
        registry = self.catalog.registry()
        kept = documents_in(self.get(name).plan, registry)
        added = set(documents_in(plan, registry)) - set(kept)
        documents = [*kept, *self._documents_of(collection)]
        self._require_saveable(plan, question, documents, keep_documents or not added)
        self.memory.replace(name, plan, question.strip(), collection)
        return self.get(name)

    def put(
        self, name: str, plan: Plan, question: str, collection: str | None = None, *, keep_documents: bool = False
    ) -> tuple[PlanExample, bool]:
        """Replace a saved plan or save a new one. Return the plan and whether it is new. Raises as ``save``."""
        try:
            return self.replace(name, plan, question, collection, keep_documents=keep_documents), False
        except UnknownPlan:
            return self.save(name, plan, question, collection, keep_documents=keep_documents), True

    def delete(self, name: str) -> None:
        """Delete a saved plan. Raises UnknownPlan."""
        self.memory.delete(name)

    def _plan_of(self, run_id: str) -> tuple[Plan, RunSummary]:
        """Return the last plan of a run and the run."""
        run = self.trace.run(run_id)
        events = self.trace.events(run.run_id)
        followed = [event.body for event in events if isinstance(event.body, PlanMade | PlanRevised)]
        if not followed:
            raise AgentError(f"Run {run.run_id!r} ended before it had a plan, so there is nothing to save.")
        return followed[-1].plan, run

    def _require_saveable(self, plan: Plan, question: str, documents: list[str], keep_documents: bool) -> None:
        require_saveable(plan, question, self.catalog.registry(), documents, keep_documents=keep_documents)

    def _documents_of(self, collection: str | None) -> list[str]:
        if not collection:
            return []
        self.collections.alias_of(collection)
        return [entry.name for entry in self.collections.catalogue(collection)]

    def _save(self, name: str, plan: Plan, question: str, collection: str) -> PlanExample:
        self.memory.save(name, plan, question, collection)
        return self.memory.get(name.strip())

    def list(self, caller: Caller = LOCAL_CALLER) -> list[PlanExample]:
        """Return the saved plans, except those of collections that the caller may not read."""
        return list(self.memory.list(caller.readable))
