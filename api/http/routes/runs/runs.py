"""Runs: their questions, answers, events and journals."""

import asyncio
from typing import Annotated, Any

from fastapi import Body, Header, Path, Query, Request, Response, WebSocket
from pydantic import Field, TypeAdapter

from api.auth.permissions import Caller, Right
from api.http.deps import CandorDep, CurrentCaller, Now, Owner, PartsDep
from api.http.errors import problem_responses
from api.http.paging import PAGED, link_next
from api.http.router import make_router
from api.http.sse import (
    EVENT_STREAM,
    MAX_EVENT_NUMBER,
    DescribedEvent,
    EventStream,
    format_events,
    send_events,
    stream_response,
)
from api.services.research.conversation import Conversation, conversation_of
from api.services.research.prune import Limits, PrunedRun
from api.services.research.runs import RatingRequest, calls_for, events_for, find_run, list_runs, rate_run
from base.models import FrozenModel
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.storage.recording import StoredRuns
from multi_agent.storage.run_filter import RunFilter
from multi_agent.storage.trace import RunSummary
from multi_agent.values.answer import Answer
from multi_agent.values.bus import is_within
from multi_agent.values.events import Level

router = make_router(prefix="/v1/runs", tags=["runs"])

RunId = Annotated[str, Path(description="Id of the run, or the beginning of the id.", examples=["run_d65459f7e628"])]
_EVENTS = TypeAdapter(list[DescribedEvent])


class RunWithAnswer(FrozenModel):
    """A run with its answer. The answer of an active run is null."""

    run: RunSummary
    answer: Answer | None


class RunQuery(RunFilter):
    """Filters, order and page of a list of runs."""

    limit: int = Field(default=50, ge=1, le=100_000)


class PruneRequest(Limits):
    """The limits, and whether to delete the runs beyond them."""

    delete: bool = Field(default=False, description="Delete the runs. Otherwise, only list them.")
    now: bool = Field(
        default=False, description="Delete them permanently instead of moving them to the bin. This frees their bytes."
    )


class Pruned(FrozenModel):
    """The runs beyond the limits."""

    deleted: bool
    bytes: int = Field(description="Bytes that the runs took or take.")
    runs: tuple[PrunedRun, ...]


@router.get("", responses=PAGED | problem_responses(404, 422, 503))
def runs(
    candor: CandorDep, caller: CurrentCaller, request: Request, response: Response, query: Annotated[RunQuery, Query()]
) -> list[RunSummary]:
    """List runs, newest first or as `sort` says. The `Link` header names the next page.

    Includes the runs of the command line. `cost` is null if no price is set.
    """
    found = list_runs(candor.trace, query, query.limit + 1, caller)
    page = found[: query.limit]
    if len(found) > len(page):
        link_next(request, response, after=page[-1].run_id)
    return page


@router.get("/storage", responses=problem_responses(503))
def storage(candor: CandorDep, caller: CurrentCaller) -> StoredRuns:
    """Get the number of all runs that you may read, and the bytes that they take."""
    return candor.archive.usage(caller.readable)


@router.post("/prune", responses=problem_responses(403, 422, 503))
def prune(
    candor: CandorDep, caller: Owner, body: Annotated[PruneRequest, Body(examples=[{"older_than_days": 90}])]
) -> Pruned:
    """List the runs beyond the limits, newest first. Move them to the bin with `"delete": true`.

    Keeps rated runs, runs of evaluations, runs that have not ended, and the earlier runs that a kept run continues or
    was forked from. The audit log records each deleted run.
    """
    found = candor.pruning.find(Limits(**body.model_dump(exclude={"delete", "now"})))
    if body.delete:
        candor.bin.delete_runs(found, caller, now=body.now)
    return Pruned(deleted=body.delete, bytes=sum(run.size for run in found), runs=found)


@router.get("/{run_id}", responses=problem_responses(404, 503))
def run(candor: CandorDep, caller: CurrentCaller, run_id: RunId) -> RunWithAnswer:
    """Get one run, with its answer if it has ended."""
    found = find_run(candor.trace, run_id, caller)
    return RunWithAnswer(run=found, answer=candor.trace.answer(found.run_id) if found.ended else None)


@router.post("/{run_id}/cancel", responses=problem_responses(404, 409, 503))
async def cancel(candor: CandorDep, parts: PartsDep, caller: CurrentCaller, run_id: RunId) -> RunSummary:
    """Cancel a waiting or active run. A run that has ended stays unchanged.

    Requires the key that started the run, or the right 'admin' over its collection.
    """
    found = await asyncio.to_thread(find_run, candor.trace, run_id, caller)
    if found.key != caller.key:
        caller.require(Right.ADMIN, found.collection)
    return await parts.runs.cancel(found.run_id)


