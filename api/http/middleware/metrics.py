"""Prometheus metrics, counted from events of runs and requests, and read from the database on each scrape.

Every label has a bounded set of values: route patterns, configured models, and known agents.
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

from api.services.documents.collections import Collections
from ingest.ledger.ledger import Ledger
from multi_agent.model import Usage
from multi_agent.storage.run_filter import RunState
from multi_agent.storage.trace import Trace
from multi_agent.values.events import Event, ModelCalled, ModelFailed, StepFailed, StepFinished

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

_MODEL_SECONDS = (0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640)
_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """The metrics of one service, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._calls = self._counter("candor_model_calls", "Model calls. Retries count as one call.", "model", "outcome")
        self._tokens = self._counter("candor_model_tokens", "Tokens of prompts and of completions.", "model", "kind")
        self._call_seconds = self._histogram(
            "candor_model_call_seconds", "Time until a model's valid response, including retries.",
            _MODEL_SECONDS, "model",
        )  # fmt: skip
        self._steps = self._counter("candor_steps", "Turns of agents.", "agent", "outcome")
        self._step_seconds = self._histogram(
            "candor_step_seconds", "Duration of an agent's turn. For the Retriever, the duration of the search.",
            _MODEL_SECONDS, "agent",
        )  # fmt: skip
        self._requests = self._counter("candor_http_requests", "Requests answered.", "method", "route", "status")
        self._request_seconds = self._histogram(
            "candor_http_request_seconds", "Time until the response starts. For /v1/search, time of the search.",
            _REQUEST_SECONDS, "route",
        )  # fmt: skip
        self.streams = Gauge("candor_active_streams", "Open event streams.", ("transport",), registry=self._registry)

    def add_process(self, name: str, pid: Callable[[], int | None]) -> None:
        """Add memory and CPU time of a child process. ``pid`` returns None while there is no such process."""
        ProcessCollector(f"candor_{name}", lambda: pid() or "none", registry=self._registry)

    def add_database(self, trace: Trace, collections: Collections, ledger: Ledger) -> None:
        """Add the numbers of runs, documents and passages."""
        self._registry.register(_DatabaseCollector(trace, collections, ledger))

    async def count_event(self, event: Event) -> None:
        """Count an event of a run. Implements ``Subscriber``."""
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

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request when its response starts."""
        self._requests.labels(method if method in _METHODS else "other", route, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in Prometheus text format. Raises SQLAlchemyError, IngestError, StoreError."""
        return generate_latest(self._registry)

    def _count(self, model: str, usage: Usage, outcome: Literal["answered", "failed"]) -> None:
        self._calls.labels(model, outcome).inc()
        self._tokens.labels(model, "prompt").inc(usage.prompt_tokens)
        self._tokens.labels(model, "completion").inc(usage.completion_tokens)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, text, labels, buckets=buckets, registry=self._registry)


class _DatabaseCollector(Collector):
    """Reads the database, which also contains the runs and documents of other processes."""

    def __init__(self, trace: Trace, collections: Collections, ledger: Ledger) -> None:
        self._trace, self._collections, self._ledger = trace, collections, ledger

    def describe(self) -> list[Metric]:
        """Return an empty list, so that registration does not read the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        runs = GaugeMetricFamily("candor_runs", "Runs by state. Waiting runs are in the queue.", labels=("status",))
        counted = self._trace.counts()
        for state in RunState:
            runs.add_metric((state.value,), counted.get(state, 0))
        documents = GaugeMetricFamily("candor_documents", "Documents by state.", labels=("collection", "state"))
        chunks = GaugeMetricFamily("candor_chunks", "Searchable passages.", labels=("collection",))
        known = {spec.collection for spec in self._collections.list()}  # the ledger also has unfinished rebuilds
        for collection, states in self._ledger.counts().items():
            if collection not in known:
                continue
            for document_state, count in states.items():
                documents.add_metric((collection, document_state.value), count.documents)
            chunks.add_metric((collection,), sum(count.chunks for count in states.values()))
        yield from (runs, documents, chunks)


class MetricsMiddleware:
    """ASGI middleware that counts requests by route, and open event streams."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        started, transport = time.perf_counter(), ""

        async def send_counted(message: Message) -> None:
            nonlocal transport
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                seconds = time.perf_counter() - started
                route = getattr(scope.get("route"), "path", "none")  # "none" for unknown paths
                self._metrics.count_request(scope.get("method", "GET"), route, message["status"], seconds)
            if not transport and (transport := _transport(message)):
                self._metrics.streams.labels(transport).inc()
            await send(message)

        try:
            await self._app(scope, receive, send_counted)
        finally:
            if transport:
                self._metrics.streams.labels(transport).dec()


def _transport(message: Message) -> str:
    """Return the transport of an event stream, or an empty string for other responses."""
    if message["type"] == "websocket.accept":
        return "websocket"
    headers = dict(message.get("headers", ())) if message["type"] == "http.response.start" else {}
    return "sse" if headers.get(b"content-type", b"").startswith(b"text/event-stream") else ""
