"""Runs as those who ask for them may see them."""

from __future__ import annotations

from api.access import Caller, Right
from api.bootstrap import Candor
from multi_agent.errors import RunNotFound
from multi_agent.tracing.trace import RunSummary


def find_run(candor: Candor, run_id: str, caller: Caller) -> RunSummary:
    """The run that is meant, if the caller may read its collection. Raises RunNotFound, the same for both."""
    run = candor.trace.run(run_id)
    if not caller.may(Right.READ, run.collection):
        raise RunNotFound(f"There is no run {run_id!r}; `candor runs` lists those there are.")
    return run
