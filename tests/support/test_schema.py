"""The copied schema equals that of the migrations."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from api.bootstrap import Candor
from api.settings import Settings
from api.storage.home import DATABASE
from support import schema


def dump(home: Path) -> list[str]:
    """Open a new home, and return what its database contains, sorted."""
    _ = Candor(Settings(home=home)).engine
    connection = sqlite3.connect(home / DATABASE)
    try:
        return sorted([*connection.iterdump(), *map(str, connection.execute("PRAGMA auto_vacuum"))])
    finally:
        connection.close()


def test_a_copied_database_differs_only_in_its_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = dump(tmp_path / "first"), dump(tmp_path / "second")
    monkeypatch.setattr("api.storage.upgrade._run_migrations", schema.migrate)
    migrated = dump(tmp_path / "migrated")
    for copy in copies:
        [(ours, theirs)] = [pair for pair in zip(copy, migrated, strict=True) if pair[0] != pair[1]]
        assert ours.startswith('INSERT INTO "database_identity"')
        assert len(ours) == len(theirs)
    assert copies[0] != copies[1]
