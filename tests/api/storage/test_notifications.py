"""Notifications through a real Postgres server, also after it has restarted."""

from __future__ import annotations

import sqlalchemy as sql

from api.storage.notifications import Listener
from support.postgres import PostgresServer
from support.waiting import wait_for

CHANNEL = "candor_test"


class Received:
    """The calls of a listener."""

    def __init__(self, engine: sql.Engine) -> None:
        self.payloads: list[str] = []
        self.refreshed = 0
        self.listener = Listener(engine, CHANNEL)
        self.listener.on(self.payloads.append, self._refresh)

    def _refresh(self) -> None:
        self.refreshed += 1


def notify(connection: sql.Connection, payload: str) -> None:
    connection.execute(sql.select(sql.func.pg_notify(CHANNEL, payload)))


def send(engine: sql.Engine, payload: str) -> None:
    with engine.begin() as connection:
        notify(connection, payload)


async def test_a_notification_arrives_when_its_transaction_commits(postgres_server: PostgresServer) -> None:
    engine = sql.create_engine(postgres_server.url)
    received = Received(engine)
    async with received.listener.listening():
        await wait_for(lambda: received.refreshed)
        with engine.connect() as connection:
            notify(connection, "rolled back")
            connection.rollback()
        send(engine, "first")
        send(engine, "with a 'quote'")
        await wait_for(lambda: len(received.payloads) == 2)
        assert received.payloads == ["first", "with a 'quote'"]
        assert received.listener.connected
    assert not received.listener.connected
    engine.dispose()


async def test_a_listener_reconnects_when_postgres_restarts(postgres_server: PostgresServer) -> None:
    engine = sql.create_engine(postgres_server.url, pool_pre_ping=True)
    received = Received(engine)
    async with received.listener.listening():
        await wait_for(lambda: received.refreshed == 1)
        postgres_server.stop()
        await wait_for(lambda: not received.listener.connected)
        postgres_server.start()
        await wait_for(lambda: received.refreshed == 2)
        send(engine, "after the restart")
        await wait_for(lambda: received.payloads == ["after the restart"])
    engine.dispose()


async def test_sqlite_has_no_notifications() -> None:
    engine = sql.create_engine("sqlite://")
    received = Received(engine)
    async with received.listener.listening():
        assert not received.listener.connected
    assert (received.payloads, received.refreshed) == ([], 0)
