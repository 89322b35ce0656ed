"""The audit log records who read or changed what over the service, when, and from which address."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sql
from websockets.sync.client import connect

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from support.service import QUESTION, RunningService, model
from support.waiting import LIMIT_S


@pytest.fixture
def candor(make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path) -> Candor:
    """Candor with two documents in the collection `papers`."""
    candor = make_candor(llm=serve(model))
    run_ingest(candor, [folder], "papers", progress=False)
    return candor


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def entries(http: httpx.Client, **query: Any) -> list[dict[str, Any]]:
    """Return entries, oldest first, without requests for the audit log itself."""
    found = http.get("/v1/audit", params=query).json()
    return [each for each in reversed(found) if each["action"] != "GET /v1/audit"]


def test_reads_and_changes_are_recorded(http: httpx.Client, candor: Candor) -> None:
    made = http.post("/v1/keys", json={"name": "Reader", "rights": {"papers": "read"}}).json()
    key, headers = made["key"]["id"], {"X-API-Key": made["secret"]}
    document = candor.ledger.list("papers")[0].id
    http.post("/v1/search", json={"collection": "papers", "query": "pumps"}, headers=headers)
    http.get(f"/v1/documents/{document}/text?collection=papers", headers=headers)
    http.delete(f"/v1/documents/{document}?collection=papers", headers=headers)
    http.get("/v1/documents?collection=secret", headers=headers)
    run = http.post("/v1/research", json={"question": QUESTION}, headers=headers).json()["run_id"]
    http.get(f"/v1/runs/{run}/events", headers=headers)
    with connect(
        f"ws{str(http.base_url)[4:].rstrip('/')}/v1/runs/{run}/ws", additional_headers=headers, open_timeout=LIMIT_S
    ) as socket:
        list(socket)

    recorded = entries(http, key=key)
    assert [(each["action"], each["status"], each["collections"]) for each in recorded] == [
        ("POST /v1/search", 200, ["papers"]),
        ("GET /v1/documents/{document}/text", 200, ["papers"]),
        ("DELETE /v1/documents/{document}", 403, ["papers"]),
        ("GET /v1/documents", 404, ["secret"]),
        ("POST /v1/research", 200, ["papers"]),
        ("GET /v1/runs/{run_id}/events", 200, ["papers"]),
        ("WEBSOCKET /v1/runs/{run_id}/ws", 101, ["papers"]),
    ]
    assert recorded[1]["target"] == f"/v1/documents/{document}/text?collection=papers"
    assert {(each["name"], each["address"]) for each in recorded} == {("Reader", "127.0.0.1")}
    assert [each["action"] for each in entries(http, key="")] == ["POST /v1/keys"], "by the local user"
    assert len(entries(http, collection="papers")) == 6
    assert made["secret"] not in http.get("/v1/audit").text


def test_entries_are_paged_and_listed_by_the_cli(http: httpx.Client, run: Callable[..., Any]) -> None:
    for number in range(5):
        http.get(f"/v1/runs/run_{number}")
    first = http.get("/v1/audit?limit=2&text=run_")
    second = http.get(first.links["next"]["url"])
    targets = [each["target"] for each in first.json() + second.json()]
    assert targets == [f"/v1/runs/run_{number}" for number in (4, 3, 2, 1)]
    listed = run("audit", "--text", "run_3", "--json").json
    assert [each["target"] for each in listed] == ["/v1/runs/run_3"]
    assert "127.0.0.1" in run("audit").out


def test_anonymous_requests_are_not_recorded(http: httpx.Client) -> None:
    assert http.get("/v1/runs", headers={"X-API-Key": "candor_wrong"}).status_code == 401
    assert entries(http) == []


def test_mcp_requests_are_recorded_with_the_tool_call(http: httpx.Client) -> None:
    arguments = {"query": "pumps", "collection": "papers"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": arguments}}
    headers = {"Accept": "application/json, text/event-stream"}
    assert http.post("/mcp", json=call, headers=headers).status_code == 200
    [entry] = entries(http)
    assert entry["action"] == "POST /mcp"
    assert json.loads(entry["target"].removeprefix("/mcp "))["params"]["arguments"] == arguments


def test_public_paths_are_not_recorded(http: httpx.Client) -> None:
    for path in ("/", "/healthz", "/openapi.json", "/v1/me"):
        assert http.get(path).status_code == 200
    assert entries(http) == []


def test_a_response_is_withheld_if_recording_fails(http: httpx.Client, candor: Candor) -> None:
    with candor.engine.begin() as connection:
        assert http.get("/v1/collections").status_code == 200
        connection.execute(sql.text("ALTER TABLE audit RENAME TO elsewhere"))
    refused = http.get("/v1/documents?collection=papers")
    assert (refused.status_code, refused.json()["title"]) == (503, "Database unavailable")
    assert "pumps" not in refused.text
    with candor.engine.begin() as connection:
        connection.execute(sql.text("ALTER TABLE elsewhere RENAME TO audit"))
    assert http.get("/v1/documents?collection=papers").status_code == 200
    assert [each["action"] for each in entries(http)] == ["GET /v1/collections", "GET /v1/documents"]


def test_concurrent_requests_are_all_recorded(http: httpx.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: http.get(f"/v1/runs/run_{number}"), range(100)))
    assert sorted(each["target"] for each in entries(http)) == sorted(f"/v1/runs/run_{number}" for number in range(100))
