"""A collector of OpenTelemetry spans: a real HTTP server on a free port of localhost.

with Collector() as collector:
    ...  # with OTEL_EXPORTER_OTLP_ENDPOINT=collector.url
    until(lambda: collector.roots())
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class ReceivedSpan:
    """A span as it arrived. Times are nanoseconds."""

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    start: int
    end: int
    attributes: dict[str, Any]
    events: tuple[str, ...]
    failed: bool
    status: str


class Collector:
    """Receives spans at ``/v1/traces``. With ``hang``, it never answers."""

    def __init__(self, *, hang: bool = False) -> None:
        self.spans: list[ReceivedSpan] = []
        self.resources: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.requested, self._end = threading.Event(), threading.Event()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.requested.set()
                if hang:
                    collector._end.wait()
                    return
                collector._add(self.path, dict(self.headers), body)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def roots(self) -> list[ReceivedSpan]:
        """The spans of runs."""
        return [span for span in self.spans if not span.parent_id]

    def named(self, start: str) -> list[ReceivedSpan]:
        """Return the spans with names that start like this."""
        return [span for span in self.spans if span.name.startswith(start)]

    def _add(self, path: str, headers: dict[str, str], body: bytes) -> None:
        assert path == "/v1/traces"
        self.headers.append({name.lower(): value for name, value in headers.items()})
        self.bodies.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(_attributes(resource.resource.attributes))
            self.spans += [_received(span) for scope in resource.scope_spans for span in scope.spans]


def _received(span: Any) -> ReceivedSpan:
    return ReceivedSpan(
        name=span.name, kind=span.kind, trace_id=span.trace_id.hex(), span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(), start=span.start_time_unix_nano, end=span.end_time_unix_nano,
        attributes=_attributes(span.attributes), events=tuple(event.name for event in span.events),
        failed=span.status.code == span.status.STATUS_CODE_ERROR, status=span.status.message,
    )  # fmt: skip


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(MessageToDict(pair.value)) for pair in pairs}


def _value(value: dict[str, Any]) -> Any:
    [(kind, plain)] = value.items()
    if kind == "intValue":
        return int(plain)
    return [_value(each) for each in plain["values"]] if kind == "arrayValue" else plain
