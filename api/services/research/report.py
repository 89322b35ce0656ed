"""The outlines of reports: proposed by the model, or those of earlier reports."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import date

from api.auth.limits import require_tokens
from api.auth.permissions import Caller
from api.errors import UsageError
from api.services.research.research import PanelFactory
from api.services.research.runs import find_run
from multi_agent.library import Library
from multi_agent.llm.run_llm import RunCalls, RunLLM
from multi_agent.llm.wrappers.budget import BudgetUsage
from multi_agent.orchestrator.planning.document_list import list_documents
from multi_agent.orchestrator.sections import AGENT, propose_outline
from multi_agent.storage.other_calls import OtherCalls
from multi_agent.storage.trace import Trace
from multi_agent.values.events import StepStarted
from multi_agent.values.report import PlannedSection, ReportOptions
from multi_agent.values.request import Request


@dataclass(frozen=True, eq=False)
class Outlines:
    """Proposes and finds outlines."""

    panel: PanelFactory
    calls: OtherCalls

    async def propose(self, library: Library, question: str, caller: Caller) -> tuple[PlannedSection, ...]:
        """Return the outline that the model proposes, for a person to edit. The tokens count for the caller's key.

        Raises LimitReached, LLMError, StoreError.
        """
        await asyncio.to_thread(require_tokens, self.panel.trace, caller)
        most, catalogue = self.panel.settings.research.catalogue_limit, await asyncio.to_thread(library.catalogue)
        documents = await asyncio.to_thread(list_documents, library, catalogue, question, most)
        spent = BudgetUsage()
        try:
            llm = RunLLM(self.panel.planner_model(), RunCalls(spent=spent), "Planner")
            today = str(date.today())  # noqa: DTZ011 - the person's day
            return await propose_outline(llm, question, documents, today)
        finally:
            await asyncio.to_thread(self.calls.add, caller.key, spent.usage)


def outline_of(trace: Trace, run_id: str, caller: Caller) -> tuple[PlannedSection, ...]:
    """Return the outline of a report. Sections that were researched name their runs, which a new report reuses.

    Raises RunNotFound, and UsageError for a run that is no report or ended before it had an outline.
    """
    run, outline = find_run(trace, run_id, caller), dict[str, PlannedSection]()
    for event in trace.events(run.run_id):
        if isinstance(event.body, StepStarted) and event.body.agent == AGENT:
            asked, own = event.body.inputs["question"], event.body.inputs["run"]
            answer = trace.ended_answer(own)
            kept = own if answer and answer.status.is_result else ""
            outline[event.step] = PlannedSection(title=event.body.instruction, question=asked, run=kept)
    if not outline:
        raise UsageError(f"Run {run.run_id!r} has no outline: it is no report, or it ended before it had one.")
    return tuple(outline.values())


def continued(trace: Trace, run_id: str, caller: Caller) -> Request:
    """Return the request of a report that ended, with the runs of its researched sections. Raises as ``outline_of``."""
    outline = outline_of(trace, run_id, caller)
    started = trace.started(find_run(trace, run_id, caller).run_id)
    assert started is not None, "a run with an outline has started"
    options = (started.request.report or ReportOptions()).model_copy(update={"sections": outline})
    return started.request.model_copy(update={"report": options, "fork": None})
