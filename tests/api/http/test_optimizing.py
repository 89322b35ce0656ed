"""The service while the index of a collection is built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from api.bootstrap import Candor
from api.settings import ServiceSettings
from support.optimizing import stopped_optimizers
from support.service import RunningService
from support.waiting import LIMIT_S, until
from vectorstore.edge import collection as edge_collection

NAMES = ("pumps.md", "soup.md")


def test_requests_are_answered_and_an_ingest_ends_meanwhile(
    make_candor: Callable[..., Candor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_collection, "INDEX_AFTER", 1)
    folder = tmp_path / "files"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text(f"The text of {name} says that it is cold outside.")
    candor = make_candor(service=ServiceSettings(ingest_roots=(folder,)))
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        with stopped_optimizers() as stopped:
            job = http.post("/v1/collections/papers/ingest", json={"paths": [str(folder)]}).json()
            until(lambda: stopped)
            assert http.get("/healthz").status_code == 200
            found = http.post("/v1/search", json={"query": "Is it cold?", "collection": "papers"}).json()
            assert {each["name"] for each in found} == set(NAMES)
            until(lambda: http.get(f"/v1/jobs/{job['id']}").json()["status"] == "done")
        assert len(http.post("/v1/search", json={"query": "Is it cold?", "collection": "papers"}).json()) == len(found)