@router.delete("/{run_id}", status_code=204, responses=problem_responses(403, 404, 409, 422, 503))
def remove(candor: CandorDep, caller: CurrentCaller, run_id: RunId, now: Now = False) -> None:
    """Move a finished run and the files that its tools wrote to the bin.

    Requires the key that started the run, or the right 'admin' over its collection. A run that a later run continues or
    repeats, or that belongs to an evaluation, is kept.
    """
    found = find_run(candor.trace, run_id, caller)
    if found.key != caller.key:
        caller.require(Right.ADMIN, found.collection)
    candor.bin.delete_runs([candor.pruning.one(found)], caller, now=now)


@router.put("/{run_id}/rating", responses=problem_responses(404, 409, 422, 503))
def rate(
    candor: CandorDep,
    caller: CurrentCaller,
    run_id: RunId,
    body: Annotated[RatingRequest, Body(examples=[{"rating": "down", "note": "It is -20 °C, see page 3."}])],
) -> RunSummary:
    """Rate the answer of a run. Replaces an earlier rating.

    `GET /v1/evaluations/questions` returns rated answers as a question set.

    Requires the key that started the run, or the right 'write' over its collection.
    """
    return rate_run(candor.trace, run_id, body, caller)


@router.get("/{run_id}/conversation", responses=problem_responses(404, 503))
def conversation(candor: CandorDep, caller: CurrentCaller, run_id: RunId) -> Conversation:
    """Get the earlier and later questions in the conversation of the run, with short answers."""
    return conversation_of(candor.trace, run_id, caller)


@router.get("/{run_id}/journal", responses=problem_responses(404, 503))
def journal(candor: CandorDep, caller: CurrentCaller, run_id: RunId) -> list[JournalEntry]:
    """Get the full text of every prompt of the run and every response of the model."""
    return calls_for(candor.trace, find_run(candor.trace, run_id, caller), caller)


_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "model": list[DescribedEvent],
        "description": "The events as a stream (`id:` is the number, `data:` the event as JSON) or as a list.",
        "content": EVENT_STREAM,
    },
    204: {"description": "The run has ended and has no event after that number. A browser stops reconnecting."},
}


@router.get("/{run_id}/events", responses=_STREAM | problem_responses(404, 422, 503), response_class=Response)
async def events(
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    run_id: RunId,
    after: Annotated[int, Query(ge=0, le=MAX_EVENT_NUMBER, description="Return only events after this number.")] = 0,
    follow: Annotated[
        bool, Query(description="Stream events until the run has ended. If false, return the events so far as a list.")
    ] = True,
    level: Annotated[
        Level,
        Query(description="Return only events down to this level: a stream without tools, or only the supervisor."),
    ] = "tool",
    last_event_id: Annotated[
        int, Header(ge=0, le=MAX_EVENT_NUMBER, description="Sent by browsers that reconnect; same as `after`.")
    ] = 0,
) -> Response:
    """Get the events of a run, each once and in order, and stream new events.

    The stream ends after `run_finished`. The answer has been stored before that event.
    """
    after = max(after, last_event_id)
    found = await asyncio.to_thread(find_run, candor.trace, run_id, caller)
    if follow and found.active:
        return stream_response(format_events(_within(parts.runs.follow(found.run_id, after), found, caller, level)))
    known = await asyncio.to_thread(candor.trace.events, found.run_id, after)
    if not follow:
        shown = [DescribedEvent.of(event) for event in events_for(known, found, caller) if is_within(event, level)]
        return Response(_EVENTS.dump_json(shown), media_type="application/json")
    stream = _within(parts.runs.follow(found.run_id, after), found, caller, level)
    return stream_response(format_events(stream)) if known else Response(status_code=204)


async def _within(events: EventStream, run: RunSummary, caller: Caller, level: Level = "tool") -> EventStream:
    """Yield the events of this level and above that the caller may see."""
    async for event in events:
        if event is None or is_within(event, level):
            yield event and next(events_for((event,), run, caller))


@router.websocket("/{run_id}/ws")
async def live(
    socket: WebSocket,
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    run_id: str,
    after: Annotated[int, Query(ge=0, le=MAX_EVENT_NUMBER)] = 0,
) -> None:
    """Send every event with a number above ``after``, in order, one per message. Then close with code 1000.

    An error before the handshake is answered with a problem.
    """
    run = await asyncio.to_thread(find_run, candor.trace, run_id, caller)
    await socket.accept()
    await send_events(socket, _within(parts.runs.follow(run.run_id, after), run, caller))
