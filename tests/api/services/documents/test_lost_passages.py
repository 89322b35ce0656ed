"""The vector store has lost passages: an ingest says so and restores them, and searches do not say "nothing found"."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_request
from api.services.documents.search import timed_search
from ingest.errors import NothingToIngest
from ingest.pipeline.pipeline import IngestPipeline
from ingest.pipeline.plan import IngestRequest
from ingest.pipeline.tally import IngestReport
from support.models import write_model
from support.qdrant import QdrantNode, needs_qdrant, running_cluster, running_qdrant
from support.service import RunningService
from support.waiting import LIMIT_S, until
from support.workplace import CountingEmbedder
from vectorstore.embedding.embedder import make_embedder
from vectorstore.errors import PassagesLost
from vectorstore.models import ChunkFilter
from vectorstore.settings import EmbeddingSettings, VectorStoreSettings

Lose = Callable[[], None]


@pytest.fixture(scope="module")
def qdrant() -> Iterator[QdrantNode]:
    with running_qdrant() as node:
        yield node


@pytest.fixture(params=["embedded", pytest.param("server", marks=needs_qdrant)])
def losing(request: pytest.FixtureRequest, make_candor: Callable[..., Candor]) -> tuple[Candor, Lose]:
    """Candor, and a function that loses all of its stored passages."""
    if request.param == "embedded":
        candor = make_candor()
        return candor, lambda: shutil.rmtree(candor.settings.home / "collections")
    node: QdrantNode = request.getfixturevalue("qdrant")

    def lose() -> None:
        node.kill()
        node.lose_data()
        node.start()

    lose()
    return make_candor(store=VectorStoreSettings(url=node.url)), lose


@pytest.fixture
def candor(make_candor: Callable[..., Candor]) -> Candor:
    return make_candor()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "bread.md").write_text("# Bread\n\nKnead the dough for ten minutes.\n")
    (folder / "pumps.md").write_text("# Heat pumps\n\nA heat pump works below zero.\n")
    (folder / "tea.md").write_text("# Tea\n\nPour boiling water over the leaves.\n")
    return folder


def ingest(candor: Candor, *paths: Path, retry_failed: bool = False) -> IngestReport:
    request = IngestRequest(collection="papers", paths=tuple(paths), retry_failed=retry_failed)
    return run_request(candor, request, progress=False)


def notices(candor: Candor, *paths: Path) -> tuple[str, ...]:
    plan = candor.ingest.plan(IngestRequest(collection="papers", paths=paths, retry_failed=not paths))
    return plan.notices


def find(candor: Candor, query: str) -> list[str]:
    return [hit.chunk.text for hit in timed_search(candor.collections, "papers", query, 10)[0]]


def delete_passages(candor: Candor, name: str) -> None:
    """Delete the passages of a document from the store behind the ledger's back."""
    with candor.store.open("papers") as stored:
        stored.delete(ChunkFilter(documents=(candor.ledger.find("papers", name).id,)))


def difference(candor: Candor) -> str:
    return str(candor.collections.difference("papers"))


def test_a_lost_store_is_restored_from_the_stored_text(losing: tuple[Candor, Lose], folder: Path) -> None:
    candor, lose = losing
    ingest(candor, folder)
    expected = find(candor, "heat pump")
    lose()
    with pytest.raises(PassagesLost, match="lists 3 documents, but the store has none") as raised:
        find(candor, "heat pump")
    assert "candor ingest --retry-failed --collection papers" in raised.value.command
    assert candor.collections.resolve(None) == "papers"
    (folder / "tea.md").unlink()  # the text is in the database
    missing = "3 documents are missing from the store and will be restored from the stored text."
    gone = "1 document can still be searched, although the file is gone. `--sync` removes it."
    assert notices(candor, folder) == (missing, gone)
    report = ingest(candor, folder / "bread.md")
    assert report.notices == (missing,)
    assert (report.unchanged, report.indexed, report.restored, report.embedded) == (1, 0, 3, 3)
    assert find(candor, "heat pump") == expected
    assert "Pour boiling water over the leaves." in find(candor, "tea")[0]
    assert notices(candor, folder) == (gone,)


def test_a_service_restores_a_collection_that_is_lost_while_it_runs(losing: tuple[Candor, Lose], folder: Path) -> None:
    candor, lose = losing
    ingest(candor, folder)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        query = {"query": "heat pump", "collection": "papers"}
        assert http.post("/v1/search", json=query).is_success
        lose()
        problem = http.post("/v1/search", json=query)
        assert (problem.status_code, problem.json()["type"]) == (503, "urn:candor:passages-lost")
        assert [(each["lost"], each["documents"]) for each in http.get("/v1/collections").json()] == [(True, 3)]
        assert len(http.get("/v1/documents", params={"collection": "papers"}).json()) == 3
        job = http.post("/v1/collections/papers/ingest", json={"retry_failed": True}).json()
        until(lambda: http.get(f"/v1/jobs/{job['id']}").json()["status"] in ("done", "failed"))
        ended = http.get(f"/v1/jobs/{job['id']}").json()
        assert ended["status"] == "done", ended["error"]
        assert ended["result"]["restored"] == 3
        assert http.post("/v1/search", json=query).json()[0]["name"] == "pumps.md"
        assert not http.get("/v1/collections").json()[0]["lost"]


