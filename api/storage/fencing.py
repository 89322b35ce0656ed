"""Keeps a process that was declared dead from writing to the shared database.

A process names its connections after itself. When others take its jobs over, they delete its row in ``processes`` and
end its connections, and it cannot open new ones before it has joined again. So whatever a frozen process does when it
wakes up, it cannot change a run that another process continues.
"""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sql

from api.storage.database import DatabaseFailed

_PREFIX = "candor/"
_END_TIMEOUT_MS = 2000


class Fenced(DatabaseFailed):
    """Other processes took over the jobs of this process."""


def fence(engine: sql.Engine, process_id: str) -> Callable[[], None]:
    """Let the engine connect only while the process is alive. Return a function that ends the fence."""

    def name(_: object, __: object, ___: object, parameters: dict[str, Any]) -> None:
        parameters["application_name"] = _PREFIX + process_id

    def check(connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM processes WHERE id = %s", (process_id,))
            alive = cursor.fetchone()
        connection.rollback()
        if not alive:
            connection.close()
            raise Fenced(
                "This process stored no heartbeat for too long, so other processes took over its jobs. It joins them "
                "again in a moment. Repeat the request."
            )

    def end() -> None:
        sql.event.remove(engine, "do_connect", name)
        sql.event.remove(engine, "connect", check)
        engine.dispose()

    sql.event.listen(engine, "do_connect", name)
    sql.event.listen(engine, "connect", check)
    engine.dispose()  # connections without the name
    return end


def end_connections_of_dead(connection: sql.Connection) -> bool:
    """End the connections of processes that are not in the table. Return False if one did not end."""
    statement = sql.text(
        "SELECT pg_terminate_backend(pid, :timeout_ms) FROM pg_stat_activity "
        "WHERE datname = current_database() AND starts_with(application_name, :prefix) "
        "AND application_name NOT IN (SELECT :prefix || id FROM processes)"
    )
    ended = connection.scalars(statement, {"timeout_ms": _END_TIMEOUT_MS, "prefix": _PREFIX})
    return all(ended)
