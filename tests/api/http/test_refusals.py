"""What the service does not do, and how it says so: problems with a remedy, and nothing for pages from elsewhere."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from support.service import QUESTION, RunningService, model
from support.waiting import LIMIT_S
from vectorstore.edge.lock import CollectionLock

RESEARCH = {"question": QUESTION, "collection": "papers"}


def test_a_body_that_is_no_text_is_a_wrong_input_like_one_that_is_no_json(http: httpx.Client) -> None:
    for body in (b"\xff", b"{"):
        response = http.post("/v1/search", content=body, headers={"Content-Type": "application/json"})
        assert (response.status_code, response.json()["title"]) == (422, "Wrong input")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("GET", "/v1/documents?collection=none", None, 404, "no collection 'none'"),
        ("GET", "/v1/documents/none?collection=papers", None, 404, "no document 'none'"),
        ("GET", "/v1/documents/none/text?collection=papers", None, 404, "no document 'none'"),
        ("DELETE", "/v1/documents/none?collection=papers", None, 404, "no document 'none'"),
        ("POST", "/v1/search", {"query": "x", "collection": "none"}, 404, "'none'"),
        ("POST", "/v1/research", RESEARCH | {"collection": "none"}, 404, "'none'"),
        ("GET", "/v1/runs/run_none", None, 404, "no run 'run_none'"),
        ("GET", "/v1/runs/run_none/events", None, 404, "no run 'run_none'"),
        ("GET", "/v1/runs/run_none/journal", None, 404, "no run 'run_none'"),
        ("POST", "/v1/runs/run_none/cancel", None, 404, "no run 'run_none'"),
        ("GET", "/v1/none", None, 404, "Not Found"),
        ("PUT", "/v1/runs", None, 405, "Method Not Allowed"),
        ("POST", "/v1/search", {"query": "  ", "collection": "papers"}, 422, "body.query"),
        ("POST", "/v1/search", {"query": "x", "limit": 0}, 422, "body.limit"),
        ("POST", "/v1/search", {"query": "x", "colour": "red"}, 422, "body.colour"),
        ("POST", "/v1/research", RESEARCH | {"question": " "}, 422, "The question is empty"),
        (
            "POST",
            "/v1/research",
            RESEARCH | {"question": "why " * 6000},
            422,
            "24,000 characters, but the maximum is 20,000",
        ),
        ("POST", "/v1/search", {"query": "why " * 6000}, 422, "at most 20000 characters"),
        ("POST", "/v1/research", RESEARCH | {"mode": "slow"}, 422, "body.mode"),
        ("POST", "/v1/research", RESEARCH | {"mode": "direct"}, 422, "needs an agent's name"),
        ("POST", "/v1/research", RESEARCH | {"agent": "Nobody"}, 422, "'Nobody' does not exist"),
        ("POST", "/v1/research", RESEARCH | {"agent": "Extractor"}, 422, "cannot be asked directly"),
        ("POST", "/v1/research", RESEARCH | {"template": "none"}, 422, "no plan 'none'"),
        ("POST", "/v1/research", RESEARCH | {"budget": {"tokens": -1}}, 422, "body.budget.tokens"),
        ("GET", "/v1/documents?collection=papers&state=lost", None, 422, "query.state"),
        ("GET", "/v1/runs?limit=none", None, 422, "query.limit"),
    ],
)
def test_what_is_wrong_is_a_problem_that_says_what_to_do(
    http: httpx.Client, method: str, path: str, body: Any, status: int, says: str
) -> None:
    response = http.request(method, path, json=body)
    problem = response.json()
    assert (response.status_code, problem["status"]) == (status, status)
    assert response.headers["content-type"] == "application/problem+json"
    assert set(problem) == {"type", "title", "status", "detail", "remedy"}
    assert re.search(says, problem["detail"])
    assert problem["remedy"]
    assert "default-src 'self'" in response.headers["content-security-policy"]


def test_nothing_refused_becomes_a_run(http: httpx.Client) -> None:
    before = http.get("/v1/runs?limit=1000").json()
    assert http.post("/v1/research", json=RESEARCH | {"agent": "Nobody", "wait": False}).status_code == 422
    assert http.get("/v1/runs?limit=1000").json() == before


@pytest.mark.parametrize("host", ["candor.example.com", "127.0.0.1", "127.0.0.1:1", "localhost", "0.0.0.0", "[::1"])
def test_a_host_header_that_does_not_name_this_service_is_refused(http: httpx.Client, host: str) -> None:
    """A page whose own name was made to point to this machine could else read what it likes."""
    response = http.get("/v1/collections", headers={"Host": host})
    assert response.status_code == 421
    assert repr(host) in response.json()["detail"]


def test_the_names_of_this_machine_are_its_own(http: httpx.Client) -> None:
    port = http.base_url.port
    for host in (f"localhost:{port}", f"LOCALHOST:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert http.get("/healthz", headers={"Host": host, "Origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize("origin", ["https://example.com", "null", "http://localhost:1"])
def test_pages_from_elsewhere_can_do_nothing_and_read_nothing(http: httpx.Client, origin: str) -> None:
    refused = http.post("/v1/runs/run_1/cancel", headers={"Origin": origin})
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers
    form = http.post("/v1/search", content=json.dumps({"query": "x"}), headers={"Content-Type": "text/plain"})
    assert form.status_code == 422, "what a form of another page can send is not taken for JSON"


def test_it_is_alive_and_ready(http: httpx.Client) -> None:
    assert http.get("/healthz").json() == {"ok": True}
    ready = http.get("/readyz")
    assert ready.status_code == 200
    assert [check["name"] for check in ready.json()["checks"]] == [
        "database", "store", "embedding model", "search", "research",
    ]  # fmt: skip


def test_it_says_what_is_missing(make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings]) -> None:
    candor = make_candor(llm=serve(model), store={"url": "http://127.0.0.1:9", "retry_s": 0})
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        ready = http.get("/readyz")
        assert ready.status_code == 503
        assert [check["name"] for check in ready.json()["checks"] if not check["ok"]] == ["store"]
        problem = http.post("/v1/search", json={"query": "x", "collection": "papers"})
        assert (problem.status_code, problem.json()["title"]) == (503, "Store unavailable")


def test_a_collection_that_another_process_has_is_a_conflict(
    make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path
) -> None:
    candor = make_candor(llm=serve(model))
    run_ingest(candor, [folder], "papers", progress=False)
    lock = CollectionLock(candor.settings.home / "collections" / "papers")
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        for path, body in (("/v1/search", {"query": "x"}), ("/v1/research", {"question": "x"})):
            problem = http.post(path, json=body)
            assert (problem.status_code, problem.json()["title"]) == (409, "Collection in use")
            assert f"process {os.getpid()}" in problem.json()["detail"]
        lock.release()
        assert http.post("/v1/search", json={"query": "lentils"}).status_code == 200, "it can be had now"
    CollectionLock(candor.settings.home / "collections" / "papers").release()  # free, with the service


def test_a_port_that_is_taken_is_named(run: Callable) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        refused = run("serve", "--port", str(port))
    assert refused.code == 2
    assert f"Cannot listen on 127.0.0.1, port {port}" in refused.err


def test_the_description_is_whole(http: httpx.Client) -> None:
    described = http.get("/openapi.json").json()
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            assert route.get("description"), f"{method} {path} says what it does"
            for status, response in route["responses"].items():
                as_openai_tells_it = "application/json" in response.get("content", {}) and route["tags"] == ["chat"]
                if path.startswith("/v1") and int(status) >= 400 and not as_openai_tells_it:
                    content = response["content"]["application/problem+json"]
                    kind = "FailedRun" if status == "502" else "Problem"
                    assert content["schema"] == {"$ref": f"#/components/schemas/{kind}"}
                    assert content["example"]["status"] == int(status)
    assert "HTTPValidationError" not in json.dumps(described)
    assert {"404", "409", "422", "503"} <= set(described["paths"]["/v1/research"]["post"]["responses"])
