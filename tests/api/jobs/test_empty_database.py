"""Several services start at the same moment on an empty Postgres database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import sqlalchemy as sql

from api.storage.upgrade import newest_version
from support.waiting import LIMIT_S

SERVICES = 3


def test_services_that_start_together_create_the_tables_once(postgres: str, tmp_path: Path) -> None:
    starting = [start(tmp_path / str(number), postgres) for number in range(SERVICES)]
    ended = [(each.communicate(timeout=LIMIT_S)[1], each.returncode) for each in starting]
    assert ended == [("", 0)] * SERVICES
    engine = sql.create_engine(postgres)
    with engine.connect() as connection:
        assert connection.scalars(sql.text("SELECT version_num FROM alembic_version")).all() == [newest_version()]
        assert len(connection.scalars(sql.text("SELECT version FROM dbos.dbos_migrations")).all()) == 1
    engine.dispose()


def start(home: Path, url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "support.start_jobs", str(home), url]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
