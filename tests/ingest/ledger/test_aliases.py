"""Aliases: a rebuilt collection takes the place of the one before, with its rows in the ledger."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine

from ingest.ledger.aliases import CollectionAliases, staging_name
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord, DocumentState, Stage, document_id
from support.database import make_engine


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return make_engine(tmp_path / "candor.sqlite")


def record(name: str, collection: str, chunks: int) -> DocumentRecord:
    state = {"state": DocumentState.INDEXED, "stage": Stage.STORING}
    return DocumentRecord(
        collection=collection, id=document_id(f"/{name}"), path=f"/{name}", name=name, chunks=chunks, **state
    )


def test_the_rebuilt_collection_takes_over_the_rows(engine: Engine) -> None:
    aliases, ledger = CollectionAliases(engine), Ledger(engine)
    staged = staging_name("papers.1")
    assert aliases.start_rebuild("papers", taken={"papers"}) == "papers.1"
    ledger.record(record("a.md", "papers", 1), record("b.md", "papers", 2))
    ledger.record(record("a.md", staged, 7), record("b.md", staged, 0), record("c.md", "others", 3))
    ledger.note_embedded("papers", {"old": "1"})
    ledger.note_embedded(staged, {"new": "2"})
    ledger.hide("papers", {"before": "a"})
    ledger.hide(staged, {"rebuilt": "b"})
    aliases.promote("papers")
    assert {each.name: each.chunks for each in ledger.list("papers")} == {"a.md": 7, "b.md": 2}
    assert ledger.list(staged) == []
    assert [each.name for each in ledger.list("others")] == ["c.md"]
    assert ledger.embedded("papers", ["old", "new"]) == {"new": "2"}
    assert ledger.hidden("papers") == {"rebuilt": "b"}
    assert (aliases.resolve("papers"), aliases.building("papers"), aliases.retired("papers")) == (
        "papers.1",
        "",
        ["papers"],
    )
    aliases.forget("papers")
    assert aliases.retired("papers") == []


def test_an_abandoned_rebuild_is_retired(engine: Engine) -> None:
    aliases = CollectionAliases(engine)
    aliases.start_rebuild("papers", taken=())
    aliases.start_rebuild("others", taken=())
    aliases.abandon_rebuild("papers")
    assert (aliases.building("papers"), aliases.retired("papers")) == ("", ["papers.1"])
    assert (aliases.building("others"), aliases.resolve("papers"), aliases.live()) == ("others.1", "papers", {})