def test_only_missing_documents_are_embedded_again(candor: Candor, folder: Path) -> None:
    ingest(candor, folder)
    delete_passages(candor, "pumps.md")
    assert difference(candor) == "1 document missing from the store"
    embedder = candor.embedder = CountingEmbedder(candor.embedder)
    report = ingest(candor, retry_failed=True)
    assert report.notices == ("1 document is missing from the store and will be restored from the stored text.",)
    assert (report.restored, report.embedded) == (1, 1)
    assert len(embedder.embedded) == 1
    assert difference(candor) == ""
    with pytest.raises(NothingToIngest):
        ingest(candor, retry_failed=True)


def test_a_search_in_a_collection_without_its_points_fails(candor: Candor, folder: Path) -> None:
    ingest(candor, folder)
    delete_passages(candor, "pumps.md")
    only = ChunkFilter(documents=(candor.ledger.find("papers", "pumps.md").id,))
    with candor.collections.open_library("papers") as library:
        assert library.search(["heat pump"], 5), "the other documents"
        with pytest.raises(PassagesLost, match="lists 1 document,"):
            library.retriever.search(["heat pump"], 5, only)
        with pytest.raises(PassagesLost):
            list(library.retriever.scan(only))
        assert library.search(["heat pump"], 5, ["unknown.md"]) == []


def test_an_older_snapshot_brings_back_nothing_that_was_replaced_or_removed(candor: Candor, folder: Path) -> None:
    ingest(candor, folder)
    stored = candor.settings.home / "collections"
    shutil.copytree(stored, stored.with_name("snapshot"))
    (folder / "bread.md").write_text("# Bread\n\nKnead the dough for twenty minutes.\n")
    ingest(candor, folder)
    candor.documents.remove(candor.documents.find("tea.md", "papers"))
    (folder / "tea.md").unlink()
    shutil.rmtree(stored)
    stored.with_name("snapshot").rename(stored)
    [check] = [each for each in candor.doctor.diagnose().checks if each.name == "collection papers"]
    assert not check.ok
    assert check.detail == "1 document missing from the store, 2 passages in the store without a document"
    assert "`candor ingest --retry-failed --collection papers`" in check.remedy
    assert ingest(candor, folder).restored == 1
    found = find(candor, "knead the dough, pour boiling water")
    assert len(found) == 2
    assert "twenty minutes" in found[0]
    assert difference(candor) == ""


@needs_qdrant
def test_an_ingest_compares_the_copies_on_the_nodes_before_it_is_done(
    make_candor: Callable[..., Candor], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_cluster(2) as nodes:
        url = ",".join(node.url for node in nodes)
        candor = make_candor(store=VectorStoreSettings(url=url, replicas=2))
        ingest(candor, folder / "bread.md")
        ingest_files = IngestPipeline.ingest

        def ingest_and_lose(*given: Any, **options: Any) -> IngestReport:
            """Write the files, and lose what one of the nodes has written."""
            stored = nodes[1].folder / "storage" / "collections"  # not what the nodes agreed on
            nodes[1].stop()
            shutil.copytree(stored, tmp_path / "earlier")
            nodes[1].start()
            report = ingest_files(*given, **options)
            nodes[1].stop()
            shutil.rmtree(stored)
            shutil.copytree(tmp_path / "earlier", stored)
            nodes[1].start()
            return report

        monkeypatch.setattr(IngestPipeline, "ingest", ingest_and_lose)
        report = ingest(candor, folder)
        assert (report.indexed, report.restored) == (2, 2)
        assert difference(candor) == ""


def test_a_lost_collection_keeps_its_alias(make_candor: Callable[..., Candor], folder: Path, tmp_path: Path) -> None:
    ingest(make_candor(), folder)
    tiny = make_embedder(EmbeddingSettings(model=str(write_model(tmp_path / "tiny"))))
    candor = make_candor(store=VectorStoreSettings(embedding=EmbeddingSettings(model=tiny.model)))
    candor.embedder = tiny
    ingest(candor, folder)  # rebuilds the collection under another name
    assert candor.aliases.resolve("papers") == "papers.1"
    shutil.rmtree(candor.settings.home / "collections")
    assert ingest(candor, folder).restored == 3
    assert len(find(candor, "heat pump")) == 3


def test_a_lost_collection_can_be_dropped(candor: Candor, folder: Path) -> None:
    ingest(candor, folder)
    shutil.rmtree(candor.settings.home / "collections")
    candor.collections.drop("papers")
    assert candor.ledger.list("papers") == []
    assert candor.collections.specs() == {}
