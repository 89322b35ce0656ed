"""The outlines of earlier reports."""

from api.auth.permissions import Caller
from api.errors import UsageError
from api.services.research.runs import find_run
from multi_agent.errors import RunNotFound, RunUnderWay
from multi_agent.orchestrator.sections import AGENT
from multi_agent.storage.trace import Trace
from multi_agent.values.events import StepStarted
from multi_agent.values.report import PlannedSection, ReportOptions
from multi_agent.values.request import Request


def outline_of(trace: Trace, run_id: str, caller: Caller) -> tuple[PlannedSection, ...]:
    """Return the outline of a report. Sections that were researched name their runs, which a new report reuses.

    Raises RunNotFound, and UsageError for a run that is no report or ended before it had an outline.
    """
    run, outline = find_run(trace, run_id, caller), dict[str, PlannedSection]()
    for event in trace.events(run.run_id):
        if isinstance(event.body, StepStarted) and event.body.agent == AGENT:
            asked, own = event.body.inputs["question"], event.body.inputs["run"]
            try:
                run_to_reuse = own if trace.answer(own).status.is_result else ""
            except (RunNotFound, RunUnderWay):  # a section without a stored answer is researched again
                run_to_reuse = ""
            outline[event.step] = PlannedSection(title=event.body.instruction, question=asked, run=run_to_reuse)
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
