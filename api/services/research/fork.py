"""Forks, which are runs that repeat another run up to a step and continue with a change."""

from __future__ import annotations

from pydantic import Field, JsonValue

from api.auth.permissions import Caller
from api.errors import UsageError
from api.services.research.runs import find_run
from multi_agent.errors import RunUnderWay
from multi_agent.orchestrator.rerun.forking import origin_events
from multi_agent.request import LONGEST, Fork, Request
from multi_agent.storage.trace import Trace
from vectorstore.models import FrozenModel


class ForkChange(FrozenModel):
    """The step from which a run is repeated, and the changes."""

    step: str = Field(min_length=1, max_length=64, description="Id of the first step that is repeated.")
    model: str = Field(default="", description="Named model endpoint for the step.")
    instruction: str | None = Field(default=None, max_length=LONGEST, description="New instruction for the step.")
    inputs: dict[str, JsonValue] = Field(default={}, description="New values of inputs of the step.")


def fork_request(trace: Trace, run_id: str, change: ForkChange, caller: Caller) -> tuple[str, Request]:
    """Return the collection and the request of a fork. The original run stays unchanged.

    Raises RunNotFound, RunUnderWay; AgentError if the run did not reach the step, UsageError if it never started.
    """
    run = find_run(trace, run_id, caller)
    if not run.ended:
        raise RunUnderWay(f"Run {run.run_id!r} has not ended. Wait for its end, or cancel it, to fork it.")
    started = trace.started(run.run_id)
    if started is None:
        raise UsageError(f"Run {run.run_id!r} ended before it started, so there is nothing to fork. Ask again.")
    fork = Fork(run_id=run.run_id, **change.model_dump())
    origin_events(trace, fork)
    return run.collection, started.request.model_copy(update={"fork": fork})
