"""Searches during the replacement of a document see one version of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ingest.ledger.ledger import Ledger
from ingest.ledger.records import INDEX_VERSION, DocumentRecord, DocumentState, Publication, Stage, document_id
from ingest.ledger.versions import LiveCollection
from support.chunks import SPEC, make_chunk, make_vectors
from support.database import make_engine
from vectorstore.edge.store import EdgeCollection, EdgeStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk, ChunkFilter, Hit, SearchMode
from vectorstore.retrieval import Retriever
from vectorstore.store import EVERYTHING

T = TypeVar("T")

PATH = "/docs/pumps.md"


class InterruptedCollection(EdgeCollection):
    """Calls ``before`` and ``after`` around its first read."""

    before: Callable[[], None]
    after: Callable[[], None]

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        return iter(self._interrupted(lambda: list(EdgeCollection.scan(self, where))))

    def search(self, *asked: Any, **how: Any) -> list[Hit]:
        return self._interrupted(lambda: EdgeCollection.search(self, *asked, **how))

    def _interrupted(self, read: Callable[[], T]) -> T:
        self.before()
        found = read()
        self.after()
        self.before = self.after = lambda: None
        return found


def make_version(version: str) -> tuple[DocumentRecord, Chunk]:
    """Return a record of the document, and its only chunk."""
    record = DocumentRecord(
        collection=SPEC.name, id=document_id(PATH), path=PATH, name="pumps.md", state=DocumentState.INDEXED,
        stage=Stage.STORING, version=version * 64, chunks=1,
    )  # fmt: skip
    chunk = make_chunk(
        f"Version {version}", document=PATH, index=int(version), document_id=record.id,
        metadata={INDEX_VERSION: record.index_version},
    )  # fmt: skip
    return record, chunk


@dataclass
class Replacement:
    """Replaces the first version of a document with a second one, in two steps."""

    ledger: Ledger
    collection: InterruptedCollection

    def write_new(self) -> None:
        record, chunk = make_version("2")
        self.ledger.hide(SPEC.name, {record.index_version: record.id})
        self.collection.upsert([chunk], make_vectors(1))

    def publish_new(self) -> None:
        (old, _), (new, _) = make_version("1"), make_version("2")
        self.ledger.publish([Publication(new, superseded=old.index_version)])
        self.collection.delete(ChunkFilter(documents=(old.id,), without={INDEX_VERSION: (new.index_version,)}))
        self.ledger.unhide(SPEC.name, [old.index_version])

    def all_at_once(self) -> None:
        self.write_new()
        self.publish_new()


@pytest.fixture
def replacement(tmp_path: Path) -> Iterator[Replacement]:
    ledger = Ledger(make_engine(tmp_path / "candor.sqlite"))
    with EdgeStore(tmp_path / "collections").create(SPEC) as collection:
        collection.__class__ = InterruptedCollection
        assert isinstance(collection, InterruptedCollection)
        collection.before = collection.after = lambda: None
        record, chunk = make_version("1")
        ledger.record(record)
        collection.upsert([chunk], make_vectors(1))
        yield Replacement(ledger, collection)


def test_a_replacement_within_one_read_repeats_the_read(replacement: Replacement) -> None:
    """No version is hidden before or after the read, but the read saw both versions."""
    live = LiveCollection(replacement.collection, replacement.ledger)
    replacement.collection.before = replacement.write_new
    replacement.collection.after = replacement.publish_new
    assert [chunk.text for chunk in live.scan()] == ["Version 2"]
    assert replacement.ledger.hidden(SPEC.name) == {}


def test_all_queries_of_a_search_see_the_same_version(replacement: Replacement, embedder: Embedder) -> None:
    retriever = Retriever(LiveCollection(replacement.collection, replacement.ledger), embedder)
    replacement.collection.after = replacement.all_at_once
    hits = retriever.search(["version", "versions of it"], 5, mode=SearchMode.WORDS)
    assert [hit.chunk.text for hit in hits] == ["Version 2"]
