"""Turns the events of runs into spans: a trace for each run, with a span for each step, model call and tool call.

    listener = SpanListener(provider, settings.endpoints, trace)
    bus.subscribe(ALL, listener.listen)

Other events become events of the span of their step. Trace ids are derived from run ids, so that a resumed run
continues its trace.
"""

import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from multi_agent.llm.settings import EndpointSettings
from multi_agent.storage.trace import Trace
from multi_agent.telemetry.attributes import (
    Attributes,
    Content,
    call_attributes,
    numbers_of,
    response_attributes,
    run_attributes,
    step_attributes,
    tool_attributes,
)
from multi_agent.values.events import (
    Event,
    ModelAsked,
    ModelCalled,
    ModelFailed,
    ReasoningShared,
    RunFinished,
    RunStarted,
    StepFailed,
    StepFinished,
    StepStarted,
    ToolCalled,
    ToolReturned,
)
from multi_agent.values.evidence_events import ClaimDrafted, DraftWithdrawn

_TRACE_DIGITS, _SPAN_DIGITS = 32, 16


def trace_id_of(run_id: str) -> int:
    """Return the trace id of a run: the first 32 digits of the SHA-256 hash of its id."""
    return int(_hash(run_id)[:_TRACE_DIGITS], 16)


class RunIds(RandomIdGenerator):
    """Generates random ids, except for the span of a run."""

    def __init__(self) -> None:
        self._run: ContextVar[str] = ContextVar("run", default="")

    @contextmanager
    def of_run(self, run_id: str) -> Iterator[None]:
        """Give a root span that is started inside the block the ids of the run."""
        token = self._run.set(run_id)
        try:
            yield
        finally:
            self._run.reset(token)

    def generate_trace_id(self) -> int:
        run_id = self._run.get()
        return trace_id_of(run_id) if run_id else super().generate_trace_id()

    def generate_span_id(self) -> int:
        run_id = self._run.get()
        return int(_hash(run_id)[-_SPAN_DIGITS:], 16) if run_id else super().generate_span_id()


def _hash(run_id: str) -> str:
    return hashlib.sha256(run_id.encode()).hexdigest()


log = logging.getLogger(__name__)

_CANCELLED = "cancelled"  # error type of what a run left unfinished


class SpanListener:
    """Creates the spans of all runs of a process. Subscribe ``listen`` to the bus of each run.

    ``content`` adds questions, prompts, responses and results.
    """

    def __init__(
        self,
        provider: TracerProvider,
        ids: RunIds,
        endpoints: Sequence[EndpointSettings],
        trace: Trace,
        content: Content | None,
    ) -> None:
        self._tracer, self._ids = provider.get_tracer("candor"), ids
        self._endpoints, self._trace, self._content = endpoints, trace, content
        self._runs: dict[str, _RunSpans] = {}

    async def listen(self, event: Event) -> None:
        """Create the spans that the event starts, and end those that it ends. Never raises an exception."""
        try:
            self._listen(event)
        except Exception:
            log.exception("The event %r of run %s was not exported to OpenTelemetry.", event.body.type, event.run_id)

    def _listen(self, event: Event) -> None:
        if event.run_id not in self._runs:
            self._runs[event.run_id] = self._start(event)
        self._runs[event.run_id].add(event)
        if isinstance(event.body, RunFinished):
            del self._runs[event.run_id]

    def _start(self, event: Event) -> "_RunSpans":
        """Start the span of a run. That of a resumed run has the start and the ids of its first attempt."""
        started: RunStarted | None
        if isinstance(event.body, RunStarted):
            started, at = event.body, event.at
        else:
            started, at = self._trace.started(event.run_id), self._trace.run(event.run_id).started_at
        attributes = run_attributes(event.run_id, started)
        if self._content and started:
            attributes |= self._content.of_question(started)
        with self._ids.of_run(event.run_id):
            span = self._tracer.start_span(
                "invoke_agent candor", Context(), attributes=attributes, start_time=_nanoseconds(at)
            )
        return _RunSpans(span, self._tracer, self._endpoints, self._content)


