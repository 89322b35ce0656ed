"""A run as it happens, through a web socket: the events of ``GET /v1/runs/{run_id}/events``."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, WebSocket

from api.http.deps import CurrentCaller, Served
from api.http.sse import LAST, send_events
from api.services.runs import find_run

router = APIRouter(prefix="/v1/runs")


@router.websocket("/{run_id}/ws")
async def live(
    socket: WebSocket,
    service: Served,
    caller: CurrentCaller,
    run_id: str,
    after: Annotated[int, Query(ge=0, le=LAST)] = 0,
) -> None:
    """Every event with a number over ``after``, once and in order, a message each; then the socket is closed (1000).

    What keeps it from being opened is the answer to the handshake: a problem, as everywhere.
    """
    run = await asyncio.to_thread(find_run, service.candor, run_id, caller)
    await socket.accept()
    await send_events(socket, service.runs.follow(run.run_id, after))
