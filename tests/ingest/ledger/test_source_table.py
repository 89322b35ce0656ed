"""The table of sources: what is stored, and when a source is synced again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.ledger.sources import SourceRecord, SourceTable
from support.database import make_engine

SYNCED = datetime(2026, 1, 31, 12, tzinfo=UTC)


def source(**fields: Any) -> SourceRecord:
    given = {"name": "notes", "address": "https://example.com", "collection": "papers"}
    return SourceRecord(**given | fields)


def test_a_source_is_listed_as_it_was_put_and_noted(tmp_path: Path) -> None:
    table = SourceTable(make_engine(tmp_path / "candor.sqlite"))
    table.put(source(options={"depth": 2}))
    assert table.list("papers") == [source(options={"depth": 2})]
    assert table.list("others") == []
    table.note(source(), 3, "")
    [noted] = table.list()
    assert (noted.documents, noted.error, noted.synced_at is not None) == (3, "", True)


def test_one_source_is_removed(tmp_path: Path) -> None:
    table = SourceTable(make_engine(tmp_path / "candor.sqlite"))
    others = [source(collection="others"), source(name="blog")]
    for each in (source(), *others):
        table.put(each)
    table.remove(source())
    assert table.list() == others


@pytest.mark.parametrize(("every", "later"), [("15m", timedelta(minutes=15)), ("2h", timedelta(hours=2))])
def test_the_next_sync_is_an_interval_after_the_last(every: str, later: timedelta) -> None:
    assert source(every=every, synced_at=SYNCED).next_sync == SYNCED + later
    before = datetime.now(UTC)
    first = source(every=every).next_sync
    assert first is not None
    assert before <= first <= datetime.now(UTC), "a new source is due now"
    assert source(synced_at=SYNCED).next_sync is None
