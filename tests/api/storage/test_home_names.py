"""Data folders whose names have characters that a URL reads in another way."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sql

from api.jobs.queue import FILE, _database_url
from api.settings import Settings
from api.storage.database import DATABASE, _create_engine


@pytest.mark.parametrize("name", ["data?one", "pct%41dir", "a#b", "a b", "ä%20?x=1&y", "a:b@c"])
def test_the_databases_are_inside_the_folder(tmp_path: Path, name: str) -> None:
    settings = Settings(home=tmp_path / name)
    for engine in (_create_engine(settings), sql.create_engine(_database_url(settings))):
        with engine.begin() as connection:
            connection.execute(sql.text("CREATE TABLE kept (id INTEGER)"))
        engine.dispose()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert {DATABASE, FILE} <= {path.name for path in (tmp_path / name).iterdir()}
