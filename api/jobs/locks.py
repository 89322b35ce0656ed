"""Locks that keep services apart: one service per home folder, and who may share a Postgres database.

The database identifies documents by the name of their collection. A service with embedded collections has them in its
home folder, where no other service can read them. Two such services on one database would report documents that they
do not have, and each would ingest over the records of the other. So a service with embedded collections needs the
database for itself. Services that use the same Qdrant server can share one. On SQLite the home folder's lock suffices,
because the database is in the home folder.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import sqlalchemy as sql
from filelock import FileLock, Timeout

from api.errors import UsageError
from api.storage.home import create_home

log = logging.getLogger(__name__)

_LOCK_FILE = "jobs.lock"
_RESEARCH_FILE = "research.lock"
_WARN_EVERY_S = 10.0
_ADVISORY_LOCK = 0x63616E646F72  # "candor" in ASCII
_START_LOCK = 0x7374617274  # "start" in ASCII
_ATTEMPTS = 10
_RETRY_S = 0.1


@contextmanager
def lock_home(home: Path) -> Iterator[None]:
    """Hold the home folder's service lock. Raises UsageError if another service holds it, HomeError."""
    lock = FileLock(create_home(home) / _LOCK_FILE, thread_local=False, fallback_to_soft=False)
    try:
        held = lock.acquire(timeout=0)
    except Timeout as error:
        raise UsageError(
            f"Another `candor serve` or `candor worker` uses the home folder {str(home)!r}. Stop it, or set another "
            "folder with --home."
        ) from error
    with held:
        yield


@contextmanager
def research_lock(home: Path) -> Iterator[None]:
    """Hold the lock of the process that works on the runs of the home folder, after waiting for the one that has it.

    A killed service may leave its worker behind for a moment. If another process resumed a run meanwhile, its model
    calls would be paid twice.
    """
    lock = FileLock(home / _RESEARCH_FILE, thread_local=False, fallback_to_soft=False)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=_WARN_EVERY_S)
        except Timeout:
            log.warning("Another process works on the runs of %s. Waiting until it has ended.", home)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def lock_database(engine: sql.Engine, store_url: str | None) -> Iterator[None]:
    """Hold the database's service lock: exclusive with embedded collections, shared with a Qdrant server.

    Raises UsageError if another service holds a conflicting lock. Postgres releases the lock with the connection, so
    also when the process is killed.
    """
    if engine.dialect.name != "postgresql":
        yield
        return
    function = "pg_try_advisory_lock_shared" if store_url else "pg_try_advisory_lock"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.detach()  # the pool would keep the connection open, and with it the lock
        if not _try_lock(connection, f"SELECT {function}(:number)"):
            raise UsageError(
                "Another `candor serve` with another home folder uses this database, and at least one of the two has "
                "embedded collections in its home folder, which the other cannot read. Move the collections to a "
                "Qdrant server that both services use (CANDOR_STORE__URL), give this service its own database "
                "(CANDOR_DATABASE_URL), or stop the other service."
            )
        yield


@asynccontextmanager
async def start_lock(database_url: str) -> AsyncIterator[None]:
    """Hold the lock under which one process at a time creates or upgrades DBOS's tables in a Postgres database.

    DBOS waits 30 s for a lock of its own, then goes on without it. The lock is polled, because a blocked statement
    would keep its snapshot, and the indexes that DBOS creates concurrently wait for the end of every older snapshot.
    """
    engine = sql.create_engine(database_url, poolclass=sql.NullPool, isolation_level="AUTOCOMMIT")
    connection = await asyncio.to_thread(engine.connect)
    try:
        taken = sql.text("SELECT pg_try_advisory_lock(:number)").bindparams(number=_START_LOCK)
        while not await asyncio.to_thread(connection.scalar, taken):  # noqa: ASYNC110 (another process releases it)
            await asyncio.sleep(_RETRY_S)
        yield
    finally:
        await asyncio.to_thread(connection.close)


def _try_lock(connection: sql.Connection, statement: str) -> bool:
    """Return whether the lock was acquired. Retries: Postgres may notice a killed process with a delay."""
    for _ in range(_ATTEMPTS):
        if connection.scalar(sql.text(statement), {"number": _ADVISORY_LOCK}):
            return True
        time.sleep(_RETRY_S)
    return False
