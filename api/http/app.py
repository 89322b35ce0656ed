"""Builds the web application from the parts of Candor. ``server.py`` serves it."""

import asyncio
import importlib
import pkgutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.routing import Route

from api.auth.audit import BY, every_day
from api.bootstrap import Candor
from api.http import routes
from api.http.errors import add_exception_handlers
from api.http.middleware.audit import AuditMiddleware
from api.http.middleware.auth import AuthMiddleware
from api.http.middleware.body_limit import BodyLimit
from api.http.middleware.host_origin import SAFE_HEADERS, HostOriginCheck
from api.http.middleware.metrics import Metrics, MetricsMiddleware
from api.http.middleware.request_queue import RequestQueue
from api.http.middleware.root_path import RootPath
from api.http.openapi import ABOUT, customize_openapi
from api.http.routes import viewer
from api.jobs.assembly import ServiceParts, start_service
from api.jobs.handlers import sync_on_schedule
from api.mcp import transports as mcp_transports
from base.installation import own_version
from base.memory import release_freed_memory

_MINUTE_S = 60


def make_app(candor: Candor) -> FastAPI:
    """Build the application. At startup it starts the jobs and the researcher. It opens collections on demand."""
    mcp, metrics = mcp_transports.Endpoint(), Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            app.state.parts = parts = await _start(candor, metrics, stack)
            await stack.enter_async_context(mcp.serve(candor, parts.pool, parts.runs))
            works = [
                _keep_small(),
                every_day(lambda: candor.bin.expire(parts.pool.drop)),
                sync_on_schedule(candor.sources.table, parts.jobs),
            ]
            if days := candor.settings.service.audit_days:
                works.append(every_day(lambda: candor.audit.prune(days, BY)))
            for work in works:
                stack.callback(asyncio.create_task(work).cancel)
            yield

    app = FastAPI(
        title="Candor",
        version=own_version(),
        description=ABOUT,
        docs_url=None,  # these pages load scripts from other hosts; routes/viewer.py replaces them
        redoc_url=None,
        servers=[{"url": root}] if (root := candor.settings.service.root_path) else None,
        lifespan=lifespan,
    )
    for router in _find_routers():
        app.router.routes.extend(router.routes)  # ``include_router`` would build every route again
    viewer.mount(app)
    app.router.routes.append(Route(mcp_transports.PATH, mcp, methods=["POST"]))
    app.state.candor, app.state.metrics = candor, metrics
    _add_middleware(app, candor, metrics)
    add_exception_handlers(app, SAFE_HEADERS)
    customize_openapi(app)
    return app


def _add_middleware(app: FastAPI, candor: Candor, metrics: Metrics) -> None:
    """Add the middleware. Each middleware wraps the ones added before it, so the last one handles a request first."""
    settings = candor.settings.service
    # Innermost: the error must be raised inside the route, which turns it into the route's kind of error.
    app.add_middleware(BodyLimit, max_bytes=settings.request_bytes)
    # Needs the caller, and writes the entry before the response starts.
    app.add_middleware(AuditMiddleware, write=lambda entries: candor.audit.write(entries))
    # Before everything that reads the body or a collection.
    app.add_middleware(AuthMiddleware, callers=lambda: candor.callers, service=settings)
    # Before the key is looked up in the database, so that waiting requests cost nothing.
    app.add_middleware(RequestQueue)
    # Counts rejected requests and the time in the queue, too.
    app.add_middleware(MetricsMiddleware, metrics=metrics)
    # Rejects requests of foreign pages first, and adds the security headers to every response.
    app.add_middleware(HostOriginCheck, hosts=settings.hosts, origins=lambda: candor.keys.origins())
    if settings.root_path:  # Outermost: all others see the paths of the service itself.
        app.add_middleware(RootPath, root=settings.root_path)


async def _keep_small() -> None:
    """Return freed memory to the system each minute. Otherwise the process grows by 15 kB a run."""
    while True:
        await asyncio.sleep(_MINUTE_S)
        await asyncio.to_thread(release_freed_memory)


async def _start(candor: Candor, metrics: Metrics, stack: AsyncExitStack) -> ServiceParts:
    """Start the search process and the jobs. ``stack`` stops them."""
    parts = await start_service(candor, stack, [metrics.count_event])
    metrics.add_process("research", lambda: parts.worker.pid if parts.worker else None)
    metrics.add_process("search", lambda: parts.searches.pid)
    metrics.add_database(candor.trace, candor.collections, candor.ledger)
    return parts


def _find_routers() -> Iterator[APIRouter]:
    """Yield the router of every module below ``api/http/routes``."""
    for found in pkgutil.walk_packages(routes.__path__, f"{routes.__name__}."):
        if not found.ispkg:
            router: APIRouter = importlib.import_module(found.name).router
            yield router
