"""The events of a run through a WebSocket, like ``GET /v1/runs/{run_id}/events``."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, WebSocket

from api.http.deps import CurrentCaller, RunsDep, TraceDep
from api.http.sse import MAX_EVENT_NUMBER, send_events
from api.services.runs import find_run

router = APIRouter(prefix="/v1/runs")


@router.websocket("/{run_id}/ws")
async def live(
    socket: WebSocket,
    trace: TraceDep,
    runs: RunsDep,
    caller: CurrentCaller,
    run_id: str,
    after: Annotated[int, Query(ge=0, le=MAX_EVENT_NUMBER)] = 0,
) -> None:
    """Send every event with a number above ``after``, in order, one per message; then close with code 1000.

    An error before the handshake is answered with a problem.
    """
    run = await asyncio.to_thread(find_run, trace, run_id, caller)
    await socket.accept()
    await send_events(socket, runs.follow(run.run_id, after))
