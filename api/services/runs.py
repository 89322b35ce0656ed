"""Runs as those who ask for them may see them: one by its id, or the latest in a list."""

from __future__ import annotations

from api.auth.permissions import Caller, record_access
from api.bootstrap import Candor
from multi_agent.storage.run_filter import RunFilter
from multi_agent.storage.trace import RunSummary


def find_run(candor: Candor, run_id: str, caller: Caller) -> RunSummary:
    """The run that is meant, if the caller may read its collection. Raises RunNotFound, the same for both."""
    run = candor.trace.run(run_id, among=caller.readable)
    record_access(run.collection)
    return run


def list_runs(candor: Candor, wanted: RunFilter, limit: int, caller: Caller) -> list[RunSummary]:
    """The latest runs that are wanted and that the caller may read. Raises RunNotFound for the one to go on after."""
    return candor.trace.runs(limit, wanted, among=caller.readable)
