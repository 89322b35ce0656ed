"""Filters and tags over HTTP: search, research, chat completions, upload and the tags of a document."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from support.service import QUESTION
from support.waiting import until

PAPERS = {"collection": "papers"}


@pytest.fixture
def tagged(http: httpx.Client) -> Any:
    """The tag `machines` on pumps.md."""
    path = "/v1/documents/pumps.md/tags"
    changed = http.patch(path, params=PAPERS, json={"add": ["Machines"]})
    assert (changed.status_code, changed.json()["tags"]) == (200, ["machines"])
    yield
    http.patch(path, params=PAPERS, json={"remove": ["machines"]})


def test_a_search_reads_only_what_the_filter_leaves(tagged: None, http: httpx.Client) -> None:
    asked = {**PAPERS, "query": "loud", "filter": {"tags": ["machines"], "type": ["md"]}}
    assert {hit["name"] for hit in http.post("/v1/search", json=asked).json()} == {"pumps.md"}
    assert len(http.post("/v1/search", json=asked | {"filter": None}).json()) == 3
    assert len(http.post("/v1/search", json=asked | {"filter": {"latest": True}}).json()) == 3, "no other versions"


@pytest.mark.parametrize("route", ["search", "research"])
def test_a_filter_that_leaves_nothing_is_refused(http: httpx.Client, route: str, service_candor: Candor) -> None:
    before = len(service_candor.trace.runs())
    words = {"query": QUESTION} if route == "search" else {"question": QUESTION}
    refused = http.post(f"/v1/{route}", json={**PAPERS, **words, "filter": {"since": "2001-01-01", "tags": ["none"]}})
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    assert "meets the condition 'tag none'" in refused.json()["detail"]
    assert len(service_candor.trace.runs()) == before


def test_a_filter_is_stored_with_its_run(tagged: None, http: httpx.Client) -> None:
    """The run is researched in another process, which gets the restricted documents, too."""
    wanted = {"documents": ["pumps*"], "tags": ["machines"]}
    answer = http.post("/v1/research", json={**PAPERS, "question": QUESTION, "filter": wanted}).json()
    assert answer["status"] == "answered"
    assert (answer["searched"]["documents"], answer["searched"]["total"]) == (1, 3)
    assert answer["coverage"]["documents_total"] == 1
    events = http.get(f"/v1/runs/{answer['run_id']}/events", params={"follow": False}).json()
    kept = events[0]["body"]["request"]["filter"]
    assert {name: kept[name] for name in wanted} == wanted
    found = [each["name"] for event in events if event["body"]["type"] == "searched"
             for each in event["body"]["passages"]]  # fmt: skip
    assert set(found) == {"pumps.md"}


def test_a_filter_of_wrong_form_is_refused(http: httpx.Client) -> None:
    for wanted in ({"since": "soon"}, {"tag": ["x"]}, {"tags": [" "]}, {"type": "pdf"}):
        asked = {**PAPERS, "query": "loud", "filter": wanted}
        assert http.post("/v1/search", json=asked).status_code == 422, wanted


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "1e300", "9" * 30])
def test_a_number_that_no_document_can_have_is_refused(http: httpx.Client, number: str) -> None:
    body = f'{{"query": "loud", "collection": "papers", "filter": {{"where": {{"page": {number}}}}}}}'
    refused = http.post("/v1/search", content=body, headers={"Content-Type": "application/json"})
    assert (refused.status_code, "page" in refused.text) == (422, True), refused.text
    assert http.post("/v1/search", json={**PAPERS, "query": "loud"}).status_code == 200


def test_chat_completions_take_a_filter(http: httpx.Client) -> None:
    asked = {"model": "papers", "messages": [{"role": "user", "content": QUESTION}], "filter": {"type": ["txt"]}}
    replied = http.post("/v1/chat/completions", json=asked)
    assert replied.status_code == 200, replied.text
    run = http.get(f"/v1/runs/{replied.json()['candor']['run_id']}").json()
    assert run["answer"]["searched"]["documents"] == 2
    refused = http.post("/v1/chat/completions", json=asked | {"filter": {"type": ["odt"]}})
    assert (refused.status_code, "type odt" in refused.json()["error"]["message"]) == (400, True)


def test_files_are_tagged_while_they_are_uploaded(http: httpx.Client) -> None:
    at = "/v1/collections/leaflets/documents"
    refused = http.post(at, params={"tags": "a,b"}, files={"files": ("alto.md", b"The Alto 7 is quiet.")})
    assert (refused.status_code, "no comma" in refused.json()["detail"]) == (422, True)
    assert "leaflets" not in {each["name"] for each in http.get("/v1/collections").json()}
    job = http.post(at, params={"tags": ["New", "2024"]}, files={"files": ("alto.md", b"The Alto 7 is quiet.")}).json()
    until(lambda: http.get(f"/v1/jobs/{job['id']}").json()["status"] == "done")
    [document] = http.get("/v1/documents", params={"collection": "leaflets"}).json()
    assert document["tags"] == ["2024", "new"]


def test_metadata_comes_with_an_upload_and_with_an_ingest(http: httpx.Client) -> None:
    at = "/v1/collections/metadata/documents"
    alto, columns = ("alto.md", b"The Alto 7 is quiet."), ("metadata.csv", b"file,year\nalto.md,2024\n")
    for wrong in ("project", "date=soon"):
        refused = http.post(at, files=[("files", alto)], data={"meta": wrong})
        assert refused.status_code == 422, refused.text
    job = http.post(at, files=[("files", alto), ("files", columns)], data={"meta": ["project=Orion", "room=é"]}).json()
    until(lambda: http.get(f"/v1/jobs/{job['id']}").json()["status"] == "done")
    named = {"collection": "metadata"}
    document = http.get("/v1/documents/alto.md", params=named).json()
    assert document["fields"] == {"project": "Orion", "room": "é", "year": 2024}
    asked = {**named, "query": "quiet", "filter": {"where": {"project": "Orion"}}}
    assert [hit["name"] for hit in http.post("/v1/search", json=asked).json()] == ["alto.md"]
    refused = http.post("/v1/search", json=asked | {"filter": {"where": {"nope": 1}}})
    assert (refused.status_code, "The fields are: " in refused.json()["detail"]) == (422, True)

    job = http.post(at, files=[("files", ("metadata.csv", b"file,year\nalto.md,2025\n"))]).json()
    until(lambda: http.get(f"/v1/jobs/{job['id']}").json()["status"] == "done")
    assert http.get("/v1/documents/alto.md", params=named).json()["fields"]["year"] == 2025, "the document is known"
    wrong = http.post("/v1/collections/metadata/ingest", json={"retry_failed": True, "meta": {"date": "soon"}})
    assert wrong.status_code == 422


def test_a_wrong_tag_is_refused(tagged: None, http: httpx.Client) -> None:
    for change in ({"add": ["a,b"]}, {"remove": ["none"]}, {}, {"add": ["x"], "remove": ["machines", "none"]}):
        refused = http.patch("/v1/documents/pumps.md/tags", params=PAPERS, content=json.dumps(change))
        assert refused.status_code == 422, refused.text
    document = http.get("/v1/documents/pumps.md", params=PAPERS).json()
    assert document["tags"] == ["machines"]


def test_documents_are_listed_in_pages(http: httpx.Client) -> None:
    listed = http.get("/v1/documents", params=PAPERS)
    assert "Link" not in listed.headers
    names = [each["name"] for each in listed.json()]
    page = http.get("/v1/documents", params=PAPERS | {"limit": 2})
    found = [each["name"] for each in page.json()]
    assert found == names[:2]
    while "next" in page.links:
        page = http.get(page.links["next"]["url"])
        found += [each["name"] for each in page.json()]
    assert found == names == sorted(names)
    assert http.get("/v1/documents", params=PAPERS | {"limit": 0}).status_code == 422
