"""Runs: what was asked, what happened, and what is happening."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import Field, TypeAdapter

from api.auth.permissions import Right
from api.http.deps import CurrentCaller, Served
from api.http.errors import problems
from api.http.sse import EVENT_STREAM, LAST, event_stream
from api.services.runs import find_run, list_runs
from multi_agent.answer import Answer
from multi_agent.events import Event
from multi_agent.llm.journal import JournalEntry
from multi_agent.storage.run_filter import RunFilter
from multi_agent.storage.trace import RunSummary
from vectorstore.models import FrozenModel

router = APIRouter(prefix="/v1/runs", tags=["runs"])

RunId = Annotated[str, Path(description="The run's id, or the beginning of it.", examples=["run_d65459f7e628"])]
_EVENTS = TypeAdapter(list[Event])


class RunWithAnswer(FrozenModel):
    """A run, and its answer when it has ended."""

    run: RunSummary
    answer: Answer | None


class RunQuery(RunFilter):
    """Which runs are listed, and how many at once."""

    limit: int = Field(default=50, ge=1, le=100_000)


_PAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "headers": {"Link": {"description": "Where the next page is, if there is one.", "schema": {"type": "string"}}}
    }
}


@router.get("", responses=_PAGE | problems(404, 422, 503))
def runs(
    service: Served, caller: CurrentCaller, request: Request, response: Response, query: Annotated[RunQuery, Query()]
) -> list[RunSummary]:
    """The latest runs, newest first; also those of the command line. The `Link` header names the next page."""
    found = list_runs(service.candor, query, query.limit + 1, caller)
    page = found[: query.limit]
    if len(found) > len(page):
        following = request.url.include_query_params(after=page[-1].run_id)
        response.headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
    return page


@router.get("/{run_id}", responses=problems(404, 503))
def run(service: Served, caller: CurrentCaller, run_id: RunId) -> RunWithAnswer:
    """One run, with its answer when it has ended."""
    found = find_run(service.candor, run_id, caller)
    return RunWithAnswer(run=found, answer=service.candor.trace.answer(found.run_id) if found.ended else None)


@router.post("/{run_id}/cancel", responses=problems(404, 409, 503))
async def cancel(service: Served, caller: CurrentCaller, run_id: RunId) -> RunSummary:
    """End a run, be it under way or waiting for its turn; one that has ended stays as it is.

    Who began it may, and who has the right 'admin' over its collection.
    """
    found = await asyncio.to_thread(find_run, service.candor, run_id, caller)
    if found.key != caller.key:
        caller.require(Right.ADMIN, found.collection)
    return await service.runs.cancel(found.run_id)


@router.get("/{run_id}/journal", responses=problems(404, 503))
def journal(service: Served, caller: CurrentCaller, run_id: RunId) -> list[JournalEntry]:
    """Every prompt of the run and every response of the model, in full."""
    return service.candor.trace.journal_entries(find_run(service.candor, run_id, caller).run_id)


_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "model": list[Event],
        "description": "The events: as a stream (`id:` is the number, `data:` the event as JSON), or as a list.",
        "content": EVENT_STREAM,
    },
    204: {"description": "The run has ended and there is nothing after that number; a browser stops reconnecting."},
}


@router.get("/{run_id}/events", responses=_STREAM | problems(404, 422, 503), response_class=Response)
async def events(
    service: Served,
    caller: CurrentCaller,
    run_id: RunId,
    after: Annotated[int, Query(ge=0, le=LAST, description="Only events with a number over this.")] = 0,
    follow: Annotated[bool, Query(description="Stream until the run has ended; else a list of those so far.")] = True,
    last_event_id: Annotated[
        int, Header(ge=0, le=LAST, description="Sent by browsers that reconnect; like `after`.")
    ] = 0,
) -> Response:
    """What happened in a run, every event once and in order, and what happens from now on.

    The stream ends after `run_finished`; by then the answer is stored.
    """
    trace, after = service.candor.trace, max(after, last_event_id)
    found = await asyncio.to_thread(find_run, service.candor, run_id, caller)
    if follow and not found.ended:
        return event_stream(service.runs.follow(found.run_id, after))
    known = await asyncio.to_thread(trace.events, found.run_id, after)
    if not follow:
        return Response(_EVENTS.dump_json(known), media_type="application/json")
    return event_stream(service.runs.follow(found.run_id, after)) if known else Response(status_code=204)
