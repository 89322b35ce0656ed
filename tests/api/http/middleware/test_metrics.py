"""What Prometheus is told: counted from what really happens, and of no more kinds than there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.sync.client import connect

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from support.service import NEVER, QUESTION, RunningService, follow, model
from support.waiting import LIMIT_S, until

Measure = Callable[..., float]


@pytest.fixture
def service(
    make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder
) -> Iterator[RunningService]:
    """A service of its own over two documents, so that nobody else's requests are counted."""
    candor = make_candor(llm=serve(model))
    run_ingest(candor, [folder], "papers", progress=False)
    with RunningService(candor) as running:
        yield running


@pytest.fixture
def client(service: RunningService) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, timeout=LIMIT_S) as opened:
        yield opened


@pytest.fixture
def measure(client: httpx.Client) -> Measure:
    """``measure("candor_runs", status="failed")``: the value now; 0 if it is not told of."""

    def value(name: str, **labels: str) -> float:
        return sum(sample.value for sample in _samples(client, name) if labels.items() <= sample.labels.items())

    return value


def _samples(client: httpx.Client, name: str) -> list:
    families = text_string_to_metric_families(client.get("/metrics").text)
    return [sample for family in families for sample in family.samples if sample.name == name]


def test_what_a_run_took_is_counted(client: httpx.Client, measure: Measure) -> None:
    answer = client.post("/v1/research", json={"question": QUESTION}).json()
    usage = answer["usage"]
    events = [event["body"] for event in follow(client, answer["run_id"])]
    asked = sum(body["usage"]["seconds"] for body in events if body["type"] == "model_called")
    assert measure("candor_runs", status="answered") == 1
    assert measure("candor_runs", status="failed") == 0
    assert measure("candor_model_calls_total", outcome="answered") == usage["model_calls"]
    assert measure("candor_model_tokens_total", kind="prompt") == usage["prompt_tokens"] > 0
    assert measure("candor_model_tokens_total", kind="completion") == usage["completion_tokens"] > 0
    assert measure("candor_model_call_seconds_count") == usage["model_calls"]
    assert measure("candor_model_call_seconds_sum") == pytest.approx(asked)
    assert measure("candor_steps_total", outcome="finished") == answer["summary"]["steps_completed"]
    assert measure("candor_step_seconds_count", agent="Retriever") == 1


def test_the_queue_and_those_who_follow_are_told(
    service: RunningService, client: httpx.Client, measure: Measure
) -> None:
    begun = [client.post("/v1/research", json={"question": NEVER, "wait": False}).json()["run_id"] for _ in range(10)]
    until(lambda: measure("candor_runs", status="running") == 8)
    assert measure("candor_runs", status="waiting") == 2
    first = begun[0]
    with connect(f"{service.url.replace('http', 'ws', 1)}/v1/runs/{first}/ws", open_timeout=LIMIT_S) as socket:
        socket.recv(timeout=LIMIT_S)
        with client.stream("GET", f"/v1/runs/{first}/events") as events:
            lines = events.iter_lines()  # held, for the client hangs up when it is dropped
            next(lines)
            assert measure("candor_active_streams", transport="websocket") == 1
            assert measure("candor_active_streams", transport="sse") == 1
    until(lambda: measure("candor_active_streams") == 0)
    for run_id in begun:
        client.post(f"/v1/runs/{run_id}/cancel")
    until(lambda: measure("candor_runs", status="cancelled") == 10)
    assert follow(client, first)[-1]["body"]["type"] == "run_finished"


def test_requests_are_counted_by_route_and_documents_by_state(client: httpx.Client, measure: Measure) -> None:
    for number in range(20):
        assert client.get(f"/v1/runs/none{number}").status_code == 404
        assert client.get(f"/nowhere/{number}").status_code == 404
    client.request("BREW", "/v1/runs")
    client.post("/v1/search", json={"query": "lentils"})
    assert measure("candor_http_requests_total", route="/v1/runs/{run_id}", status="404") == 20
    assert measure("candor_http_requests_total", route="none", status="404") == 20
    assert measure("candor_http_requests_total", method="other") == 1
    assert measure("candor_http_request_seconds_count", route="/v1/search") == 1
    assert len({sample.labels["route"] for sample in _samples(client, "candor_http_requests_total")}) <= 5
    assert measure("candor_documents", collection="papers", state="indexed") == 2
    assert measure("candor_chunks", collection="papers") == 2
    assert measure("process_resident_memory_bytes") > 10_000_000


def test_it_is_in_the_format_that_prometheus_asks_for(client: httpx.Client) -> None:
    response = client.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
