"""How the tools of the Model Context Protocol are reached: in the service under ``/mcp``, or over stdio.

The service does their work beside all its other work. Over stdio, a process of its own does it for one client, the
person at this machine, and has a collection open only for the time of a call: others may change it in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from api.auth.permissions import LOCAL_CALLER, Caller, caller_of
from api.bootstrap import Candor
from api.http.deps import Service
from api.mcp.tools import make_server
from api.services.collection_pool import CollectionPool
from multi_agent.answer import Answer
from multi_agent.bus import Subscriber
from multi_agent.request import Request
from vectorstore.models import Hit

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
_CALLER = "candor.caller"  # where the scope of a request keeps who sent it


class Endpoint:
    """ASGI application for ``PATH``; works while ``serving``. Every request is let in by its own key."""

    def __init__(self) -> None:
        self._sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def serving(self, service: Service) -> AsyncIterator[None]:
        """Answer calls, until the context ends."""
        server = make_server(_ServiceDesk(service), _sender)
        # Without sessions: what one key began, no other can go on with. Host and Origin are looked at for all routes.
        server.streamable_http_app(streamable_http_path=PATH, stateless_http=True, host="")
        async with server.session_manager.run():
            self._sessions = server.session_manager
            try:
                yield
            finally:
                self._sessions = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[_CALLER] = caller_of(HTTPConnection(scope))
        assert self._sessions is not None, "requests come while the service runs"
        await self._sessions.handle_request(scope, receive, send)


async def serve_stdio(candor: Candor) -> None:
    """Answer the client at standard input and output, until it closes them. Nothing else is written there."""

    async def here(_: Context[Any, Any]) -> Caller:
        return LOCAL_CALLER

    await make_server(_OwnDesk(candor), here).run_stdio_async()


async def _sender(ctx: Context[Any, Any]) -> Caller:
    request = ctx.request_context.request
    assert request is not None, "over HTTP, every call comes with a request"
    caller: Caller = request.scope[_CALLER]
    return caller


@dataclass(frozen=True)
class _ServiceDesk:
    """Works with the collections that the service has open; its runs are those of the service."""

    service: Service

    @property
    def candor(self) -> Candor:
        return self.service.candor

    async def search(self, query: str, collection: str, limit: int) -> list[Hit]:
        pool = self.service.pool
        opened = await asyncio.to_thread(pool.take, collection)
        return await pool.searches.run(opened.library.retriever.search, [query], limit)

    async def research(self, request: Request, collection: str, caller: Caller, tell: Subscriber) -> Answer:
        run_id = await self.service.runs.start(request, collection, caller)
        async for event in self.service.runs.follow(run_id, 0):
            if event:
                await tell(event)
        return await self.service.runs.wait(run_id)


class _OwnDesk:
    """Opens collections for the first of the calls that are under way, and closes them after the last."""

    def __init__(self, candor: Candor) -> None:
        self.candor = candor
        self._calls = 0
        self._changing = asyncio.Lock()
        self._pool: CollectionPool | None = None

    async def search(self, query: str, collection: str, limit: int) -> list[Hit]:
        async with self._open() as pool:
            opened = await asyncio.to_thread(pool.take, collection)
            return await asyncio.to_thread(opened.library.retriever.search, [query], limit)

    async def research(self, request: Request, collection: str, caller: Caller, tell: Subscriber) -> Answer:
        async with self._open() as pool:
            opened = await asyncio.to_thread(pool.take, collection)
            return await self.candor.orchestrator(opened.library).research(request, tell)

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[CollectionPool]:
        async with self._changing:
            self._pool = self._pool or CollectionPool(self.candor)
            self._calls += 1
        try:
            yield self._pool
        finally:
            async with self._changing:
                self._calls -= 1
                if not self._calls:
                    await asyncio.to_thread(self._pool.close)
                    self._pool = None
