"""What the service measures of itself, for Prometheus: counted from the events of runs, from requests, and read from
the database when it is asked for.

No label has values without bound: a route stands for all its addresses, models and agents are those of the settings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.bootstrap import Candor
from multi_agent.events import Event, ModelCalled, ModelFailed, StepFailed, StepFinished
from multi_agent.llm.llm import Usage
from multi_agent.storage.run_filter import RunState

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

_MODEL_SECONDS = (0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640)
_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """All of one service, in a registry of its own."""

    def __init__(self, candor: Candor) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Stored(candor))
        ProcessCollector(registry=self._registry)
        self._calls = self._counter("candor_model_calls", "Calls, each with its re-asking.", "model", "outcome")
        self._tokens = self._counter("candor_model_tokens", "Tokens of prompts and of completions.", "model", "kind")
        self._call_seconds = self._histogram(
            "candor_model_call_seconds", "Time until a model's valid response, re-asking included.",
            _MODEL_SECONDS, "model",
        )  # fmt: skip
        self._steps = self._counter("candor_steps", "Turns of agents.", "agent", "outcome")
        self._step_seconds = self._histogram(
            "candor_step_seconds", "Time of an agent's turn; that of the Retriever is the time of searching.",
            _MODEL_SECONDS, "agent",
        )  # fmt: skip
        self._requests = self._counter("candor_http_requests", "Requests answered.", "method", "route", "status")
        self._request_seconds = self._histogram(
            "candor_http_request_seconds", "Time until the head of the response; /v1/search is the time of searching.",
            _REQUEST_SECONDS, "route",
        )  # fmt: skip
        self.streams = Gauge(
            "candor_active_streams", "Clients that follow something now.", ("transport",), registry=self._registry
        )

    def watch(self, pid: Callable[[], int | None]) -> None:
        """Tell also of the memory and the processor time of the research process, as long as there is one."""
        ProcessCollector("candor_research", lambda: pid() or "none", registry=self._registry)

    async def hear(self, event: Event) -> None:
        """Count what it tells; subscribe this to a run's bus."""
        match event.body:
            case ModelCalled(replayed=False) as called:
                self._count(called.model, called.usage, "answered")
                self._call_seconds.labels(called.model).observe(called.usage.seconds)
            case ModelFailed() as failed:
                self._count(failed.model, failed.usage, "failed")
            case StepFinished() as finished:
                self._steps.labels(finished.agent, "finished").inc()
                self._step_seconds.labels(finished.agent).observe(finished.seconds)
            case StepFailed() as ended:
                self._steps.labels(ended.agent, "failed").inc()

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request whose response has begun."""
        self._requests.labels(method if method in _METHODS else "other", route, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it. Reads the database: raises SQLAlchemyError, IngestError, StoreError."""
        return generate_latest(self._registry)

    def _count(self, model: str, usage: Usage, outcome: Literal["answered", "failed"]) -> None:
        self._calls.labels(model, outcome).inc()
        self._tokens.labels(model, "prompt").inc(usage.prompt_tokens)
        self._tokens.labels(model, "completion").inc(usage.completion_tokens)

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(name, told, labels, registry=self._registry)

    def _histogram(self, name: str, told: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, told, labels, buckets=buckets, registry=self._registry)


class _Stored(Collector):
    """What the database knows, also of runs and documents of other processes."""

    def __init__(self, candor: Candor) -> None:
        self._candor = candor

    def describe(self) -> list[Metric]:
        """Nothing: else the registry would ask for all of it, of a database that may not be there yet."""
        return []

    def collect(self) -> Iterator[Metric]:
        runs = GaugeMetricFamily("candor_runs", "Runs by state; those that wait are the queue.", labels=("status",))
        counted = self._candor.trace.counts()
        for state in RunState:
            runs.add_metric((state.value,), counted.get(state, 0))
        documents = GaugeMetricFamily("candor_documents", "Documents by state.", labels=("collection", "state"))
        chunks = GaugeMetricFamily("candor_chunks", "Passages that are searched.", labels=("collection",))
        known = {spec.collection for spec in self._candor.collections()}  # the ledger knows some in the making, too
        for collection, states in self._candor.ledger.counts().items():
            if collection not in known:
                continue
            for document_state, there in states.items():
                documents.add_metric((collection, document_state.value), there.documents)
            chunks.add_metric((collection,), sum(there.chunks for there in states.values()))
        yield from (runs, documents, chunks)


class MetricsMiddleware:
    """ASGI middleware: counts requests by their route, and who is being told something as it happens."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        began, followed = time.perf_counter(), ""

        async def sent(message: Message) -> None:
            nonlocal followed
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                taken = time.perf_counter() - began
                self._metrics.answered(scope.get("method", "GET"), _route(scope), message["status"], taken)
            if not followed and (followed := _transport(message)):
                self._metrics.streams.labels(followed).inc()
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            if followed:
                self._metrics.streams.labels(followed).dec()


def _route(scope: Scope) -> str:
    """The pattern of the address; addresses that there are not are all one."""
    return getattr(scope.get("route"), "path", "none")


def _transport(message: Message) -> str:
    """By what it begins to tell events, if that is what it does."""
    if message["type"] == "websocket.accept":
        return "websocket"
    headers = dict(message.get("headers", ())) if message["type"] == "http.response.start" else {}
    return "sse" if headers.get(b"content-type", b"").startswith(b"text/event-stream") else ""
