"""The web application: routes, errors and safety, put together over one Candor; ``serving.py`` serves it."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from starlette.routing import Route

from api.auth.audit_retention import prune_daily
from api.bootstrap import Candor
from api.http import routes
from api.http.deps import Service
from api.http.errors import Problem, problems, tell_problems
from api.http.middleware.audit import AuditMiddleware
from api.http.middleware.auth import AuthMiddleware
from api.http.middleware.body_limit import BodyLimit
from api.http.middleware.host_origin import SAFE_HEADERS, HostOriginCheck
from api.http.middleware.metrics import Metrics, MetricsMiddleware
from api.http.middleware.request_queue import RequestQueue
from api.http.openapi import describe, operations
from api.http.routes import viewer
from api.http.text_validation import require_legible
from api.jobs.evaluation import EvaluationJobs
from api.jobs.ingest import IngestJobs
from api.jobs.queue import JobQueue
from api.jobs.research import Runs
from api.jobs.runner import Jobs
from api.mcp import transports as mcp_serving
from api.services.collection_pool import CollectionPool
from api.workers.factory import open_researcher
from api.workers.panel import Panel

SECURITY = {
    "key": {"type": "http", "scheme": "bearer", "description": "A key of `candor keys add`; not needed on loopback."},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same, in another header."},
}
ABOUT = """Cited, checked and explained answers from your own documents.

Ask with `POST /v1/research`; follow the run with `GET /v1/runs/{run_id}/events`. Every error is a problem
(`application/problem+json`) that says what happened and what to do."""


def make_app(candor: Candor) -> FastAPI:
    """The application; collections are opened when they are first asked for, and closed with it."""
    pool, mcp = CollectionPool(candor), mcp_serving.Endpoint()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        panel, jobs_here = Panel(candor), Jobs(JobQueue(candor.settings))
        async with AsyncExitStack() as ends:
            ends.push_async_callback(asyncio.to_thread, pool.close)
            researcher = await ends.enter_async_context(open_researcher(candor, pool, panel))
            runs_here = Runs(candor, pool, jobs_here, panel, researcher)
            IngestJobs(candor, pool, jobs_here)
            EvaluationJobs(candor, jobs_here, researcher)
            runs_here.listeners.append(app.state.metrics.hear)
            app.state.metrics.watch(lambda: researcher.pid)
            await asyncio.to_thread(candor.uploads.clear)
            await jobs_here.start()
            ends.push_async_callback(jobs_here.close)
            ends.push_async_callback(runs_here.stop)
            await runs_here.recover()
            app.state.service = Service(candor, pool, jobs_here, runs_here, researcher)
            await ends.enter_async_context(mcp.serving(app.state.service))
            await ends.enter_async_context(prune_daily(candor.settings.service.audit_days, candor.audit))
            yield

    app = FastAPI(
        title="Candor",
        version=version("candor"),
        description=ABOUT,
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        dependencies=[Depends(require_legible)],
    )
    for router in _routers():
        app.include_router(router)
    viewer.mount(app)
    app.router.routes.append(Route(mcp_serving.PATH, mcp, methods=["POST"]))
    app.add_middleware(BodyLimit, most=candor.settings.service.request_bytes)
    app.add_middleware(AuditMiddleware, write=lambda entries: candor.audit.write(entries))
    app.add_middleware(
        AuthMiddleware, admit=lambda key: candor.keys.authenticate(key), needs_key=candor.settings.service.needs_key
    )
    app.state.metrics = measured = Metrics(candor)
    app.add_middleware(RequestQueue)
    app.add_middleware(MetricsMiddleware, metrics=measured)
    app.add_middleware(HostOriginCheck, hosts=candor.settings.service.hosts)
    tell_problems(app, SAFE_HEADERS)
    _document_problems(app)
    describe(app)
    return app


def _routers() -> Iterator[APIRouter]:
    """Of every module of ``api/routes``: a new subject is a new file."""
    for found in pkgutil.iter_modules(routes.__path__):
        router: APIRouter = importlib.import_module(f"{routes.__name__}.{found.name}").router
        yield router


def _document_problems(app: FastAPI) -> None:
    """In OpenAPI, a wrong input is a problem like every other, and not what FastAPI takes it to be."""
    describe = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            description = describe()
            components = description["components"]
            components["securitySchemes"] = SECURITY
            description["security"] = [{}, *({name: []} for name in SECURITY)]
            for operation in operations(description):
                if "requestBody" in operation:
                    operation["responses"].setdefault("413", problems(413)[413])
            schemas = components["schemas"]
            schemas["Problem"] = Problem.model_json_schema()
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
        return describe()

    app.openapi = described  # type: ignore[method-assign]
