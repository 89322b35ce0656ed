"""Web addresses and sources over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.auth.keys import KeyRequest
from api.bootstrap import Candor
from api.jobs import handlers
from api.settings import ServiceSettings
from ingest.ledger.sources import SourceRecord
from ingest.settings import IngestSettings
from support.git import GitServer, Repository
from support.service import RunningService
from support.waiting import LIMIT_S, until
from support.web import Page, Web

TEXT = "<title>Pumps</title><body><h1>Pumps</h1><p>The Borea works down to -25 degrees.</p>{}</body>"


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as started:
        started.pages["/docs/"] = Page(TEXT.format("<a href=a>a</a>").encode())
        started.pages["/docs/a"] = Page(TEXT.format("<p>A</p>").encode())
        yield started


@pytest.fixture
def candor(make_candor: Callable[..., Candor]) -> Candor:
    return make_candor(service=ServiceSettings(), ingest=IngestSettings(allow_private_addresses=True))


@pytest.fixture
def http(candor: Candor, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    monkeypatch.setattr(handlers, "_LOOK_S", 0.1)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def ended(http: httpx.Client, begun: httpx.Response) -> dict[str, Any]:
    assert begun.status_code == 202, begun.text
    until(lambda: http.get(begun.headers["location"]).json()["status"] not in ("waiting", "running"))
    job: dict[str, Any] = http.get(begun.headers["location"]).json()
    return job


def documents(http: httpx.Client) -> list[dict[str, Any]]:
    listed = http.get("/v1/documents", params={"collection": "papers"}).json()
    return [each for each in listed if each["state"] != "removed"]


def test_web_addresses_are_ingested(http: httpx.Client, web: Web) -> None:
    urls = [web.url("/docs/a"), web.url("/none")]
    report = ended(http, http.post("/v1/collections/papers/ingest", json={"urls": urls}))["result"]
    assert (report["indexed"], [each["name"] for each in report["failed"]]) == (1, [web.url("/none")])
    [document] = documents(http)
    assert document["metadata"]["url"] == urls[0]
    original = http.get(f"/v1/documents/{document['id']}/original", params={"collection": "papers"})
    assert original.content == web.pages["/docs/a"].body


def test_what_is_no_web_address_is_refused(http: httpx.Client) -> None:
    for url in ("file:///etc/passwd", "ftp://x.org/a", "/etc/passwd"):
        answer = http.post("/v1/collections/papers/ingest", json={"urls": [url]})
        assert (answer.status_code, "not an address of the web" in answer.text) == (422, True)


def test_a_source_is_added_synced_listed_and_removed(http: httpx.Client, web: Web) -> None:
    added = http.post("/v1/collections/papers/sources", json={"address": web.url("/docs/"), "name": "handbook"})
    assert (added.status_code, added.json()["state"]) == (201, "not synced")
    sync = "/v1/collections/papers/sources/handbook/sync"
    assert ended(http, http.post(sync))["result"]["indexed"] == 2
    del web.pages["/docs/a"]
    assert len(ended(http, http.post(sync))["result"]["removed"]) == 1
    assert len(documents(http)) == 1
    [listed] = http.get("/v1/sources", params={"collection": "papers"}).json()
    assert (listed["state"], listed["documents"], bool(listed["synced_at"])) == ("synced", 1, True)
    web.pages.clear()
    failed = ended(http, http.post(sync))
    assert (failed["status"], "404" in failed["error"]) == ("failed", True)
    assert http.get("/v1/sources").json()[0]["state"] == "failed"
    assert http.delete("/v1/collections/papers/sources/handbook").json() == {"removed": "handbook", "documents": 1}
    assert (documents(http), http.get("/v1/sources").json()) == ([], [])


def test_the_service_syncs_a_source_with_a_schedule(http: httpx.Client, web: Web) -> None:
    source = {"address": web.url("/docs/"), "name": "handbook", "every": "2h"}
    assert http.post("/v1/collections/papers/sources", json=source).json()["every"] == "2h"

    def listed() -> dict[str, Any]:
        found: dict[str, Any] = http.get("/v1/sources").json()[0]
        return found

    until(lambda: listed()["state"] == "synced")
    synced, planned = (datetime.fromisoformat(listed()[name]) for name in ("synced_at", "next_sync"))
    assert planned - synced == timedelta(hours=2)
    assert http.post("/v1/collections/papers/sources", json=source | {"every": "2 hours"}).status_code == 422
    changed = http.post("/v1/collections/papers/sources", json=source | {"every": ""}).json()
    assert (changed["every"], changed["next_sync"], changed["documents"]) == ("", None, 2)


def test_a_source_that_was_never_synced_is_removed(http: httpx.Client, web: Web) -> None:
    http.post("/v1/collections/papers/sources", json={"address": web.url("/docs/"), "name": "handbook"})
    assert http.delete("/v1/collections/papers/sources/handbook").json()["documents"] == 0


def test_a_repository_is_added_and_synced(http: httpx.Client, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "pumps.git")
    repository.commit({"a.md": "# A"})
    repository.commit({"a.md": "# B", "b.md": "# B"}, branch="next")
    with GitServer(tmp_path) as server:
        body = {"address": f"git+{server.url('pumps.git')}", "name": "pumps", "options": {"ref": "next"}}
        assert http.post("/v1/collections/papers/sources", json=body).json()["options"] == {"ref": "next"}
        assert ended(http, http.post("/v1/collections/papers/sources/pumps/sync"))["result"]["indexed"] == 2
    assert http.get("/v1/sources").json()[0]["options"] == {"ref": "next"}
    body["options"]["password"] = {"key": "other"}  # type: ignore[index]
    assert http.post("/v1/collections/papers/sources", json=body).status_code == 422, (
        "keys of the settings are not theirs"
    )


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc",
        "memory://x",
        "llama_index:llama_index.core.readers.SimpleDirectoryReader",
        "zip://a",
        "git+file:///etc",
        "git@x.org:a.git",
        "imaps://x.org/",
    ],
)
def test_sources_that_read_this_machine_or_run_code_are_refused(http: httpx.Client, address: str) -> None:
    answer = http.post("/v1/collections/papers/sources", json={"address": address})
    assert (answer.status_code, "candor sources add" in answer.text) == (422, True)


def test_options_of_other_sources_are_not_shown(http: httpx.Client, candor: Candor) -> None:
    candor.sources.add(SourceRecord(collection="papers", name="", address="memory://x", options={"token": "hush"}))
    shown = http.get("/v1/sources").text
    assert ("memory://x" in shown, "hush" in shown) == (True, False)


def test_sources_of_other_collections_are_not_shown(http: httpx.Client, candor: Candor, tmp_path: Path) -> None:
    for collection in ("papers", "mail"):
        candor.sources.add(SourceRecord(collection=collection, name="shelf", address="memory://x"))
    key = candor.keys.add(KeyRequest(name="reader", rights={"mail": "read"})).secret
    listed = http.get("/v1/sources", headers={"Authorization": f"Bearer {key}"}).json()
    assert [each["collection"] for each in listed] == ["mail"]
