"""The service below a path of a proxy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from pydantic import ValidationError

from api.bootstrap import Candor
from api.http.routes.viewer import FOLDER
from api.settings import ServiceSettings
from support.service import RunningService
from support.waiting import LIMIT_S


@pytest.fixture
def below(make_candor: Callable[..., Candor]) -> Iterator[httpx.Client]:
    candor = make_candor(service=ServiceSettings(root_path="candor/"))
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


@pytest.mark.parametrize("prefix", ["", "/candor"], ids=["removed by the proxy", "kept by the proxy"])
def test_the_page_and_its_requests_work(below: httpx.Client, prefix: str) -> None:
    page = below.get(f"{prefix}/").text
    files = re.findall(r'(?:href|src)="([^"#]+)"', page)
    assert "viewer/main.js" in files
    answers = {path: below.get(f"{prefix}/{path}").status_code for path in [*files, "v1/me", "docs", "openapi.json"]}
    assert set(answers.values()) == {200}, answers


def test_addresses_of_answers_have_the_path(below: httpx.Client) -> None:
    assert below.get("/candor").headers["location"] == "/candor/"
    assert below.get("/openapi.json").json()["servers"] == [{"url": "/candor"}]
    assert below.get("/candor/docs/").headers["location"] == "/candor/docs"
    added = below.post("/candor/v1/memories", json={"text": "The fee is in euros."})
    assert added.headers["location"] == f"/candor/v1/memories/{added.json()['id']}"
    assert below.get("/v1/audit", params={"limit": 1}).headers["link"].startswith("</candor/v1/audit?limit=1&before=")


def test_the_page_names_no_address_from_the_root() -> None:
    absolute = re.compile(r"""(?:href|src)="/|["'`]/(?:v1|viewer|docs|healthz|openapi)\b""")
    found = {path.name for path in FOLDER.rglob("*.*") if absolute.search(path.read_text(encoding="utf-8"))}
    assert found == set()


@pytest.mark.parametrize("path", ["https://example.org/candor", "/a?b=1", "/a b"])
def test_what_is_no_path_is_rejected(path: str) -> None:
    with pytest.raises(ValidationError, match="must be the path of a URL"):
        ServiceSettings(root_path=path)
