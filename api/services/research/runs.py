"""Runs that a caller may see: find one, list the latest, export an answer."""

from __future__ import annotations

from api.auth.permissions import Caller, record_access
from api.services.exports.export import Export, Format, export
from multi_agent.storage.run_filter import RunFilter
from multi_agent.storage.trace import RunSummary, Trace


def find_run(trace: Trace, run_id: str, caller: Caller) -> RunSummary:
    """Find a run by its id or the beginning of its id.

    Raises RunNotFound, also for a run over a collection that the caller may not read.
    """
    run = trace.run(run_id, among=caller.readable)
    record_access(run.collection)
    return run


def list_runs(trace: Trace, wanted: RunFilter, limit: int, caller: Caller) -> list[RunSummary]:
    """Return the first matching runs, in the wanted order, that the caller may read.

    Raises RunNotFound if the run that the page starts after does not exist.
    """
    return trace.runs(limit, wanted, among=caller.readable)


def export_run(trace: Trace, run_id: str, caller: Caller, form: Format) -> Export:
    """Export a run with its answer as a file.

    Raises RunNotFound, RunUnderWay, and UsageError for a PDF of letters that no font has.
    """
    run = find_run(trace, run_id, caller)
    return export(run, trace.answer(run.run_id), form)
