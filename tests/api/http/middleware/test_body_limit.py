"""What a request may hold: enough for every question, and too little to take the service's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import ServiceSettings
from multi_agent.llm.settings import EndpointSettings
from support.service import RunningService, model
from support.waiting import LIMIT_S

MOST = 2000


@pytest.fixture
def http(make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder) -> Iterator[httpx.Client]:
    """A client of a service that takes little."""
    candor = make_candor(llm=serve(model), service=ServiceSettings(request_bytes=MOST))
    run_ingest(candor, [folder], "papers", progress=False)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def test_a_body_that_is_too_large_is_refused_without_reading_its_rest(http: httpx.Client) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"query": "'
        for _ in range(10):
            yield b"x" * MOST

    response = http.post("/v1/search", content=pieces(), headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["title"]) == (413, "Upload too large")
    assert "service.request_bytes" in response.json()["detail"]
    assert response.headers["connection"] == "close", "what is left of it is not waited for"


def test_whatever_it_says_it_is(http: httpx.Client) -> None:
    for kind in ("application/json", "multipart/form-data; boundary=x", "text/plain"):
        response = http.post("/v1/search", content=b"x" * (MOST + 1), headers={"Content-Type": kind})
        assert response.status_code == 413, kind
    chat = http.post("/v1/chat/completions", json={"model": "papers", "messages": ["x" * MOST]})
    assert (chat.status_code, chat.json()["error"]["type"]) == (413, "invalid_request_error")
    assert http.post("/mcp", content=b"x" * (MOST + 1)).status_code == 413


def test_uploads_have_limits_of_their_own(http: httpx.Client) -> None:
    files = {"files": ("pump.md", b"# A pump\n\n" + b"It pumps. " * MOST)}
    assert http.post("/v1/collections/papers/documents", files=files).status_code == 202
    assert http.post("/v1/search", json={"query": "x" * (MOST // 2)}).status_code == 200
