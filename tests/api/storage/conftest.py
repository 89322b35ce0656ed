"""Tests of the database use the migrations of Alembic, not a copy of the schema."""

from __future__ import annotations

import pytest

from support import schema


@pytest.fixture(autouse=True)
def _migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.storage.upgrade._run_migrations", schema.migrate)
