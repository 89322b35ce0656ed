"""What searches see while the editions of a document change under them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ingest.ledger.ledger import Ledger
from ingest.ledger.records import EDITION, DocumentRecord, DocumentState, Stage, document_id
from ingest.ledger.versions import LiveCollection
from support.chunks import SPEC, make_chunk, make_vectors
from support.database import make_engine
from vectorstore.edge import EdgeCollection, EdgeStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk, ChunkFilter, Hit, SearchMode
from vectorstore.retrieval import Retriever
from vectorstore.store import EVERYTHING

T = TypeVar("T")

PATH = "/docs/pumps.md"


class Meddled(EdgeCollection):
    """Around the first time that it is read, something else happens."""

    before: Callable[[], None]
    after: Callable[[], None]

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        return iter(self._meddled(lambda: list(EdgeCollection.scan(self, where))))

    def search(self, *asked: Any, **how: Any) -> list[Hit]:
        return self._meddled(lambda: EdgeCollection.search(self, *asked, **how))

    def _meddled(self, read: Callable[[], T]) -> T:
        self.before()
        found = read()
        self.after()
        self.before = self.after = lambda: None
        return found


def edition(version: str) -> tuple[DocumentRecord, Chunk]:
    """A record of the document, and its one chunk."""
    record = DocumentRecord(
        collection=SPEC.name, id=document_id(PATH), path=PATH, name="pumps.md", state=DocumentState.INDEXED,
        stage=Stage.STORING, version=version * 64, chunks=1,
    )  # fmt: skip
    chunk = make_chunk(
        f"Edition {version}", document=PATH, index=int(version), document_id=record.id,
        metadata={EDITION: record.edition},
    )  # fmt: skip
    return record, chunk


@dataclass
class Replacement:
    """A document that has one edition, and gets another in two steps."""

    ledger: Ledger
    collection: Meddled

    def write_new(self) -> None:
        record, chunk = edition("2")
        self.ledger.hide(SPEC.name, record.id, record.edition)
        self.collection.upsert([chunk], make_vectors(1))

    def publish_new(self) -> None:
        (old, _), (new, _) = edition("1"), edition("2")
        self.ledger.publish(new, superseded=old.edition)
        self.collection.delete(ChunkFilter(documents=(old.id,), without={EDITION: (new.edition,)}))
        self.ledger.unhide(SPEC.name, [old.edition])

    def all_at_once(self) -> None:
        self.write_new()
        self.publish_new()


@pytest.fixture
def replacement(tmp_path: Path) -> Iterator[Replacement]:
    ledger = Ledger(make_engine(tmp_path / "candor.sqlite"))
    with EdgeStore(tmp_path / "collections").create(SPEC) as collection:
        collection.__class__ = Meddled
        assert isinstance(collection, Meddled)
        collection.before = collection.after = lambda: None
        record, chunk = edition("1")
        ledger.record(record)
        collection.upsert([chunk], make_vectors(1))
        yield Replacement(ledger, collection)


def test_a_replacement_that_came_and_went_within_a_read_is_noticed(replacement: Replacement) -> None:
    """What is hidden is the same before and after: nothing. In between the read saw both editions."""
    live = LiveCollection(replacement.collection, replacement.ledger)
    replacement.collection.before = replacement.write_new
    replacement.collection.after = replacement.publish_new
    assert [chunk.text for chunk in live.scan()] == ["Edition 2"]
    assert replacement.ledger.hidden(SPEC.name) == {}


def test_all_queries_of_one_search_see_the_same_edition(replacement: Replacement, embedder: Embedder) -> None:
    retriever = Retriever(LiveCollection(replacement.collection, replacement.ledger), embedder)
    replacement.collection.after = replacement.all_at_once
    hits = retriever.search(["edition", "editions of it"], 5, mode=SearchMode.SPARSE)
    assert [hit.chunk.text for hit in hits] == ["Edition 2"]
