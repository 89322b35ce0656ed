"""Keeps the connection of a finished stream open for the next request.

OpenAI's client closes a stream at its last event, ``[DONE]``. The end of the body comes after it, so the connection is
closed too, and the next request to a hosted model opens a new one: two or three round trips, for TCP and TLS.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx

_DONE = b"[DONE]"
_TAIL_BYTES = 24  # the last event, and the blank line after it
_END_TIMEOUT_S = 0.2  # servers send the end of the body together with the last event


async def read_to_end(response: httpx.Response) -> None:
    """Read the rest of the body of a finished stream when it is closed. For the ``event_hooks`` of a client."""
    assert isinstance(response.stream, httpx.AsyncByteStream)
    response.stream = _ReadToEnd(response.stream)


class _ReadToEnd(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream
        self._parts = aiter(stream)
        self._tail = b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._parts:
            self._tail = (self._tail + part)[-_TAIL_BYTES:]
            yield part

    async def aclose(self) -> None:
        """Close the stream. A stream that has not sent its last event, because it failed or was cancelled, is cut."""
        if _DONE in self._tail:
            # The reply is complete. A failure costs only the connection.
            with suppress(TimeoutError, httpx.TransportError):
                async with asyncio.timeout(_END_TIMEOUT_S):
                    async for _ in self._parts:
                        pass
        await self._stream.aclose()
