"""The ingest lock: held by one process at a time, and taken over from one that is dead or silent."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import Engine, update

from ingest.errors import IngestUnderWay
from ingest.ledger.lock import IngestLock, ingest_lock
from ingest.ledger.schema import UNDER_WAY
from support.database import make_engine

PROJECT = Path(__file__).parents[3]
HOLDER = """
import sys
from sqlalchemy import create_engine
from ingest.ledger.lock import IngestLock

IngestLock(create_engine(sys.argv[1]), "papers")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return make_engine(tmp_path / "candor.sqlite")


def test_a_second_lock_waits_and_names_the_holder(engine: Engine) -> None:
    with ingest_lock(engine, "papers"):
        with pytest.raises(IngestUnderWay, match=r"'papers' is being changed by process \d+ on .*, since 20"):
            IngestLock(engine, "papers")
        IngestLock(engine, "others").release()
    IngestLock(engine, "papers").release()


def test_the_lock_of_a_killed_process_is_taken_over(engine: Engine) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(engine.url)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(PROJECT)},
    )  # fmt: skip
    assert process.stdout
    process.stdout.readline()
    with pytest.raises(IngestUnderWay, match=f"process {process.pid} "):
        IngestLock(engine, "papers")
    process.kill()
    process.communicate()
    IngestLock(engine, "papers").release()


def test_the_lock_of_another_machine_is_respected_while_renewed(engine: Engine) -> None:
    first = IngestLock(engine, "papers", stale_s=1.5, renewal_s=0.1)
    with engine.begin() as connection:
        connection.execute(update(UNDER_WAY).values(host="elsewhere", process=1))
    time.sleep(2)
    with pytest.raises(IngestUnderWay, match="on elsewhere"):
        IngestLock(engine, "papers", stale_s=1.5)
    first.check()
    first.release()


def test_a_stale_holder_learns_that_its_lock_was_taken_over(engine: Engine) -> None:
    first = IngestLock(engine, "papers", stale_s=0.2, renewal_s=0.6)
    with engine.begin() as connection:
        connection.execute(update(UNDER_WAY).values(alive_at=time.time() - 1))
    second = IngestLock(engine, "papers", stale_s=0.2)
    time.sleep(1)
    with pytest.raises(IngestUnderWay, match="took it over"):
        first.check()
    first.release()
    second.check()
    second.release()
