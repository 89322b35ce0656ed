"""Errors of the database as users read them."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from api.bootstrap import import_stores
from api.settings import Settings
from api.storage.database import DatabaseFailed, open_database


def test_a_full_disk_is_named_without_the_statement(tmp_path: Path) -> None:
    engine = open_database(Settings(home=tmp_path), import_stores)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")  # SQLite takes the present size
        with pytest.raises(DatabaseFailed, match=r"disk is full\. Check that") as raised:
            connection.exec_driver_sql("CREATE TABLE large AS SELECT zeroblob(1000000) AS content")
    assert "CREATE TABLE" not in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
