"""The transports of the MCP server, which are HTTP under ``/mcp`` in the service and stdio.

Over HTTP, the tools use the collections and runs of the service. Over stdio, a separate process serves one local client
and keeps a collection open only during a call, so that other processes can change it in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from api.auth.permissions import LOCAL_CALLER, Caller, caller_of
from api.bootstrap import Candor
from api.jobs.research import Runs
from api.services.documents.collection_pool import CollectionPool
from api.services.documents.collections import Collections
from api.services.documents.search import Found, search
from api.services.research.research import PanelFactory
from multi_agent.orchestrator.orchestrator import new_run_id
from multi_agent.values.answer import Answer
from multi_agent.values.bus import Subscriber
from multi_agent.values.request import DocumentFilter, Request
from vectorstore.models import SearchMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.mcpserver import Context
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
_CALLER = "candor.caller"  # key of the request's scope


class Endpoint:
    """ASGI application for ``PATH``. Works while ``serve`` is active. Every request is authenticated by its own key.

    The first request starts the MCP server, because importing it takes more than half a second.
    """

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._sessions: asyncio.Future[StreamableHTTPSessionManager] | None = None

    @asynccontextmanager
    async def serve(self, candor: Candor, pool: CollectionPool, runs: Runs) -> AsyncIterator[None]:
        """Answer calls until the context ends."""
        make = partial(_make_sessions, _ServiceBackend(pool, runs), candor)
        self._sessions = asyncio.get_running_loop().create_future()
        server = asyncio.create_task(self._serve(make), name="MCP server")
        try:
            yield
        finally:
            server.cancel()
            await asyncio.wait([server])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[_CALLER] = caller_of(HTTPConnection(scope))
        assert self._sessions is not None, "requests arrive only while the service runs"
        self._asked.set()
        sessions = await asyncio.shield(self._sessions)
        await sessions.handle_request(scope, receive, send)

    async def _serve(self, make: Callable[[], StreamableHTTPSessionManager]) -> None:
        """Start the server at the first request, and stop it when this task is cancelled."""
        assert self._sessions is not None
        while True:
            await self._asked.wait()
            try:
                sessions = await asyncio.to_thread(make)
            except Exception as error:  # noqa: BLE001 - the waiting requests raise it, the next one tries again
                self._asked.clear()
                self._sessions.set_exception(error)
                self._sessions = asyncio.get_running_loop().create_future()
                continue
            async with sessions.run():
                self._sessions.set_result(sessions)
                await asyncio.Event().wait()


def _make_sessions(backend: _ServiceBackend, candor: Candor) -> StreamableHTTPSessionManager:
    from api.mcp.tools import Tools, make_server

    server = make_server(Tools(backend, _request_caller, candor))
    # Stateless: no key can continue a session of another key. The middleware checks Host and Origin.
    server.streamable_http_app(streamable_http_path=PATH, stateless_http=True, host="")
    return server.session_manager


async def serve_stdio(candor: Candor) -> None:
    """Serve one client on standard input and output until it closes them. Nothing else may write to standard output."""
    from api.mcp.tools import Tools, make_server

    async def local_caller(_: Context[Any, Any]) -> Caller:
        return LOCAL_CALLER

    backend = _LocalBackend(candor.collections, candor.panel)
    await make_server(Tools(backend, local_caller, candor)).run_stdio_async()


async def _request_caller(ctx: Context[Any, Any]) -> Caller:
    request = ctx.request_context.request
    assert request is not None, "over HTTP, every call has a request"
    caller: Caller = request.scope[_CALLER]
    return caller


@dataclass(frozen=True)
class _ServiceBackend:
    """Uses the service's open collections and starts runs as jobs of the service."""

    pool: CollectionPool
    runs: Runs

    async def search(
        self, query: str, collection: str, limit: int, wanted: DocumentFilter | None, mode: SearchMode
    ) -> Found:
        return await asyncio.to_thread(search, self.pool, collection, query, limit, wanted, mode)

    async def research(self, request: Request, collection: str, caller: Caller, tell: Subscriber) -> Answer:
        run_id = await self.runs.start(request, collection, caller)
        async for event in self.runs.follow(run_id, 0):
            if event:
                await tell(event)
        return await self.runs.wait(run_id)


class _LocalBackend:
    """Opens a collection for the first of several concurrent calls and closes it after the last."""

    def __init__(self, collections: Collections, panel: PanelFactory) -> None:
        self._collections, self._panel = collections, panel
        self._calls = 0
        self._changing = asyncio.Lock()
        self._pool: CollectionPool | None = None

    async def search(
        self, query: str, collection: str, limit: int, wanted: DocumentFilter | None, mode: SearchMode
    ) -> Found:
        async with self._open() as pool:
            return await asyncio.to_thread(search, pool, collection, query, limit, wanted, mode)

    async def research(self, request: Request, collection: str, caller: Caller, tell: Subscriber) -> Answer:
        async with self._open() as pool:
            library = await asyncio.to_thread(pool.library, collection)
            run_id, runs = new_run_id(), self._panel.command_runs
            with runs.hold(run_id):
                research = self._panel.orchestrator(library).research(request, tell, run_id=run_id)
                return await runs.research(run_id, research)

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[CollectionPool]:
        async with self._changing:
            self._pool = self._pool or CollectionPool(self._collections)
            self._calls += 1
        try:
            yield self._pool
        finally:
            async with self._changing:
                self._calls -= 1
                if not self._calls:
                    await asyncio.to_thread(self._pool.close)
                    self._pool = None
