"""A changed embedding model: the collection is embedded into a second one, which then replaces the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.services.documents.search import timed_search
from ingest.ledger.records import DocumentState
from ingest.pipeline.plan import IngestRequest
from ingest.pipeline.tally import IngestReport
from ingest.settings import IngestSettings
from support.models import write_model
from support.qdrant import memory_store
from support.workplace import CountingEmbedder
from vectorstore.embedding.embedder import Embedder, make_embedder
from vectorstore.errors import CollectionLocked, CollectionMismatch
from vectorstore.settings import EmbeddingSettings, VectorStoreSettings
from vectorstore.store import Vectors

NAMES = ["bread.md", "pumps.md", "tea.md"]


class Interrupted(Exception):
    """Stands for whatever ends a process."""


class Embedding(CountingEmbedder):
    """Another model, which notes what it embeds and may be stopped before a passage."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self.before: Callable[[], None] = lambda: None
        self.stop_at = -1

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.before()
        if len(self.embedded) == self.stop_at:
            raise Interrupted
        return super().embed_passages(texts)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return make_embedder(EmbeddingSettings(model=str(write_model(tmp_path_factory.mktemp("tiny")))))


@pytest.fixture
def old(make_candor: Callable[..., Candor]) -> Candor:
    """Candor with the default model."""
    return make_candor()


@pytest.fixture
def new(make_candor: Callable[..., Candor], tiny: Embedder) -> Candor:
    """The same Candor with another model, a passage at a time."""
    store = VectorStoreSettings(embedding=EmbeddingSettings(model=tiny.model))
    candor = make_candor(store=store, ingest=IngestSettings(embed_batch=1))
    candor.embedder = Embedding(tiny)
    return candor