class _RunSpans:
    """The open spans of one run."""

    def __init__(
        self, run: Span, tracer: Tracer, endpoints: Sequence[EndpointSettings], content: Content | None
    ) -> None:
        self._run, self._tracer, self._endpoints, self._content = run, tracer, endpoints, content
        self._steps: dict[tuple[str, str], Span] = {}  # by step and agent
        self._began: dict[tuple[str, str], datetime] = {}
        self._last_call: dict[tuple[str, str], datetime] = {}  # ends of calls
        self._calls: defaultdict[tuple[str, str], list[Span]] = defaultdict(list)  # by step and key, oldest first
        self._tools: dict[tuple[str, int], Span] = {}  # by key and occurrence

    def add(self, event: Event) -> None:
        """Start and end spans."""
        match event.body:
            case RunFinished():
                self._finish_run(event, event.body)
            case StepStarted(agent=agent):
                self._start_step(event, agent)
            case StepFinished(agent=agent, seconds=seconds):
                self._finish_step(event, agent, seconds)
            case StepFailed(agent=agent, error_type=error_type, error=error):
                self._end_step(event, agent, error_type, error)
            case ModelAsked():
                self._calls[event.step, event.body.key].append(self._start_call(event, event.body, event.at))
            case ModelCalled():
                self._end_call(event, event.body)
            case ModelFailed():
                self._fail_call(event, event.body)
            case ToolCalled():
                self._start_tool(event, event.body)
            case ToolReturned():
                self._end_tool(event, event.body)
            case RunStarted() | ReasoningShared() | ClaimDrafted() | DraftWithdrawn():
                pass
            case _:
                span = self._parent(event.step, getattr(event.body, "agent", ""))
                span.add_event(f"candor.{event.body.type}", numbers_of(event.body), _nanoseconds(event.at))

    # Steps

    def _start_step(self, event: Event, agent: str) -> None:
        """Start the span of a step. A retried step keeps its span."""
        self._began[event.step, agent] = event.at
        if (event.step, agent) not in self._steps:
            attributes = step_attributes(agent, event.step)
            self._steps[event.step, agent] = self._start(f"invoke_agent {agent}", self._run, attributes, event.at)

    def _finish_step(self, event: Event, agent: str, seconds: float) -> None:
        """End the span of a step. It ended before its event if it had to wait for agents of the same step."""
        step = (event.step, agent)
        ended = self._began.get(step, event.at) + timedelta(seconds=seconds)
        self._end_step(event, agent, at=min(event.at, max(ended, self._last_call.get(step, ended))))

    def _end_step(
        self, event: Event, agent: str, error_type: str = "", error: str = "", at: datetime | None = None
    ) -> None:
        if (event.step, agent) not in self._steps:  # it could not start
            self._start_step(event, agent)
        self._end(self._steps.pop((event.step, agent)), at or event.at, error_type, error)

    # Model calls

    def _start_call(self, event: Event, call: ModelAsked | ModelCalled | ModelFailed, at: datetime) -> Span:
        attributes = call_attributes(call.model, call.caller, self._endpoints)
        kind = SpanKind.INTERNAL if attributes["gen_ai.provider.name"] == "local" else SpanKind.CLIENT
        return self._start(f"chat {call.model}", self._parent(event.step, call.caller), attributes, at, kind)

    def _end_call(self, event: Event, call: ModelCalled) -> None:
        """End the span of a call. A call that the journal answered has none, because no request was sent."""
        if call.replayed:
            return
        span = self._find_call(event, call)
        self._last_call[event.step, call.caller] = event.at
        span.set_attributes(response_attributes(call))
        if self._content:
            span.set_attributes(self._content.of_call(event.run_id, call))
        self._end(span, event.at)

    def _fail_call(self, event: Event, call: ModelFailed) -> None:
        span = self._find_call(event, call)
        span.set_attribute("candor.requests", call.usage.model_calls)
        self._end(span, event.at, call.error_type, call.error)

    def _find_call(self, event: Event, call: ModelCalled | ModelFailed) -> Span:
        """Return the open span of the call. A call that was not announced gets a new one."""
        if waiting := self._calls.get((event.step, call.key)):
            return waiting.pop(0)
        return self._start_call(event, call, event.at - timedelta(seconds=call.usage.seconds))

    # Tool calls

    def _start_tool(self, event: Event, call: ToolCalled) -> None:
        attributes = tool_attributes(call)
        if self._content:
            attributes |= self._content.of_arguments(call)
        parent = self._parent(event.step, call.agent)
        self._tools[call.key, call.occurrence] = self._start(f"execute_tool {call.tool}", parent, attributes, event.at)

    def _end_tool(self, event: Event, call: ToolReturned) -> None:
        """End the span of a tool call. The span of a call that was answered by its stored result is dropped."""
        span = self._tools.pop((call.key, call.occurrence))
        if call.replayed:
            return
        if self._content:
            span.set_attributes(self._content.of_result(call))
        self._end(span, event.at, "ToolError" if call.error else "", call.error)

    # The run

    def _finish_run(self, event: Event, finished: RunFinished) -> None:
        waiting = [span for spans in self._calls.values() for span in spans]
        for span in (*waiting, *self._tools.values(), *self._steps.values()):
            self._end(span, event.at, _CANCELLED)
        self._run.set_attribute("candor.status", finished.status)
        if finished.usage.cost is not None:
            self._run.set_attribute("candor.cost", finished.usage.cost)
        if self._content and finished.status in ("answered", "partial", "insufficient"):
            self._run.set_attributes(self._content.of_answer(event.run_id))
        self._end(self._run, event.at, finished.status if finished.status in ("failed", _CANCELLED) else "")

    # Spans

    def _parent(self, step: str, agent: str) -> Span:
        """Return the span of the step. The supervisor has no step: its calls belong to the run."""
        return self._steps.get((step, agent), self._run)

    def _start(
        self, name: str, parent: Span, attributes: Attributes, at: datetime, kind: SpanKind = SpanKind.INTERNAL
    ) -> Span:
        context = set_span_in_context(parent, Context())
        return self._tracer.start_span(name, context, kind, attributes, start_time=_nanoseconds(at))

    def _end(self, span: Span, at: datetime, error_type: str = "", error: str = "") -> None:
        """End a span. The message of an error may quote a document, so it counts as content."""
        if error_type:
            span.set_attribute("error.type", error_type)
            span.set_status(Status(StatusCode.ERROR, error if self._content and error else error_type))
        span.end(_nanoseconds(at))


def _nanoseconds(at: datetime) -> int:
    since = at.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(microseconds=1) * 1000
