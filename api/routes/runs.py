"""Runs: what was asked, what happened, and what is happening."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import TypeAdapter

from api.problems import problems
from api.service import Served, Service
from multi_agent.answer import Answer
from multi_agent.events import Event
from multi_agent.llm.journal import JournalEntry
from multi_agent.tracing.trace import RunSummary
from vectorstore.models import Value

router = APIRouter(prefix="/v1/runs", tags=["runs"])

RunId = Annotated[str, Path(description="The run's id, or the beginning of it.", examples=["run_d65459f7e628"])]
_EVENTS = TypeAdapter(list[Event])
_KEEP_ALIVE = ": nothing new\n\n"


class RunWithAnswer(Value):
    """A run, and its answer when it has ended."""

    run: RunSummary
    answer: Answer | None


@router.get("", responses=problems(422, 503))
def runs(service: Served, limit: Annotated[int, Query(ge=1, le=100_000)] = 50) -> list[RunSummary]:
    """The latest runs, newest first; also those of the command line."""
    return service.candor.trace.runs(limit)


@router.get("/{run_id}", responses=problems(404, 422, 503))
def run(service: Served, run_id: RunId) -> RunWithAnswer:
    """One run, with its answer when it has ended."""
    found = service.candor.trace.run(run_id)
    return RunWithAnswer(run=found, answer=service.candor.trace.answer(found.run_id) if found.ended else None)


@router.post("/{run_id}/cancel", responses=problems(404, 409, 422, 503))
async def cancel(service: Served, run_id: RunId) -> RunSummary:
    """End a run, be it under way or waiting for its turn; one that has ended stays as it is."""
    return await service.runs.cancel(run_id)


@router.get("/{run_id}/journal", responses=problems(404, 422, 503))
def journal(service: Served, run_id: RunId) -> list[JournalEntry]:
    """Every prompt of the run and every response of the model, in full."""
    trace = service.candor.trace
    return trace.journal_entries(trace.run(run_id).run_id)


_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "model": list[Event],
        "description": "The events: as a stream (`id:` is the number, `data:` the event as JSON), or as a list.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    204: {"description": "The run has ended and there is nothing after that number; a browser stops reconnecting."},
}


@router.get("/{run_id}/events", responses=_STREAM | problems(404, 422, 503), response_class=Response)
async def events(
    service: Served,
    run_id: RunId,
    after: Annotated[int, Query(ge=0, description="Only events with a number over this.")] = 0,
    follow: Annotated[bool, Query(description="Stream until the run has ended; else a list of those so far.")] = True,
    last_event_id: Annotated[int, Header(ge=0, description="Sent by browsers that reconnect; like `after`.")] = 0,
) -> Response:
    """What happened in a run, every event once and in order, and what happens from now on.

    The stream ends after `run_finished`; by then the answer is stored.
    """
    trace, after = service.candor.trace, max(after, last_event_id)
    found = await asyncio.to_thread(trace.run, run_id)
    if follow and not found.ended:
        return _stream(service, found.run_id, after)
    known = await asyncio.to_thread(trace.events, found.run_id, after)
    if not follow:
        return Response(_EVENTS.dump_json(known), media_type="application/json")
    return _stream(service, found.run_id, after) if known else Response(status_code=204)


def _stream(service: Service, run_id: str, after: int) -> Response:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    told = _told(service.runs.follow(run_id, after))
    return StreamingResponse(told, media_type="text/event-stream", headers=headers)


async def _told(events: AsyncIterator[Event | None]) -> AsyncIterator[str]:
    """As server-sent events; JSON has no line breaks in it."""
    async for event in events:
        yield f"id: {event.number}\ndata: {event.model_dump_json()}\n\n" if event else _KEEP_ALIVE
