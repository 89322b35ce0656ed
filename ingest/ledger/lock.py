"""One ingest at a time into a collection, wherever the processes run: the first holds a row in the ledger's database.

Its holder renews the row. A row that was not renewed for a minute, or whose process on this machine has ended, is
taken over. Where machines share a database, their clocks must not differ by as much.
"""

from __future__ import annotations

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
from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from ingest.errors import IngestUnderWay, LedgerUnavailable
from ingest.ledger.schema import UNDER_WAY, database

log = logging.getLogger(__name__)

STALE_S = 60.0
RENEWAL_S = 10.0
_SAME_START_S = 1.0  # two readings of when a process started differ by rounding


class IngestLock:
    """The right to change one collection."""

    def __init__(
        self, engine: Engine, collection: str, *, stale_s: float = STALE_S, renewal_s: float = RENEWAL_S
    ) -> None:
        """Raises IngestUnderWay, naming the process that has it."""
        self._engine = engine
        self._collection = collection
        self._holder = str(uuid4())
        self._stale_s = stale_s
        self._renewal_s = renewal_s
        self._released = threading.Event()
        self._lost = False
        self._take()
        self._renewing = threading.Thread(target=self._renew, name="ingest-hold", daemon=True)
        self._renewing.start()

    def check(self) -> None:
        """Raises IngestUnderWay if another process took it over: this one was not heard of for too long."""
        if self._lost:
            raise IngestUnderWay(
                f"The ingest into {self._collection!r} gave no sign of life for more than {self._stale_s:.0f} s, and "
                "another one took over. This one ends; what it finished is kept."
            )

    def release(self) -> None:
        """Let others have it. May be called again."""
        self._released.set()
        self._renewing.join()
        with database(), self._engine.begin() as connection:
            connection.execute(delete(UNDER_WAY).where(*self._mine()))

    def _take(self) -> None:
        now = time.time()
        row: dict[str, Any] = {
            "collection": self._collection, "holder": self._holder, "since": now, "alive_at": now, **this_process()
        }  # fmt: skip
        with database():
            try:
                with self._engine.begin() as connection:
                    self._refuse_or_clear(connection)
                    connection.execute(insert(UNDER_WAY).values(row))
            except IntegrityError as error:  # another process was quicker, between our look and our row
                raise IngestUnderWay(
                    f"Another ingest into {self._collection!r} has begun at this moment. Wait until it has ended."
                ) from error

    def _refuse_or_clear(self, connection: Connection) -> None:
        """Refuse if there is a living holder; remove the row of one that is not."""
        its = UNDER_WAY.c.collection == self._collection
        other = connection.execute(select(UNDER_WAY).where(its)).mappings().first()
        if other is None:
            return
        if time.time() - other["alive_at"] < self._stale_s and not has_ended(other):
            since = datetime.fromtimestamp(other["since"]).astimezone()
            raise IngestUnderWay(
                f"Collection {self._collection!r} is being changed by process {other['process']} on {other['host']}, "
                f"since {since:%Y-%m-%d %H:%M:%S %Z}. Wait until it has ended, or end it."
            )
        connection.execute(delete(UNDER_WAY).where(its, UNDER_WAY.c.holder == other["holder"]))

    def _renew(self) -> None:
        while not self._released.wait(self._renewal_s):
            try:
                with database(), self._engine.begin() as connection:
                    renewed = connection.execute(update(UNDER_WAY).where(*self._mine()).values(alive_at=time.time()))
            except LedgerUnavailable as error:  # whoever writes to the ledger learns of it, too, and stops
                log.warning("The hold on %s could not be renewed: %s", self._collection, error)
                continue
            if not renewed.rowcount:
                self._lost = True
                return

    def _mine(self) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        return UNDER_WAY.c.collection == self._collection, UNDER_WAY.c.holder == self._holder


@contextmanager
def ingest_lock(engine: Engine, collection: str) -> Iterator[IngestLock]:
    """Hold the lock of the collection until the end of the block. Raises IngestUnderWay."""
    lock = IngestLock(engine, collection)
    try:
        yield lock
    finally:
        lock.release()


def this_process() -> dict[str, Any]:
    """Columns that tell this process from all others: `host`, `process`, `process_started`."""
    process = psutil.Process()
    return {"host": socket.gethostname(), "process": os.getpid(), "process_started": process.create_time()}


def has_ended(row: RowMapping) -> bool:
    """Whether the holder was a process of this machine that is no more. Of other machines, only their silence tells."""
    if row["host"] != socket.gethostname():
        return False
    try:
        started = psutil.Process(row["process"]).create_time()
    except psutil.NoSuchProcess:
        return True
    return bool(abs(started - row["process_started"]) > _SAME_START_S)
