"""Runs as those who ask for them may see them: one by its id, or the latest in a list."""

from __future__ import annotations

from api.access import EVERYTHING, Caller, Right
from api.bootstrap import Candor
from multi_agent.errors import RunNotFound
from multi_agent.tracing.listing import RunFilter
from multi_agent.tracing.trace import RunSummary


def find_run(candor: Candor, run_id: str, caller: Caller) -> RunSummary:
    """The run that is meant, if the caller may read its collection. Raises RunNotFound, the same for both."""
    run = candor.trace.run(run_id)
    if not caller.may(Right.READ, run.collection):
        raise RunNotFound(f"There is no run {run_id!r}; `candor runs` lists those there are.")
    return run


def list_runs(candor: Candor, wanted: RunFilter, limit: int, caller: Caller) -> list[RunSummary]:
    """The latest runs that are wanted and that the caller may read. Raises RunNotFound for the one to go on after."""
    if wanted.after is not None:
        find_run(candor, wanted.after, caller)
    readable = None if caller.may(Right.READ, EVERYTHING) else set(caller.rights)
    return candor.trace.runs(limit, wanted, among=readable)
