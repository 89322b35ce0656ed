"""The ingest lock: held by one process at a time, and taken over from one that is dead or silent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update

from ingest.errors import IngestUnderWay, LedgerUnavailable
from ingest.ledger.lock import IngestLock, ingest_lock
from ingest.ledger.schema import UNDER_WAY
from support.database import make_engine
from support.waiting import until

PROJECT = Path(__file__).parents[3]
HOLDER = """
import sys
from sqlalchemy import create_engine
from ingest.ledger.lock import IngestLock

IngestLock(create_engine(sys.argv[1]), "papers")
print("locked", flush=True)
sys.stdin.read()
"""


def alive_at(engine: Engine) -> float:
    with engine.connect() as connection:
        return float(connection.scalar(select(UNDER_WAY.c.alive_at)) or 0)


def has_learned(lock: IngestLock) -> bool:
    try:
        lock.check()
    except IngestUnderWay as error:
        return "took it over" in str(error)
    return False


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return make_engine(tmp_path / "candor.sqlite")


def test_a_second_lock_waits_and_names_the_holder(engine: Engine) -> None:
    with ingest_lock(engine, "papers"):
        with pytest.raises(IngestUnderWay, match=r"'papers' is being changed by process \d+ on .*, since 20"):
            IngestLock(engine, "papers")
        IngestLock(engine, "others").release()
    IngestLock(engine, "papers").release()


@pytest.mark.parametrize("is_reaped", [True, False])
def test_the_lock_of_a_killed_process_is_taken_over(engine: Engine, is_reaped: bool) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(engine.url)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(PROJECT)},
    )  # fmt: skip
    assert process.stdout
    process.stdout.readline()
    with pytest.raises(IngestUnderWay, match=f"process {process.pid} "):
        IngestLock(engine, "papers")
    process.kill()
    if is_reaped:
        process.communicate()
    else:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    IngestLock(engine, "papers").release()
    process.communicate()


def test_a_holder_that_was_suspended_asks_before_it_writes(engine: Engine) -> None:
    first = IngestLock(engine, "papers", stale_s=0.2, renewal_s=600)
    first.check()
    with engine.begin() as connection:
        connection.execute(update(UNDER_WAY).values(alive_at=0))
    second = IngestLock(engine, "papers")
    until(lambda: has_learned(first))
    second.check()
    second.release()
    first.release()


def test_a_lock_that_could_not_be_released_does_not_block_its_process(engine: Engine) -> None:
    first = IngestLock(engine, "papers")
    with engine.begin() as connection:
        statement = "CREATE TRIGGER full_disk BEFORE DELETE ON ingests_under_way BEGIN SELECT RAISE(ABORT, 'full'); END"
        connection.exec_driver_sql(statement)
    with pytest.raises(LedgerUnavailable):
        first.release()
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER full_disk")
    IngestLock(engine, "papers").release()


def test_a_renewal_that_failed_is_tried_again(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    lock = IngestLock(engine, "papers", renewal_s=0.05)
    with engine.begin() as connection:
        connection.execute(update(UNDER_WAY).values(alive_at=0))
        connection.exec_driver_sql(
            "CREATE TRIGGER full_disk BEFORE UPDATE ON ingests_under_way BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    until(lambda: "could not be renewed" in caplog.text)
    assert alive_at(engine) == 0
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER full_disk")
    until(lambda: alive_at(engine) > 0)
    lock.check()
    lock.release()


def test_the_lock_of_another_machine_is_respected_while_renewed(engine: Engine) -> None:
    first = IngestLock(engine, "papers", renewal_s=0.1)
    with engine.begin() as connection:
        connection.execute(update(UNDER_WAY).values(host="elsewhere", process=1, alive_at=0))
    until(lambda: alive_at(engine) > 0)
    with pytest.raises(IngestUnderWay, match="on elsewhere"):
        IngestLock(engine, "papers", stale_s=600)
    first.check()
    first.release()


def test_a_stale_holder_learns_that_its_lock_was_taken_over(engine: Engine) -> None:
    taken_over: list[IngestLock] = []

    def take_over() -> bool:
        with engine.begin() as connection:
            connection.execute(update(UNDER_WAY).values(alive_at=0))
        try:
            taken_over.append(IngestLock(engine, "papers"))
        except IngestUnderWay:  # the first one renewed it in between
            return False
        return True

    first = IngestLock(engine, "papers", renewal_s=0.5)
    until(take_over)
    until(lambda: has_learned(first))
    with pytest.raises(IngestUnderWay, match="took it over"):
        first.check()
    first.release()
    [second] = taken_over
    second.check()
    second.release()
