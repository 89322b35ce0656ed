"""Events of a run as a client is told of them while they happen: as server-sent events, or through a web socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Response, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse

from multi_agent.events import Event

Happening = AsyncIterator[Event | None]
"""Events in order; None stands for a time without one."""

LAST = 2**31 - 1
"""No event has a higher number: its column in the database holds none."""
KEEP_ALIVE = ": nothing new\n\n"
EVENT_STREAM: dict[str, Any] = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "One of the stream's events; `data` is JSON.",
            "required": ["data"],
            "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
        }
    }
}
"""For OpenAPI: the content of a response that is a stream."""
_NOT_KEPT = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def stream(told: AsyncIterator[str], headers: dict[str, str] | None = None) -> Response:
    """Server-sent events, each passed on at once."""
    return StreamingResponse(told, media_type="text/event-stream", headers=_NOT_KEPT | (headers or {}))


def event_stream(happening: Happening) -> Response:
    """The events as server-sent ones."""
    return stream(told(happening))


async def told(happening: Happening) -> AsyncIterator[str]:
    """As server-sent events; JSON has no line breaks in it."""
    async for event in happening:
        yield f"id: {event.number}\ndata: {event.model_dump_json()}\n\n" if event else KEEP_ALIVE


async def send_events(socket: WebSocket, happening: Happening) -> None:
    """The events through an open socket, a message each, then its end. A client that goes away is not waited for."""
    sending, leaving = asyncio.create_task(_send(socket, happening)), asyncio.create_task(_until_gone(socket))
    try:
        await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            await sending  # raises what the events ended with
            await socket.close()
    except WebSocketDisconnect:
        return
    finally:
        sending.cancel()
        leaving.cancel()


async def _send(socket: WebSocket, happening: Happening) -> None:
    async for event in happening:
        if event:
            await socket.send_text(event.model_dump_json())


async def _until_gone(socket: WebSocket) -> None:
    """Until the client has closed; what it says before is for nobody."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
