"""The database half of ``candor move``, which needs no Qdrant server: from SQLite to Postgres and back."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sql

from api.auth.keys import KeyRequest, Keys
from api.bootstrap import import_stores
from api.errors import UsageError
from api.services.move.database import copy_database, require_empty
from api.settings import Settings
from api.storage.database import open_database
from ingest.document import ParsedDocument
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord, DocumentState, Publication, Stage, document_id


def write_rows(engine: sql.Engine) -> None:
    """Write documents with text and JSON, a tag, and a key with its times."""
    ledger = Ledger(engine)
    for number in range(3):
        path = f"/docs/Übersicht {number}.md"
        record = DocumentRecord(
            collection="papers", id=document_id(path), path=path, name=path[6:], state=DocumentState.INDEXED,
            stage=Stage.STORING, version="a" * 64, chunks=1, metadata={"pages": 2, "share": 0.1, "name": "naïve"},
        )  # fmt: skip
        ledger.publish([Publication(record, ParsedDocument(text="Größe\u2028 5", blocks=(), parser="test/1"))])
        ledger.tag("papers", [record.id], add=["pumps"])
    Keys(engine).add(KeyRequest(name="reader", rights={"papers": "read"}))


def test_all_rows_are_copied_to_postgres_and_back(tmp_path: Path, postgres: str) -> None:
    first = open_database(Settings(home=tmp_path / "first"), import_stores)
    server = open_database(Settings(home=tmp_path / "server", database_url=postgres), import_stores)
    last = open_database(Settings(home=tmp_path / "last"), import_stores)
    write_rows(first)
    for source, target in ((first, server), (server, last)):
        require_empty(target)
        copied: dict[str, int] = {}
        assert copy_database(source, target, copied.__setitem__) == sum(copied.values())
        assert (copied["documents"], copied["document_texts"], copied["document_tags"]) == (3, 3, 3)
        with pytest.raises(UsageError, match="is not empty"):
            require_empty(target)
    for engine in (server, last):
        ledger = Ledger(engine)
        assert ledger.list("papers") == Ledger(first).list("papers")
        assert ledger.database_id() == Ledger(first).database_id()
        assert ledger.text("papers", ledger.list("papers")[0].id).text == "Größe\u2028 5"
        assert Keys(engine).list() == Keys(first).list()
        engine.dispose()


def test_a_copy_replaces_an_earlier_one(tmp_path: Path) -> None:
    first, last = (open_database(Settings(home=tmp_path / name), import_stores) for name in ("first", "last"))
    write_rows(first)
    for _ in range(2):
        copy_database(first, last, lambda *_: None)
    assert Ledger(last).list("papers") == Ledger(first).list("papers")
