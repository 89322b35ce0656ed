"""Homes with different databases on one Qdrant server: only the database that owns a collection changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from qdrant_client import QdrantClient

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.services.documents.search import timed_search
from api.settings import Settings
from ingest.pipeline.plan import IngestRequest
from ingest.pipeline.tally import IngestReport
from support.qdrant import needs_qdrant, running_qdrant
from support.service import RunningService
from support.waiting import LIMIT_S
from vectorstore.embedding.embedder import Embedder
from vectorstore.errors import ForeignCollection
from vectorstore.qdrant_server.store import OWNER
from vectorstore.settings import VectorStoreSettings

pytestmark = needs_qdrant


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_qdrant() as node:
        yield node.url


@pytest.fixture
def make(url: str, tmp_path: Path, embedder: Embedder) -> Iterator[Callable[..., Candor]]:
    """Return a function that makes Candor with a home folder of its own. Collections are deleted after the test."""

    def make_one(home: str, database: Path | None = None) -> Candor:
        address = SecretStr(f"sqlite:///{database}") if database else None
        settings = Settings(home=tmp_path / home, store=VectorStoreSettings(url=url), database_url=address)
        candor = Candor(settings)
        candor.embedder = embedder
        return candor

    yield make_one
    client = raw(url)
    for collection in client.get_collections().collections:
        client.delete_collection(collection.name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "pumps.md").write_text("# Heat pumps\n\nA heat pump works below zero.\n")
    return folder


def raw(url: str) -> QdrantClient:
    """Return a client of the server, as another program uses it."""
    return QdrantClient(url=url)


def ingest(candor: Candor, folder: Path) -> IngestReport:
    return run_ingest(candor, [folder], "papers", progress=False)


def test_another_database_cannot_change_a_collection(
    make: Callable[..., Candor], folder: Path, url: str, tmp_path: Path
) -> None:
    first, second = make("first"), make("second")
    ingest(first, folder)
    before = raw(url).count("papers").count
    other = tmp_path / "other"
    other.mkdir()
    (other / "tea.md").write_text("# Tea\n\nPour boiling water over the leaves.\n")
    with pytest.raises(ForeignCollection, match="CANDOR_DATABASE_URL") as raised:
        ingest(second, other)
    assert "candor adopt papers" in raised.value.command
    with pytest.raises(ForeignCollection):
        second.ingest.plan(IngestRequest(collection="papers", paths=(other,)))
    with pytest.raises(ForeignCollection):
        second.collections.drop("papers")
    with pytest.raises(ForeignCollection):
        second.store.drop("papers")
    with pytest.raises(ForeignCollection), second.collections.change("papers"):
        pass
    assert second.ledger.list("papers") == []
    assert raw(url).count("papers").count == before
    assert timed_search(second.collections, "papers", "heat pump", 5)[0], "reading is allowed"


def test_homes_with_one_database_share_a_collection(make: Callable[..., Candor], folder: Path, tmp_path: Path) -> None:
    database = tmp_path / "shared.db"
    first, second = make("first", database), make("second", database)
    ingest(first, folder)
    assert ingest(second, folder).unchanged == 1
    second.collections.drop("papers")
    assert first.collections.specs() == {}


def test_a_database_adopts_a_collection_whose_database_is_lost(make: Callable[..., Candor], folder: Path) -> None:
    first, second = make("first"), make("second")
    ingest(first, folder)
    second.collections.adopt("papers")
    report = ingest(second, folder)
    assert (report.indexed, report.embedded) == (1, 0), "the stored vectors are used again"
    with pytest.raises(ForeignCollection):
        ingest(first, folder)


def test_a_collection_without_an_owner_belongs_to_the_first_database_that_knows_it(
    make: Callable[..., Candor], folder: Path, url: str
) -> None:
    first, second = make("first"), make("second")
    ingest(first, folder)
    raw(url).update_collection("papers", metadata={OWNER: ""})  # as an earlier version created it
    with pytest.raises(ForeignCollection, match="unknown database"):
        ingest(second, folder)
    assert ingest(first, folder).unchanged == 1
    metadata = raw(url).get_collection("papers").config.metadata
    assert metadata is not None
    assert metadata[OWNER] == first.ledger.database_id()


def test_a_takeover_stops_an_ingest_of_the_former_owner(make: Callable[..., Candor], folder: Path) -> None:
    first, second = make("first"), make("second")
    ingest(first, folder)
    (folder / "tea.md").write_text("# Tea\n\nPour boiling water over the leaves.\n")
    with pytest.raises(ForeignCollection):
        first.ingest.ingest(
            IngestRequest(collection="papers", paths=(folder,)), lambda _: second.collections.adopt("papers")
        )
    assert first.ledger.find("papers", "tea.md").chunks == 0


def test_a_foreign_collection_is_refused_on_the_command_line(
    make: Callable[..., Candor], folder: Path, url: str, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(make("first"), folder)
    monkeypatch.setenv("CANDOR_STORE__URL", url)
    home = make("second").settings.home
    refused = run("ingest", folder, "--collection", "papers", "--home", home)
    assert refused.code == 1
    assert "belongs to database" in refused.err
    assert "`candor adopt papers`" in refused.err
    assert "papers belongs to this database" in run("adopt", "papers", "--yes", "--home", home).err
    assert run("drop", "papers", "--yes", "--now", "--home", home).code == 0


def test_a_foreign_collection_is_refused_over_http(make: Callable[..., Candor], folder: Path) -> None:
    ingest(make("first"), folder)
    with RunningService(make("second")) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        problem = http.post("/v1/collections/papers/ingest", json={"retry_failed": True})
        assert (problem.status_code, problem.json()["type"]) == (409, "urn:candor:collection-of-another-database")
        assert http.delete("/v1/collections/papers?now=true").status_code == 409
