"""Two ingests at once into one collection: the second is told of the first, unless that is dead or silent."""

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


def test_the_second_is_told_who_is_at_work_and_may_begin_when_that_has_ended(engine: Engine) -> None:
    with ingest_lock(engine, "papers"):
        with pytest.raises(IngestUnderWay, match=r"'papers' is being changed by process \d+ on .*, since 20"):
            IngestLock(engine, "papers")
        IngestLock(engine, "others").release()
    IngestLock(engine, "papers").release()


def test_a_process_that_was_killed_holds_nothing(engine: Engine) -> None:
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


def test_of_another_machine_only_silence_tells(engine: Engine) -> None:
    first = IngestLock(engine, "papers", stale_s=0.5, renewal_s=0.1)
    with engine.begin() as connection:
        connection.execute(update(UNDER_WAY).values(host="elsewhere", process=1))
    time.sleep(1)
    with pytest.raises(IngestUnderWay, match="on elsewhere"):
        IngestLock(engine, "papers", stale_s=0.5)
    first.check()
    first.release()


def test_one_that_was_silent_for_too_long_is_taken_over_and_learns_of_it(engine: Engine) -> None:
    first = IngestLock(engine, "papers", stale_s=0.2, renewal_s=0.6)
    with engine.begin() as connection:
        connection.execute(update(UNDER_WAY).values(alive_at=time.time() - 1))
    second = IngestLock(engine, "papers", stale_s=0.2)
    time.sleep(1)
    with pytest.raises(IngestUnderWay, match="another one took over"):
        first.check()
    first.release()
    second.check()
    second.release()
