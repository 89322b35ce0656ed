"""A collection that cannot be read is listed with the reason, and the others are used as before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from support.service import RunningService
from support.waiting import LIMIT_S


@pytest.fixture
def candor(make_candor: Callable[..., Candor], folder: Path) -> Candor:
    """Return Candor with the collections `papers` and `notes`. The specification of `notes` is damaged."""
    made = make_candor()
    for name in ("papers", "notes"):
        run_ingest(made, [folder], name, progress=False)
    (made.settings.home / "collections" / "notes" / "collection.json").write_text("{")
    return made


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def test_it_is_marked_and_the_others_are_used(http: httpx.Client) -> None:
    notes, papers = http.get("/v1/collections").json()
    assert (papers["name"], papers["unreadable"]) == ("papers", "")
    assert (notes["name"], notes["embedding_model"]) == ("notes", None)
    assert "collection.json" in notes["unreadable"]
    assert notes["documents"] == papers["documents"] > 0
    found = http.post("/v1/search", json={"query": "lentils", "collection": "papers"})
    assert found.status_code == 200
    refused = http.post("/v1/search", json={"query": "lentils", "collection": "notes"})
    assert (refused.status_code, refused.json()["title"]) == (503, "Store unavailable")
    assert "collection.json" in refused.json()["detail"]
    unnamed = http.post("/v1/search", json={"query": "lentils"})
    assert unnamed.status_code == 422, "the only collection that can be read is not chosen by itself"
    assert "notes, papers" in unnamed.json()["detail"]
    assert http.delete("/v1/collections/papers?now=true").status_code == 200


def test_doctor_names_it(candor: Candor) -> None:
    [store] = [check for check in candor.doctor.check_parts() if check.name == "store"]
    assert (store.ok, store.detail) == (False, "cannot read notes")
    assert "collection.json" in store.remedy


def test_ingest_into_another_collection_works(candor: Candor, folder: Path) -> None:
    (folder / "new.md").write_text("Peas take 30 minutes.")
    report = run_ingest(candor, [folder], "papers", progress=False)
    assert report.indexed == 1
