"""A very long text is wrong input on every route, in every place of a request."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from support.routes import ROUTES, Rule
from support.service import RunningService, model
from support.waiting import LIMIT_S

LONG = "x" * 60_000
SHORT = {"collection": "papers"} | dict.fromkeys(("document", "run", "approval", "evaluation", "table"), "none")
ASKED = [
    (route, rule) for route, rule in ROUTES.items()
    if not route.startswith(("MOUNT", "WEBSOCKET"))
]  # fmt: skip


def with_long_texts(body: Any) -> Iterator[Any]:
    """Yield the body with each of its texts replaced by a long one."""
    if isinstance(body, str):
        yield LONG
    elif isinstance(body, dict | list):
        for key, value in body.items() if isinstance(body, dict) else enumerate(body):
            for changed in with_long_texts(value):
                whole = copy.deepcopy(body)
                whole[key] = changed
                yield whole


def requests(route: str, rule: Rule) -> Iterator[tuple[str, Any]]:
    """Yield addresses and bodies with one long text each."""
    template, path = route.partition(" ")[2], rule.path.format(**SHORT)
    for placeholder in re.findall(r"\{[^}]+\}", template):
        yield re.sub(r"\{[^}]+\}", "1", template.replace(placeholder, LONG)), rule.body
    for body in with_long_texts(rule.body):
        yield path, body


@pytest.fixture
def http(
    make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path
) -> Iterator[httpx.Client]:
    """A client of a service of its own, because the requests store long texts."""
    candor = make_candor(llm=serve(model))
    run_ingest(candor, [folder], "papers", progress=False)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def test_in_a_path_or_body(http: httpx.Client) -> None:
    for route, rule in ASKED:
        for path, body in requests(route, rule):
            response = http.request(route.partition(" ")[0], path, json=body)
            assert response.status_code < 500, (route, response.text)


def test_in_every_parameter(http: httpx.Client) -> None:
    for path, operations in http.get("/openapi.json").json()["paths"].items():
        for parameter in operations.get("get", {}).get("parameters", ()):
            if parameter["in"] == "query":
                address = path.replace("{collection}", "papers")
                response = http.get(address, params={parameter["name"]: LONG})
                assert response.status_code < 500, (path, parameter["name"], response.text)


def test_in_a_header(http: httpx.Client) -> None:
    response = http.post("/v1/research", json={"question": " "}, headers={"Idempotency-Key": LONG})
    assert response.status_code < 500
