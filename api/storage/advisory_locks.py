"""Postgres locks with which the processes of several machines share the request limit of an endpoint.

The locks are session-level advisory locks on one connection per process. Postgres releases them when the connection
ends, so also when the process is killed. Their first number is a hash of the endpoint, their second one the slot.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import socket
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import sqlalchemy as sql

from base.http import is_loopback
from multi_agent.llm.settings import EndpointSettings

log = logging.getLogger(__name__)

_PAUSES_S = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""The pauses before attempts to use a connection. Together they cover a restart of Postgres."""
_ACQUIRE = sql.text(
    "SELECT number FROM unnest(CAST(:numbers AS int[])) AS number WHERE pg_try_advisory_lock(:endpoint, number) LIMIT 1"
)
_RELEASE = sql.text("SELECT pg_advisory_unlock(:endpoint, :number)")


class AdvisoryLocks:
    """The locks of this process, on a connection that opens with the first request.

    Without the connection, for example while Postgres restarts, this process holds no locks: the requests that it has
    already sent do not count for the others.
    """

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="advisory-locks")  # the only user of the connection
        self._connection: sql.Connection | None = None
        self._held: dict[tuple[int, int], HeldAdvisoryLock] = {}

    def for_endpoint(self, settings: EndpointSettings) -> AdvisoryEndpointLocks:
        """Return the locks of an endpoint. Implements ``MakeLocks``."""
        digest = hashlib.sha256(_shared_identity(settings).encode()).digest()
        return AdvisoryEndpointLocks(self, int.from_bytes(digest[:4], signed=True))

    def acquire(self, endpoint: int, numbers: Sequence[int]) -> Future[HeldAdvisoryLock | None]:
        """Acquire the first free lock. The result is None if there is none. It may be SQLAlchemyError."""
        return self._thread.submit(self._acquire, endpoint, numbers)

    def release(self, lock: HeldAdvisoryLock) -> None:
        """Release a lock without waiting."""
        self._thread.submit(self._release, lock)

    def close(self) -> None:
        """Close the connection, which releases all locks."""
        self._thread.submit(self._disconnect)
        self._thread.shutdown()

    # In the thread

    def _acquire(self, endpoint: int, numbers: Sequence[int]) -> HeldAdvisoryLock | None:
        for pause in _PAUSES_S:
            time.sleep(pause)
            # Postgres would grant a lock to the same connection again.
            free = [number for number in numbers if (endpoint, number) not in self._held]
            try:
                number = self._scalar(_ACQUIRE, endpoint=endpoint, numbers=free)
            except sql.exc.SQLAlchemyError as error:
                log.warning("The request limit of an endpoint cannot be read from Postgres: %s", error)
                failed = error
            else:
                if number is None:
                    return None
                held = self._held[endpoint, number] = HeldAdvisoryLock(self, endpoint, number)
                return held
        raise failed

    def _release(self, lock: HeldAdvisoryLock) -> None:
        if self._held.get((lock.endpoint, lock.number)) is not lock:
            return  # its connection has ended, which released it
        del self._held[lock.endpoint, lock.number]
        try:
            self._scalar(_RELEASE, endpoint=lock.endpoint, number=lock.number)
        except sql.exc.SQLAlchemyError as error:
            log.warning("The connection that held the request limits of endpoints ended: %s", error)

    def _scalar(self, statement: sql.TextClause, **parameters: object) -> Any:
        """Execute the statement, and close the connection if that fails."""
        try:
            if self._connection is None:
                connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
                connection.detach()  # the pool would keep the connection open, and with it the locks
                self._connection = connection
            return self._connection.scalar(statement, parameters)
        except sql.exc.SQLAlchemyError:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        self._held.clear()
        if self._connection:
            self._connection.close()
            self._connection = None


class AdvisoryEndpointLocks:
    """Implements ``EndpointLocks``."""

    def __init__(self, locks: AdvisoryLocks, endpoint: int) -> None:
        self._locks, self._endpoint = locks, endpoint

    async def acquire(self, numbers: Sequence[int]) -> HeldAdvisoryLock | None:
        acquiring = self._locks.acquire(self._endpoint, numbers)
        try:
            return await asyncio.wrap_future(acquiring)
        except asyncio.CancelledError:
            acquiring.add_done_callback(_release_result)  # the thread may be acquiring a lock just now
            raise


class HeldAdvisoryLock:
    """Implements ``HeldLock``."""

    def __init__(self, locks: AdvisoryLocks, endpoint: int, number: int) -> None:
        self._locks, self.endpoint, self.number = locks, endpoint, number

    def release(self) -> None:
        self._locks.release(self)


def _release_result(acquired: Future[HeldAdvisoryLock | None]) -> None:
    if not acquired.cancelled() and acquired.exception() is None and (lock := acquired.result()):
        lock.release()


def _shared_identity(settings: EndpointSettings) -> str:
    """Return the identity of an endpoint for all machines. An address of this machine includes its host name."""
    local = settings.provider == "local" or is_loopback(settings.base_url)
    return "\n".join((settings.identity, socket.gethostname() if local else ""))
