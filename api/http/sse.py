"""Live events of a run: as server-sent events or over a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import Response, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse
from pydantic import Field

from api.services.research.event_text import describe
from multi_agent.values.events import Event

EventStream = AsyncIterator[Event | None]
"""Events in order. None means that nothing happened for a while."""

MAX_EVENT_NUMBER = 2**31 - 1
"""The largest number that the database column holds."""
KEEP_ALIVE = ": nothing new\n\n"
EVENT_STREAM: dict[str, Any] = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "One event of the stream; `data` is JSON.",
            "required": ["data"],
            "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
        }
    }
}
"""OpenAPI content of a streaming response."""
_LONGEST = 300  # characters of the details of an event
_NO_CACHE = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class DescribedEvent(Event):
    """An event with its description."""

    title: str = Field(description="What happened, in words.")
    details: str = Field(description="The beginning of its details, on one line.")

    @classmethod
    def of(cls, event: Event) -> DescribedEvent:
        """Describe an event."""
        title, *details = describe(event)
        line = " ".join(" · ".join(details)[: 2 * _LONGEST].split())[:_LONGEST]
        return cls.model_construct(**dict(event), title=title, details=line)

    @classmethod
    def json_of(cls, event: Event) -> str:
        """Return an event with its description as JSON, which contains no line breaks."""
        return cls.of(event).model_dump_json()


def stream_response(lines: AsyncIterator[str], headers: dict[str, str] | None = None) -> Response:
    """Return a response that sends each server-sent event at once."""
    return StreamingResponse(lines, media_type="text/event-stream", headers=_NO_CACHE | (headers or {}))


async def format_events(
    events: EventStream, render: Callable[[Event], str] = DescribedEvent.json_of
) -> AsyncIterator[str]:
    """Yield events in the format of server-sent events. ``render`` returns their JSON."""
    async for event in events:
        yield f"id: {event.number}\ndata: {render(event)}\n\n" if event else KEEP_ALIVE


async def send_events(socket: WebSocket, events: EventStream) -> None:
    """Send each event as one message, then close the socket. Stops when the client disconnects."""
    sending, leaving = asyncio.create_task(_send(socket, events)), asyncio.create_task(_until_disconnect(socket))
    try:
        await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            await sending  # raises the error that ended the events, if any
            await socket.close()
    except WebSocketDisconnect:
        return
    finally:
        sending.cancel()
        leaving.cancel()


async def _send(socket: WebSocket, events: EventStream) -> None:
    async for event in events:
        if event:
            await socket.send_text(DescribedEvent.json_of(event))


async def _until_disconnect(socket: WebSocket) -> None:
    """Wait until the client disconnects. Messages of the client are ignored."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
