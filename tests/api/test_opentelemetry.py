"""Runs as OpenTelemetry traces: the command line, the service and evaluations, with a real OTLP receiver."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from api.settings import OpenTelemetry, load_settings
from multi_agent import telemetry
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Usage
from multi_agent.storage.trace import Trace
from multi_agent.telemetry.otlp import SpanExport
from multi_agent.telemetry.spans import trace_id_of
from multi_agent.values.events import Event, RunFinished, RunStarted
from multi_agent.values.request import Request
from support.collector import Collector, ReceivedSpan
from support.database import make_engine
from support.panel import Panel
from support.ports import free_port
from support.service import ServiceProcess
from support.waiting import LIMIT_S, until

QUESTION = "Down to which temperature does the Borea 12 work?"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as running:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", running.url)
        yield running


@pytest.fixture
def model(serve: Callable[..., EndpointSettings], use_model: Callable) -> None:
    use_model(serve(Panel("-25 °C")))


def the_run(collector: Collector) -> ReceivedSpan:
    until(lambda: collector.roots)
    [root] = collector.roots
    return root


@pytest.mark.usefixtures("model")
class TestCommandLine:
    def test_a_run_is_one_trace(self, run: Callable, folder: Path, collector: Collector) -> None:
        answer = run("ask", QUESTION, folder, "--json").json
        root, spans = the_run(collector), collector.spans
        assert root.trace_id == f"{trace_id_of(answer['run_id']):032x}"
        assert {span.trace_id for span in spans} == {root.trace_id}
        assert (root.attributes["candor.run_id"], root.attributes["candor.status"]) == (answer["run_id"], "answered")
        steps = {span.span_id: span for span in collector.named("invoke_agent ") if span.parent_id == root.span_id}
        calls = collector.named("chat scripted")
        assert {step.attributes["gen_ai.agent.name"] for step in steps.values()} >= {"Retriever", "Synthesizer"}
        assert len(calls) == answer["usage"]["model_calls"]
        assert sum(call.attributes["gen_ai.usage.input_tokens"] for call in calls) == answer["usage"]["prompt_tokens"]
        for span in (*calls, *steps.values()):
            parent = steps.get(span.parent_id, root)
            assert parent.start <= span.start <= span.end <= parent.end
        [synthesis] = [call for call in calls if call.attributes["gen_ai.agent.name"] == "Synthesizer"]
        assert steps[synthesis.parent_id].name == "invoke_agent Synthesizer"
        assert synthesis.attributes["gen_ai.response.finish_reasons"] == ["stop"]
        assert synthesis.attributes["server.address"] == "127.0.0.1"
        assert collector.resources[0]["service.name"] == "candor"
        assert b"Borea" not in b"".join(collector.bodies)  # neither the question nor the documents

    def test_content_is_sent_if_a_variable_allows_it(
        self, run: Callable, folder: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(CONTENT, "true")
        run("ask", QUESTION, folder)
        root = the_run(collector)
        assert QUESTION in root.attributes["gen_ai.input.messages"]
        assert "-25 °C" in root.attributes["gen_ai.output.messages"]
        for call in collector.named("chat"):
            assert {"gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"} <= {
                *call.attributes
            }

    def test_an_unreachable_collector_is_logged_once_and_fails_nothing(
        self, run: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{free_port()}")
        assert run("ask", QUESTION, folder).code == 0
        until(lambda: caplog.records)
        assert ["does not accept the spans of Candor" in message for message in caplog.messages] == [True]

    def test_an_evaluation_exports_its_runs(
        self, run: Callable, folder: Path, tmp_path: Path, collector: Collector
    ) -> None:
        questions = tmp_path / "questions.jsonl"
        questions.write_text(json.dumps({"id": "cold", "question": QUESTION, "accepted": ["-25 °C"]}))
        assert run("ingest", folder, "-c", "papers").code == 0
        assert run("eval", "run", questions, "-c", "papers").code == 0
        assert the_run(collector).attributes["gen_ai.data_source.id"] == "papers"

    def test_a_replay_exports_nothing(self, run: Callable, folder: Path, collector: Collector) -> None:
        answer = run("ask", QUESTION, folder, "--json").json
        the_run(collector)
        received = len(collector.spans)
        run("replay", answer["run_id"])
        run("ask", QUESTION, folder)  # its spans come after those of the replay
        until(lambda: len(collector.roots) == 2)
        assert len(collector.spans) == 2 * received


@pytest.mark.usefixtures("model")
def test_the_service_exports_from_its_research_process(tmp_path: Path, collector: Collector) -> None:
    headers = {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20secret", "OTEL_SERVICE_NAME": "panel"}
    with ServiceProcess(tmp_path, **headers) as service:
        files = {"files": ("pump.md", b"# A pump\n\nThe Borea 12 works down to -25 \xc2\xb0C.")}
        job = service.http.post("/v1/collections/papers/documents", files=files).json()
        until(lambda: service.http.get(f"/v1/jobs/{job['id']}").json()["status"] == "done")
        asked = {"question": QUESTION, "collection": "papers"}
        answer = service.http.post("/v1/research", json=asked).json()
        root = the_run(collector)
    assert root.attributes["candor.run_id"] == answer["run_id"]
    assert collector.headers[0]["authorization"] == "Bearer secret"
    assert collector.resources[0]["service.name"] == "panel"


def test_a_collector_that_does_not_answer_delays_no_exit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = RunStarted(request=Request(question="?"), collection="papers", model="large")
    finished = RunFinished(status="answered", reason="", usage=Usage())
    with Collector(hang=True) as collector:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_TIMEOUT": "600"}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        export = SpanExport(variables, (), Trace(make_engine(tmp_path / "candor.db")), content=False)
        for number, body in enumerate((started, finished), 1):
            asyncio.run(export.listen(Event(run_id="run_1", number=number, at=datetime.now(UTC), body=body)))
        until(collector.requested.is_set)
        began = time.monotonic()
        export.close()
        assert time.monotonic() - began < LIMIT_S


class TestSettings:
    def test_it_is_off_by_default(self, tmp_path: Path) -> None:
        assert not load_settings(tmp_path).opentelemetry.enabled

    @pytest.mark.parametrize(
        ("variables", "enabled"),
        [
            ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, True),
            ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
            ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_SDK_DISABLED": "true"}, False),
            ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
            ({"OTEL_SERVICE_NAME": "candor"}, False),
        ],
    )
    def test_a_variable_with_an_address_turns_it_on(self, variables: dict[str, str], enabled: bool) -> None:
        assert OpenTelemetry(variables).enabled is enabled

    def test_another_protocol_is_refused_with_the_one_to_use(self, caplog: pytest.LogCaptureFixture) -> None:
        assert telemetry.make_export({}, "grpc", (), None, content=False) is None  # type: ignore[arg-type]
        assert "supports only 'http/protobuf'" in caplog.text

    def test_missing_packages_are_named(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(telemetry, "find_spec", lambda _: None)
        assert telemetry.make_export({}, "", (), None, content=False) is None  # type: ignore[arg-type]
        assert caplog.record_tuples == [("multi_agent.telemetry", logging.WARNING, caplog.messages[0])]
        assert "pip install 'opentelemetry-exporter-otlp-proto-http>=" in caplog.text
