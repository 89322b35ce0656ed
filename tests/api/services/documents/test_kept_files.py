"""Adding files of a run to its collection, over HTTP and with the CLI."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.auth.keys import KeyRequest
from api.bootstrap import Candor
from api.settings import ServiceSettings
from multi_agent.values.request import Request
from support.service import RunningService
from support.waiting import LIMIT_S, until
from vectorstore.models import WebPage

RUN = "run_000000000001"
URL, ELSEWHERE = "https://example.org/heat/pumps.md", "https://example.net/pumps.md"
PUMPS = b"# Pumps\n\nThe Borea 12 works down to -25 degrees.\n"


def page(url: str) -> WebPage:
    return WebPage(url=url, read_at=datetime(2026, 11, 22, 12, tzinfo=UTC))


def download(candor: Candor, content: bytes = PUMPS, url: str = URL, run_id: str = RUN) -> None:
    candor.tools.sandbox(run_id).write("heat/pumps.md", content, page(url))


@pytest.fixture
def candor(make_candor: Callable[..., Candor]) -> Candor:
    """Return Candor with a run that downloaded one file and wrote another. Its collection does not exist yet."""
    made = make_candor(service=ServiceSettings())
    made.trace.start(RUN, Request(question="How cold?"), "papers", "small")
    download(made)
    made.tools.sandbox(RUN).write("notes.txt", b"Boil the lentils for 20 minutes.")
    return made


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def keep(http: httpx.Client, name: str = "heat/pumps.md", run_id: str = RUN) -> dict[str, Any]:
    """Add a file of the run to its collection and return the ingest report."""
    begun = http.post(f"/v1/runs/{run_id}/files/{name}/ingest")
    assert begun.status_code == 202, begun.text
    until(lambda: http.get(begun.headers["location"]).json()["status"] == "done")
    report: dict[str, Any] = http.get(begun.headers["location"]).json()["result"]
    return report


def documents(http: httpx.Client) -> dict[str, dict[str, Any]]:
    listed = http.get("/v1/documents", params={"collection": "papers"}).json()
    return {each["name"]: each for each in listed if each["state"] != "removed"}


def test_a_kept_file_is_a_document_with_its_address_and_its_original(http: httpx.Client, candor: Candor) -> None:
    assert (keep(http)["indexed"], keep(http, "notes.txt")["indexed"]) == (1, 1)
    kept = documents(http)
    assert kept["heat/pumps.md"]["metadata"]["url"] == URL
    assert "url" not in kept["notes.txt"]["metadata"], "a tool wrote it"
    original = http.get(f"/v1/documents/{kept['heat/pumps.md']['id']}/original", params={"collection": "papers"})
    assert original.content == PUMPS
    [hit] = http.post("/v1/search", json={"query": "cold", "filter": {"where": {"url": URL}}}).json()
    assert hit["name"] == "heat/pumps.md"
    assert candor.tools.sandbox(RUN).read("heat/pumps.md") == PUMPS, "the run keeps it, too"
    assert keep(http)["unchanged"] == 1, "once more changes nothing"


def test_a_deleted_collection_gets_no_file(http: httpx.Client, candor: Candor) -> None:
    keep(http, "notes.txt")
    assert http.delete("/v1/collections/papers").status_code == 200
    refused = http.post(f"/v1/runs/{RUN}/files/heat/pumps.md/ingest")
    assert (refused.status_code, refused.json()["title"]) == (409, "In the bin")
    assert not (candor.settings.home / "uploads" / "papers" / "heat" / "pumps.md").exists()


def test_the_address_survives_reading_the_document_again(http: httpx.Client) -> None:
    keep(http)
    document = documents(http)["heat/pumps.md"]["id"]
    again = http.post(f"/v1/documents/{document}/ingest", params={"collection": "papers"})
    until(lambda: http.get(again.headers["location"]).json()["status"] == "done")
    assert documents(http)["heat/pumps.md"]["metadata"]["url"] == URL


def test_only_a_download_from_the_same_address_replaces_another_content(http: httpx.Client, candor: Candor) -> None:
    keep(http)
    download(candor, PUMPS.replace(b"25", b"30"), ELSEWHERE)
    refused = http.post(f"/v1/runs/{RUN}/files/heat/pumps.md/ingest")
    assert (refused.status_code, refused.json()["title"]) == (422, "Wrong input")
    assert "'papers' has another file named 'heat/pumps.md'" in refused.json()["detail"]
    later = "run_000000000002"
    candor.trace.start(later, Request(question="How cold now?"), "papers", "small")
    download(candor, PUMPS.replace(b"25", b"28"), URL, later)
    assert keep(http, run_id=later)["indexed"] == 1
    document = documents(http)["heat/pumps.md"]["id"]
    text = http.get(f"/v1/documents/{document}/text", params={"collection": "papers"}).json()["text"]
    assert "-28 degrees" in text


def test_an_upload_and_a_removal_forget_the_address(http: httpx.Client, candor: Candor) -> None:
    keep(http)
    files = {"files": ("heat/pumps.md", b"The Borea 12 is blue.")}
    begun = http.post("/v1/collections/papers/documents", files=files)
    until(lambda: http.get(begun.headers["location"]).json()["status"] == "done")
    assert "url" not in documents(http)["heat/pumps.md"]["metadata"]
    http.delete(f"/v1/documents/{documents(http)['heat/pumps.md']['id']}", params={"collection": "papers"})
    keep(http)
    http.delete(f"/v1/documents/{documents(http)['heat/pumps.md']['id']}", params={"collection": "papers"})
    for entry in http.get("/v1/bin").json():
        assert http.delete(f"/v1/bin/{entry['id']}").status_code == 204
    uploads = candor.settings.home / "uploads"
    assert [path for path in uploads.rglob("*") if path.name not in (".incoming", ".bin")] == []


def test_dropping_the_collection_deletes_the_addresses(http: httpx.Client, candor: Candor) -> None:
    keep(http)
    assert http.delete("/v1/collections/papers?now=true").status_code == 200
    assert [path for path in (candor.settings.home / "uploads").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("name", ["nothing.pdf", "..%2f..%2fcandor.db", "%2Fetc%2Fpasswd", "heat", ".origins.json"])
def test_an_unknown_file_is_refused_with_the_names_that_exist(http: httpx.Client, name: str) -> None:
    missing = http.post(f"/v1/runs/{RUN}/files/{name}/ingest")
    assert (missing.status_code, missing.json()["title"]) == (404, "No such file")
    if name == "nothing.pdf":
        assert missing.json()["detail"] == "There is no file 'nothing.pdf'; there are: heat/pumps.md, notes.txt."
    assert http.get("/v1/collections").json() == []


def test_a_reader_of_the_collection_may_not_keep_a_file(make_candor: Callable[..., Candor]) -> None:
    candor = make_candor(service=ServiceSettings(require_key=True))
    candor.trace.start(RUN, Request(question="How cold?"), "papers", "small")
    download(candor)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        for right, status in (("read", 403), ("write", 202)):
            key = candor.keys.add(KeyRequest.model_validate({"name": right, "rights": {"papers": right}})).secret
            asked = http.post(f"/v1/runs/{RUN}/files/heat/pumps.md/ingest", headers={"X-API-Key": key})
            assert asked.status_code == status, asked.text


def test_the_cli_lists_and_keeps_files_and_shows_the_address(candor: Candor, run: Callable[..., Any]) -> None:
    home: Path = candor.settings.home
    listed = run("runs", "files", RUN, "--json", "--home", home).json
    assert [(each["name"], each["url"]) for each in listed] == [("heat/pumps.md", URL), ("notes.txt", "")]
    assert URL in run("runs", "files", RUN, "--home", home).out.replace("\n", "")
    kept = run("runs", "keep", RUN, "heat/pumps.md", "--json", "--home", home)
    assert (kept.code, kept.json["indexed"]) == (0, 1)
    shown = run("show", "heat/pumps.md", "--home", home).out
    assert f"url={URL}" in shown
    missing = run("runs", "keep", RUN, "nothing.pdf", "--home", home)
    assert (missing.code, missing.err) == (
        1, "candor: There is no file 'nothing.pdf'; there are: heat/pumps.md, notes.txt.\n"
    )  # fmt: skip
    assert run("runs", "--home", home).out.startswith(f"{RUN} ")
