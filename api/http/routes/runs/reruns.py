"""Replays, forks and comparisons of runs."""

import asyncio
from contextlib import nullcontext
from functools import partial
from typing import Annotated

from fastapi import Body, Path

from api.http.deps import CandorDep, CurrentCaller, IdempotencyKey, PartsDep
from api.http.errors import problem_responses
from api.http.router import make_router
from api.http.routes.runs.research import Accepted
from api.http.routes.runs.runs import RunId
from api.services.documents.collection_pool import CollectionPool
from api.services.research.compare import RunComparison, compare_runs
from api.services.research.replay import OpenLibrary, fork_request, replay_run, step_options
from multi_agent.orchestrator.rerun.forking import ForkOptions
from multi_agent.orchestrator.rerun.replay import Replay
from multi_agent.values.request import ForkChange

router = make_router(prefix="/v1/runs", tags=["runs"])


@router.post("/{run_id}/replay", responses=problem_responses(404, 409, 503))
async def replay(candor: CandorDep, parts: PartsDep, caller: CurrentCaller, run_id: RunId) -> Replay:
    """Repeat a run from its journal. Returns the first event that differs, with its cause.

    Calls no model, no tool and no web page, and stores nothing. The documents are searched again, with the settings of
    the run. One replay runs at a time.
    """
    replaying = partial(replay_run, candor.panel, _opener(parts.pool), run_id, caller)
    async with parts.replays:  # in a loop of its own, so that it does not delay other requests
        return await asyncio.to_thread(lambda: asyncio.run(replaying()))


@router.get("/{run_id}/comparison/{other}", responses=problem_responses(404, 409, 503))
def comparison(
    candor: CandorDep,
    caller: CurrentCaller,
    run_id: RunId,
    other: Annotated[
        str, Path(description="Id of the second run, or the beginning of the id.", examples=["run_9c41aa07b3d2"])
    ],
) -> RunComparison:
    """Compare the plans, queries, passages, evidence, claims and costs of two runs, and their first difference."""
    return compare_runs(candor.trace, run_id, other, caller)


def _opener(pool: CollectionPool) -> OpenLibrary:
    return lambda name: nullcontext(pool.library(name))


@router.get("/{run_id}/steps/{step}/fork", responses=problem_responses(404, 409, 422, 503))
def fork_options(
    candor: CandorDep,
    caller: CurrentCaller,
    run_id: RunId,
    step: Annotated[str, Path(description="Id of the step.", examples=["answer"])],
) -> ForkOptions:
    """Get the plan, the prompts and the evidence that a fork from a step can change."""
    return step_options(candor.panel, run_id, step, caller)


@router.post("/{run_id}/fork", status_code=202, responses=problem_responses(404, 409, 422, 503))
async def fork(
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    run_id: RunId,
    body: Annotated[ForkChange, Body(examples=[{"step": "answer", "model": "large"}])],
    idempotency_key: IdempotencyKey = None,
) -> Accepted:
    """Start a run that repeats this run up to a step and continues with a change.

    The steps before it come from the journal and cost nothing. `forked_from` and `forked_at` of the new run name its
    origin. `GET /v1/runs/{run_id}/steps/{step}/fork` returns the plan, prompts and evidence that can be changed.
    """
    collection, request = await asyncio.to_thread(fork_request, candor.panel, _opener(parts.pool), run_id, body, caller)
    return Accepted(run_id=await parts.runs.start(request, collection, caller, idempotency_key))
