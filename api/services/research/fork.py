"""Forks, which are runs that repeat another run up to a step and continue with a change."""

from __future__ import annotations

from api.auth.permissions import Caller
from api.errors import UsageError
from api.services.research.replay import OpenLibrary
from api.services.research.research import PanelFactory
from api.services.research.runs import find_run
from multi_agent.errors import RunUnderWay
from multi_agent.orchestrator.rerun.forking import ForkOptions, fork_options, require_possible
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.request import Fork, ForkChange, Request


def fork_request(
    panel: PanelFactory, open_library: OpenLibrary, run_id: str, change: ForkChange, caller: Caller
) -> tuple[str, Request]:
    """Return the collection and the request of a fork. The original run stays unchanged.

    Raises RunNotFound, RunUnderWay, StoreError; AgentError or PlanError if the change is not possible, and UsageError
    if the run never started.
    """
    run = _ended_run(panel.trace, run_id, caller)
    started = panel.trace.started(run.run_id)
    if started is None:
        raise UsageError(f"Run {run.run_id!r} ended before it started, so there is nothing to fork. Ask again.")
    fork = Fork(run_id=run.run_id, **dict(change))
    with open_library(run.collection) as library:
        documents = [entry.name for entry in library.catalogue()]
    require_possible(panel.trace, panel.catalog.registry(), documents, fork)
    return run.collection, started.request.model_copy(update={"fork": fork})


def step_options(panel: PanelFactory, run_id: str, step: str, caller: Caller) -> ForkOptions:
    """Return what a fork from this step can change. Raises RunNotFound, RunUnderWay, AgentError."""
    run = _ended_run(panel.trace, run_id, caller)
    return fork_options(panel.trace, panel.catalog.registry(), run.run_id, step)


def _ended_run(trace: Trace, run_id: str, caller: Caller) -> RunSummary:
    run = find_run(trace, run_id, caller)
    if not run.ended:
        raise RunUnderWay(f"Run {run.run_id!r} has not ended. Wait for its end, or cancel it, to fork it.")
    return run
