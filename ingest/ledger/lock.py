"""The ingest lock: one ingest at a time into a collection, across processes and machines.

A lock is a row in the ledger's database. Its holder renews the row. Another process takes the lock over if the row was
not renewed for a minute, or if the holder ran on the same machine and has exited. The clock of Postgres
decides, so the clocks of machines that share it may differ.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import uuid4

import psutil
from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from ingest.errors import IngestUnderWay, LedgerUnavailable
from ingest.ledger.schema import UNDER_WAY, database

log = logging.getLogger(__name__)

STALE_S = 60.0
RENEWAL_S = 10.0
_released_here: set[str] = set()
"""Holders of this process that have ended, but whose rows could not be deleted, for example on a full disk."""
_SAME_START_S = 1.0  # the start time of a process is rounded, so that two readings of it differ


class IngestLock:
    """The lock of one collection. It is acquired when created, and renewed by a thread until ``release``."""

    def __init__(
        self, engine: Engine, collection: str, *, stale_s: float = STALE_S, renewal_s: float = RENEWAL_S
    ) -> None:
        """Raises IngestUnderWay, which names the holder."""
        self._engine, self._collection = engine, collection
        self._holder = str(uuid4())
        self._stale_s, self._renewal_s = stale_s, renewal_s
        self._released = threading.Event()
        self._lost = False
        self._renewed_at = time.time()
        self._acquire()
        self._renewal = threading.Thread(target=self._keep_renewed, name="ingest-lock", daemon=True)
        self._renewal.start()

    def check(self) -> None:
        """Raise IngestUnderWay if another process took the lock over. Raises LedgerUnavailable."""
        if time.time() - self._renewed_at > self._stale_s:  # the thread may learn it too late, as after a suspension
            self._renew()
        if self._lost:
            raise IngestUnderWay(
                f"This ingest into {self._collection!r} did not renew its lock for more than {self._stale_s:.0f} s, "
                "and another ingest took it over. This ingest stops. What it has finished is kept."
            )

    def release(self) -> None:
        """Release the lock. Idempotent."""
        self._released.set()
        self._renewal.join()
        _released_here.add(self._holder)
        with database(), self._engine.begin() as connection:
            connection.execute(delete(UNDER_WAY).where(*self._own_row()))
        _released_here.discard(self._holder)

    def _acquire(self) -> None:
        row: dict[str, Any] = {"collection": self._collection, "holder": self._holder, **_this_process()}
        with database():
            try:
                with self._engine.begin() as connection:
                    now = _now(connection)
                    self._refuse_or_clear(connection, now)
                    connection.execute(insert(UNDER_WAY).values(**row, since=now, alive_at=now))
            except IntegrityError as error:  # another process inserted its row after our select
                raise IngestUnderWay(
                    f"Another ingest into {self._collection!r} has just started. Wait until it has ended."
                ) from error

    def _refuse_or_clear(self, connection: Connection, now: float) -> None:
        """Raise IngestUnderWay if the lock has a live holder; delete the row of a dead one."""
        same_collection = UNDER_WAY.c.collection == self._collection
        other = connection.execute(select(UNDER_WAY).where(same_collection)).mappings().first()
        if other is None:
            return
        ended = other["holder"] in _released_here or _has_exited(other)
        if now - other["alive_at"] < self._stale_s and not ended:
            since = datetime.fromtimestamp(other["since"]).astimezone()
            raise IngestUnderWay(
                f"Collection {self._collection!r} is being changed by process {other['process']} on {other['host']}, "
                f"since {since:%Y-%m-%d %H:%M:%S %Z}. Wait until it has ended, or end it."
            )
        connection.execute(delete(UNDER_WAY).where(same_collection, UNDER_WAY.c.holder == other["holder"]))

    def _keep_renewed(self) -> None:
        while not (self._lost or self._released.wait(self._renewal_s)):
            try:
                self._renew()
            except LedgerUnavailable as error:  # the ingest itself fails at its next write to the ledger
                log.warning("The ingest lock of %s could not be renewed: %s", self._collection, error)

    def _renew(self) -> None:
        begun = time.time()
        with database(), self._engine.begin() as connection:
            renewal = update(UNDER_WAY).where(*self._own_row()).values(alive_at=_now(connection))
            if not connection.execute(renewal).rowcount:
                self._lost = True
        self._renewed_at = begun

    def _own_row(self) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        return UNDER_WAY.c.collection == self._collection, UNDER_WAY.c.holder == self._holder


@contextmanager
def ingest_lock(engine: Engine, collection: str) -> Iterator[IngestLock]:
    """Hold the lock of the collection until the end of the block. Raises IngestUnderWay."""
    lock = IngestLock(engine, collection)
    try:
        yield lock
    finally:
        lock.release()


def release_locks_of(connection: Connection, host: str, process: int, process_started: float) -> None:
    """Release the locks of a process that is known to be dead, on whichever machine it ran."""
    started = UNDER_WAY.c.process_started
    same_start = started.between(process_started - _SAME_START_S, process_started + _SAME_START_S)
    connection.execute(delete(UNDER_WAY).where(UNDER_WAY.c.host == host, UNDER_WAY.c.process == process, same_start))


def _now(connection: Connection) -> float:
    """Return the time by the clock that all processes of the database share."""
    if connection.dialect.name != "postgresql":
        return time.time()
    return float(connection.scalar(select(func.extract("epoch", func.clock_timestamp()))) or 0)


def _this_process() -> dict[str, Any]:
    """Return the columns that identify this process: `host`, `process` and `process_started`."""
    process = psutil.Process()
    return {"host": socket.gethostname(), "process": os.getpid(), "process_started": process.create_time()}


def _has_exited(row: RowMapping) -> bool:
    """Return whether the holder ran on this machine and has exited. Nothing is known of processes of other machines."""
    if row["host"] != socket.gethostname():
        return False
    try:
        process = psutil.Process(row["process"])
        is_another = abs(process.create_time() - row["process_started"]) > _SAME_START_S
        return bool(is_another or process.status() == psutil.STATUS_ZOMBIE)  # its parent has not asked how it ended
    except psutil.NoSuchProcess:
        return True
