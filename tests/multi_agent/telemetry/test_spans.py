"""Spans from the events of a run: retries, errors, tools, and a run that was resumed in another process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Usage
from multi_agent.storage.trace import Trace
from multi_agent.telemetry.attributes import Content
from multi_agent.telemetry.spans import RunIds, SpanListener, trace_id_of
from multi_agent.values.events import (
    ApprovalRequested,
    Body,
    Event,
    ModelAsked,
    ModelCalled,
    ModelFailed,
    RunFinished,
    RunResumed,
    RunStarted,
    StepFailed,
    StepFinished,
    StepRetried,
    StepStarted,
    ToolCalled,
    ToolReturned,
)
from multi_agent.values.request import Request
from support.database import make_engine

RUN = "run_0123456789ab"
BEGIN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KEY = "k" * 64
SECRET = "the secret sentence"
STARTED = RunStarted(request=Request(question=SECRET), collection="papers", model="large")
FINISHED = RunFinished(status="answered", reason=SECRET, usage=Usage())
USAGE = Usage(model_calls=2, prompt_tokens=100, cached_tokens=40, completion_tokens=10, seconds=1)
ENDPOINTS = (
    EndpointSettings(provider="openai", base_url="https://llm.example.com/v1", model="large"),
    EndpointSettings(provider="ollama", base_url="http://one:11434", model="twice"),
    EndpointSettings(provider="ollama", base_url="http://two:11434", model="twice"),
)


class Process:
    """A process that exports spans."""

    def __init__(self, trace: Trace, *, content: bool = False) -> None:
        self._exporter, ids = InMemorySpanExporter(), RunIds()
        provider = TracerProvider(id_generator=ids)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        kept = Content(trace) if content else None
        self._listener = SpanListener(provider, ids, ENDPOINTS, trace, kept)

    def hear(self, *bodies: Body | tuple[str, Body], after: int = 0) -> None:
        """Publish bodies, one each second, with their step if there is one."""
        for number, each in enumerate(bodies, after + 1):
            step, body = each if isinstance(each, tuple) else ("", each)
            at = BEGIN + timedelta(seconds=number)
            asyncio.run(self._listener.listen(Event(run_id=RUN, number=number, at=at, step=step, body=body)))

    def span(self, name: str) -> Any:
        [found] = [span for span in self.spans if span.name == name]
        return found

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()


@pytest.fixture
def trace(tmp_path: Any) -> Trace:
    return Trace(make_engine(tmp_path / "candor.db"))


def step(agent: str = "Reader") -> StepStarted:
    return StepStarted(agent=agent, instruction=SECRET, reads=())


def asked(key: str, model: str = "large", caller: str = "Reader") -> ModelAsked:
    return ModelAsked(caller=caller, model=model, prompt_tokens=1, key=key)


def called(key: str, **more: Any) -> ModelCalled:
    given = {"caller": "Reader", "model": "large", "occurrence": 0, "replayed": False, "usage": USAGE, **more}
    return ModelCalled.model_validate({"key": key, **given})


def seconds(span: ReadableSpan) -> tuple[float, float]:
    assert span.start_time is not None
    assert span.end_time is not None
    begin = BEGIN.timestamp()
    return span.start_time / 1e9 - begin, span.end_time / 1e9 - begin


class TestModelCalls:
    def test_a_call_has_the_attributes_of_the_conventions(self, trace: Trace) -> None:
        process = Process(trace)
        process.hear(
            STARTED, ("s1", step()), ("s1", asked("k")),
            ("s1", called("k", faults=(SECRET,), finish_reason="stop", response_model="large-2026")),
            ("s1", StepFinished(agent="Reader", wrote={}, seconds=2.5)), FINISHED,
        )  # fmt: skip
        call = process.span("chat large")
        assert dict(call.attributes) == {
            "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.agent.name": "Reader",
            "gen_ai.request.model": "large", "gen_ai.response.model": "large-2026",
            "gen_ai.request.max_tokens": 4096, "gen_ai.output.type": "json",
            "gen_ai.response.finish_reasons": ("stop",), "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 10, "gen_ai.usage.cache_read.input_tokens": 40,
            "server.address": "llm.example.com", "server.port": 443, "candor.requests": 2,
            "candor.rejected_responses": 1,
        }  # fmt: skip
        assert (call.kind.name, seconds(call)) == ("CLIENT", (3, 4))
        reader, run = process.span("invoke_agent Reader"), process.span("invoke_agent candor")
        assert call.parent.span_id == reader.context.span_id
        assert (reader.parent.span_id, run.parent) == (run.context.span_id, None)
        assert (seconds(reader), seconds(run)) == ((2, 4.5), (1, 6))
        assert run.context.trace_id == trace_id_of(RUN)

    def test_parallel_calls_are_matched_by_their_request(self, trace: Trace) -> None:
        process = Process(trace)
        process.hear(
            STARTED, ("s1", step()), ("s1", asked("slow")), ("s1", asked("fast")), ("s1", called("fast")),
            ("s1", called("slow")), FINISHED,
        )  # fmt: skip
        calls = [seconds(span) for span in process.spans if span.name == "chat large"]
        assert calls == [(4, 5), (3, 6)]

    def test_a_failed_call_fails_without_its_message(self, trace: Trace) -> None:
        process = Process(trace)
        failed = ModelFailed(
            caller="Planner", model="large", error_type="LLMTimeout", error=SECRET, usage=Usage(), key="k"
        )
        process.hear(STARTED, asked("k", caller="Planner"), failed, FINISHED)
        call = process.span("chat large")
        assert (call.attributes["error.type"], call.status.description) == ("LLMTimeout", "LLMTimeout")
        assert call.parent.span_id == process.span("invoke_agent candor").context.span_id

    def test_a_call_that_the_journal_answers_has_no_span(self, trace: Trace) -> None:
        process = Process(trace)
        process.hear(STARTED, called("k", replayed=True), FINISHED)
        assert [span.name for span in process.spans] == ["invoke_agent candor"]

    def test_the_address_is_unknown_if_two_endpoints_have_the_model(self, trace: Trace) -> None:
        process = Process(trace)
        process.hear(STARTED, asked("k", "twice"), called("k", model="twice"), FINISHED)
        attributes = process.span("chat twice").attributes
        assert attributes["gen_ai.provider.name"] == "_OTHER"
        assert "server.address" not in attributes


class TestSteps:
    def test_a_retried_step_is_one_span_with_an_event(self, trace: Trace) -> None:
        process = Process(trace)
        process.hear(
            STARTED, ("s1", step()), ("s1", StepRetried(agent="Reader", error=SECRET)), ("s1", step()),
            ("s1", StepFailed(agent="Reader", error_type="StepError", error=SECRET)), FINISHED,
        )  # fmt: skip
        span = process.span("invoke_agent Reader")
        assert [event.name for event in span.events] == ["candor.step_retried"]
        assert (span.attributes["error.type"], span.status.description) == ("StepError", "StepError")
        assert seconds(span) == (2, 5)

    def test_parallel_agents_of_a_step_have_their_own_spans(self, trace: Trace) -> None:
        process = Process(trace)
        process.hear(
            STARTED, ("s1", step("A")), ("s1", step("B")), ("s1", asked("k", caller="B")),
            ("s1", called("k", caller="B")), ("s1", StepFinished(agent="B", wrote={}, seconds=1)),
            ("s1", StepFinished(agent="A", wrote={}, seconds=1)), FINISHED,
        )  # fmt: skip
        assert process.span("chat large").parent.span_id == process.span("invoke_agent B").context.span_id

    def test_what_a_cancelled_run_leaves_open_is_cancelled(self, trace: Trace) -> None:
        process = Process(trace)
        process.hear(
            STARTED, ("s1", step()), ("s1", asked("k")), RunFinished(status="cancelled", reason="", usage=Usage())
        )
        assert [span.attributes and span.attributes["error.type"] for span in process.spans] == ["cancelled"] * 3


class TestTools:
    CALL = ToolCalled(
        agent="Reader", tool="web_search", arguments={"q": SECRET}, why=SECRET, key="k" * 64, occurrence=1
    )

    def returned(self, **more: Any) -> ToolReturned:
        given = {"agent": "Reader", "tool": "web_search", "key": self.CALL.key, "occurrence": 1, "seconds": 1, **more}
        return ToolReturned.model_validate({"result": SECRET, "passages": 0, **given})

    def test_a_tool_call_is_a_span_of_its_step(self, trace: Trace) -> None:
        process = Process(trace)
        approval = ApprovalRequested(approval_id="a", agent="Reader", tool="web_search", arguments={}, reason=SECRET)
        process.hear(
            STARTED, ("s1", step()), ("s1", self.CALL), ("s1", approval), ("s1", self.returned(error=SECRET)),
            ("s1", StepFinished(agent="Reader", wrote={}, seconds=9)), FINISHED,
        )  # fmt: skip
        tool, reader = process.span("execute_tool web_search"), process.span("invoke_agent Reader")
        assert dict(tool.attributes) == {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "web_search", "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": f"{KEY[:16]}-1", "gen_ai.agent.name": "Reader", "error.type": "ToolError",
        }  # fmt: skip
        assert tool.parent.span_id == reader.context.span_id
        assert [event.name for event in reader.events] == ["candor.approval_requested"]

    def test_a_stored_result_has_no_span(self, trace: Trace) -> None:
        process = Process(trace)
        process.hear(STARTED, ("s1", self.CALL), ("s1", self.returned(replayed=True)), FINISHED)
        assert [span.name for span in process.spans] == ["invoke_agent candor"]

    def test_content_is_exported_only_if_it_is_allowed(self, trace: Trace) -> None:
        bodies = (STARTED, ("s1", self.CALL), ("s1", self.returned(error=SECRET)))
        without, complete = Process(trace), Process(trace, content=True)
        for process in (without, complete):
            process.hear(*bodies, RunFinished(status="failed", reason=SECRET, usage=Usage()))
        assert SECRET not in "".join(span.to_json() for span in without.spans)
        tool, run = complete.span("execute_tool web_search"), complete.span("invoke_agent candor")
        assert tool.attributes["gen_ai.tool.call.arguments"] == f'{{"q": "{SECRET}"}}'
        assert (tool.attributes["gen_ai.tool.call.result"], tool.status.description) == (SECRET, SECRET)
        assert SECRET in run.attributes["gen_ai.input.messages"]


def test_a_resumed_run_continues_its_trace(trace: Trace) -> None:
    trace.start(RUN, Request(question="?"), "papers", "large")
    trace.record(Event(run_id=RUN, number=1, at=BEGIN, body=STARTED))
    killed, second = Process(trace), Process(trace)
    killed.hear(STARTED, ("s1", step()), ("s1", asked("k")), ("s1", called("k")))
    resumed = RunResumed(times=1, answered=1)
    second.hear(resumed, ("s1", step()), ("s1", called("k", replayed=True)), FINISHED, after=4)
    run, call = second.span("invoke_agent candor"), killed.span("chat large")
    assert call.context.trace_id == run.context.trace_id == trace_id_of(RUN)
    assert run.attributes["gen_ai.data_source.id"] == "papers"
    assert run.start_time // 10**9 == int(trace.run(RUN).started_at.timestamp())
    assert [event.name for event in run.events] == ["candor.run_resumed"]


def test_a_defect_of_the_export_does_not_reach_the_run(trace: Trace, caplog: pytest.LogCaptureFixture) -> None:
    process = Process(trace)
    process.hear(FINISHED)  # of a run that is not stored
    assert "was not exported to OpenTelemetry" in caplog.text
