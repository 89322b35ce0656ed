"""Sends spans to an OpenTelemetry collector with OTLP over HTTP, in a thread of its own.

A collector that is slow or cannot be reached never delays a run. Its spans are dropped, and the failure is logged once
until spans arrive again. The variables of the OpenTelemetry specification configure the address, headers, limits,
sampling and resource attributes.
"""

import atexit
import logging
import os
import threading
from collections.abc import Mapping, Sequence

from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk import _shared_internal
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from base.installation import own_version
from multi_agent.llm.settings import EndpointSettings
from multi_agent.storage.trace import Trace
from multi_agent.telemetry.attributes import Content
from multi_agent.telemetry.spans import RunIds, SpanListener
from multi_agent.values.bus import Subscriber

log = logging.getLogger(__name__)

_DELAY_MS = 500.0  # between batches; by default, spans would wait for a full batch or five seconds
_EXIT_TIMEOUT_S = 2.0  # for the spans of a run that ended just before the process


class SpanExport:
    """Exports the spans of the runs of this process.

    ``variables`` are the ``OTEL_…`` variables. They become variables of this process, because the OpenTelemetry
    libraries read them there.
    """

    def __init__(
        self, variables: Mapping[str, str], endpoints: Sequence[EndpointSettings], trace: Trace, *, content: bool
    ) -> None:
        os.environ.update(variables)
        ids = RunIds()
        resource = Resource.create({"service.version": own_version()} | _service_name(variables))
        provider = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
        delay_ms = None if "OTEL_BSP_SCHEDULE_DELAY" in variables else _DELAY_MS
        self._processor = BatchSpanProcessor(_LoggedExporter(), schedule_delay_millis=delay_ms)
        provider.add_span_processor(self._processor)
        self.listen: Subscriber = SpanListener(
            provider, ids, endpoints, trace, Content(trace) if content else None
        ).listen
        atexit.register(self.close)

    def close(self) -> None:
        """Wait at most two seconds until the spans that have ended are sent. Later ones are dropped."""
        closing = threading.Thread(target=self._processor.shutdown, daemon=True)
        closing.start()
        closing.join(_EXIT_TIMEOUT_S)


class _LoggedExporter(SpanExporter):
    """The OTLP exporter. Replaces its log messages, one for each attempt, by one until spans arrive again."""

    def __init__(self) -> None:
        self._inner = trace_exporter.OTLPSpanExporter()
        self._failing = False
        logging.getLogger(trace_exporter.__name__).addFilter(self._log_first)
        logging.getLogger(_shared_internal.__name__).setLevel(logging.ERROR)  # a warning for each lost span

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._inner.export(spans)
        if result is SpanExportResult.SUCCESS:
            self._failing = False
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()  # type: ignore[no-untyped-call]

    def _log_first(self, record: logging.LogRecord) -> bool:
        if not self._failing:
            self._failing = True
            log.warning(
                "The OpenTelemetry collector does not accept the spans of Candor. Runs are not affected, but their "
                "spans are lost. Check OTEL_EXPORTER_OTLP_ENDPOINT. Reason: %s", record.getMessage(),
            )  # fmt: skip
        return False


def _service_name(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the name of the service unless a variable sets it."""
    named = "OTEL_SERVICE_NAME" in variables or "service.name=" in variables.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return {} if named else {"service.name": "candor"}
