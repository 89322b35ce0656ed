"""Notifications between processes on one Postgres database (``NOTIFY`` and ``LISTEN``).

    listener = Listener(engine, "candor_events")
    listener.on(receive=show_run, refresh=show_all_runs)
    async with listener.listening():
        …

A notification that is sent while a process has no connection is lost for it. So notify about what the database
stores, and read it again in ``refresh``. On SQLite nothing is sent and nothing is received.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import sqlalchemy as sql

if TYPE_CHECKING:
    from psycopg import AsyncConnection

log = logging.getLogger(__name__)

_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0
# A firewall can drop a connection without closing it. Keepalives detect this within 25 seconds.
_KEEPALIVE = {"connect_timeout": 10, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}


class Listener:
    """The connection on which a process receives the notifications of a channel. It reconnects when Postgres restarts.

    Belongs to the event loop that enters ``listening``.
    """

    def __init__(self, engine: sql.Engine, channel: str) -> None:
        self._engine, self._channel = engine, channel
        self.connected = False
        """Whether notifications arrive now. Always False on SQLite."""

    def on(self, receive: Callable[[str], None], refresh: Callable[[], None]) -> None:
        """Call ``receive`` with the payload of each notification. Call this method before ``listening``.

        ``refresh`` is called after each connection, because notifications may have been lost before. Both are called
        in the event loop. They must neither block nor raise.
        """
        self._receive, self._refresh = receive, refresh

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Receive notifications until the end of the block."""
        if self._engine.dialect.name != "postgresql":
            yield
            return
        listening = asyncio.create_task(self._listen(), name="listener")
        try:
            yield
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening

    async def _listen(self) -> None:
        from psycopg import OperationalError

        pause = _FIRST_PAUSE_S
        while True:
            try:
                async with await self._connect() as connection:
                    pause = _FIRST_PAUSE_S
                    await self._hear(connection)
            except OperationalError as error:
                log.warning("No notifications from Postgres, connecting again in %.1f s: %s", pause, str(error).strip())
            finally:
                self.connected = False
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    async def _connect(self) -> AsyncConnection[Any]:
        from psycopg import AsyncConnection

        _, address = self._engine.dialect.create_connect_args(self._engine.url)
        return await AsyncConnection.connect(**{**_KEEPALIVE, **address}, autocommit=True)

    async def _hear(self, connection: AsyncConnection[Any]) -> None:
        from psycopg.sql import SQL, Identifier

        await connection.execute(SQL("LISTEN {}").format(Identifier(self._channel)))
        self.connected = True
        self._refresh()
        async for notification in connection.notifies():
            self._receive(notification.payload)