@pytest.fixture
def folder(tmp_path: Path, old: Candor) -> Path:
    """Three documents that were ingested with the default model."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "bread.md").write_text("# Bread\n\nKnead the dough for ten minutes.\n")
    (folder / "pumps.md").write_text("# Heat pumps\n\nA heat pump works below zero.\n")
    (folder / "tea.md").write_text("# Tea\n\nPour boiling water over the leaves.\n")
    ingest(old, folder)
    return folder


def ingest(candor: Candor, *paths: Path) -> IngestReport:
    return run_ingest(candor, paths, "papers", progress=False)


def found(candor: Candor, query: str = "heat pump") -> list[str]:
    return sorted(hit.chunk.name for hit in timed_search(candor.collections, None, query, 10)[0])


def stored_names(candor: Candor) -> list[str]:
    return [spec.name for spec in candor.store.list()]


def test_all_documents_come_along_and_it_is_said_before(
    old: Candor, new: Candor, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tea.md").unlink()
    said: list[str] = []
    new.embedder.before = lambda: said.append(capsys.readouterr().err)
    report = ingest(new, folder / "bread.md")
    assert "all 3 indexed documents of collection 'papers' are embedded again" in said[0]
    assert "whose files are gone" in report.notices[0]
    assert (report.files, report.unchanged) == (1, 1), "no file had to be read for it"
    assert found(new) == NAMES
    assert len(stored_names(new)) == 1, "the old vectors are gone"
    assert [(spec.collection, spec.dimension) for spec in new.collections.list()] == [("papers", 32)]
    assert {document.state for document in new.documents.list(None, None)} == {DocumentState.INDEXED}
    with new.collections.open("papers") as collection:
        for chunk in collection.scan():
            assert new.ledger.text("papers", chunk.document_id).text[chunk.start : chunk.end] == chunk.text
    with pytest.raises(CollectionMismatch) as raised:
        found(old)
    assert "candor ingest FOLDER --collection papers" in raised.value.command


def test_a_dry_run_says_it_and_does_nothing(old: Candor, new: Candor, folder: Path) -> None:
    plan = new.ingest.plan(IngestRequest(collection="papers", paths=(folder,)))
    assert "embedded again" in plan.notices[0]
    assert len(plan.notices) == 1, "no file is read again because passages are cut otherwise"
    assert new.embedder.embedded == []
    assert found(old) == NAMES


def test_later_ingests_go_into_the_new_vectors(new: Candor, folder: Path) -> None:
    ingest(new, folder)
    new.embedder.embedded.clear()
    (folder / "stones.md").write_text("# Stones\n\nGranite is hard.\n")
    report = ingest(new, folder)
    assert (report.indexed, report.unchanged, report.notices) == (1, 3, ())
    assert len(new.embedder.embedded) == 1
    assert found(new) == sorted([*NAMES, "stones.md"])
    new.documents.remove(new.documents.find("tea.md", None))
    assert "tea.md" not in found(new)
    new.collections.drop("papers")
    assert stored_names(new) == []
    ingest(new, folder)
    assert stored_names(new) == ["papers"]


def test_until_all_is_done_the_old_vectors_are_searched_and_nothing_is_embedded_twice(
    old: Candor, new: Candor, folder: Path
) -> None:
    seen: list[list[str]] = []
    new.embedder.before = lambda: seen.append(found(old))
    new.embedder.stop_at = 2
    with pytest.raises(Interrupted):
        ingest(new, folder)
    assert seen == [NAMES, NAMES, NAMES]
    assert found(old) == NAMES, "it is whole after that"
    new.embedder.stop_at = -1
    ingest(new, folder)
    assert len(new.embedder.embedded) == len(set(new.embedder.embedded)) == 3
    assert found(new) == NAMES


def test_what_was_removed_or_changed_meanwhile_is_not_taken_from_what_was_done_before(
    old: Candor, new: Candor, folder: Path
) -> None:
    new.embedder.stop_at = 2
    with pytest.raises(Interrupted):
        ingest(new, folder)
    old.documents.remove(old.documents.find("bread.md", None))
    (folder / "bread.md").unlink()
    new.embedder.stop_at = -1
    ingest(new, folder)
    assert found(new) == ["pumps.md", "tea.md"]
    with new.store.open(new.aliases.resolve("papers")) as stored:
        assert stored.count().documents == 2


def test_whoever_goes_back_to_the_old_model_has_the_collection_as_it_was(
    old: Candor, new: Candor, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new.embedder.stop_at = 1
    with pytest.raises(Interrupted):
        ingest(new, folder)
    assert len(stored_names(old)) == 2
    assert ingest(old, folder).unchanged == 3
    assert "of another model from an unfinished ingest are dropped" in capsys.readouterr().err
    assert stored_names(old) == ["papers"]
    assert found(old) == NAMES


def test_what_is_still_searched_is_dropped_by_the_next_ingest(old: Candor, new: Candor, folder: Path) -> None:
    with old.collections.open("papers") as searched:
        ingest(new, folder)
        assert searched.count().documents == 3
    assert len(stored_names(new)) == 2
    ingest(new, folder)
    assert len(stored_names(new)) == 1
    assert found(new) == NAMES


def test_a_dropped_collection_leaves_nothing_that_was_not_finished(old: Candor, new: Candor, folder: Path) -> None:
    new.embedder.stop_at = 1
    with pytest.raises(Interrupted):
        ingest(new, folder)
    with old.store.open("papers"), pytest.raises(CollectionLocked):
        old.collections.drop("papers")
    old.collections.drop("papers")
    assert stored_names(old) == []


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")
def test_a_server_keeps_both_side_by_side_too(old: Candor, new: Candor, tmp_path: Path) -> None:
    old.store = new.store = memory_store()
    (tmp_path / "pumps.md").write_text("# Heat pumps\n\nA heat pump works below zero.\n")
    ingest(old, tmp_path / "pumps.md")
    ingest(new, tmp_path / "pumps.md")
    assert found(new) == ["pumps.md"]
    assert stored_names(new) == ["papers.1"]


def test_the_number_of_a_place_cannot_be_named(old: Candor, folder: Path) -> None:
    with pytest.raises(Exception, match="is not a valid collection name"):
        run_ingest(old, [folder], "papers.1", progress=False)
