"""Whether several services may work on one database: if the collections lie in a Qdrant server that all of them reach.

What is known of documents is kept by the name of their collection. A service that keeps its collections embedded has
them in its home folder, where no other finds them: two such services would tell of what they do not have, and ingest
over what the other knows. So it is alone on its database. On SQLite every service is, as the database lies in the home
folder, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sql

from api.errors import UsageError

_SERVING = 0x63616E646F72  # the number of Candor's advisory lock in Postgres: its name in ASCII
_TRIES = 10
_BETWEEN_S = 0.1


@contextmanager
def serving(engine: sql.Engine, store_url: str | None) -> Iterator[None]:
    """Be known to the database as a service. Raises UsageError if there is one that this one cannot work beside.

    Postgres keeps the lock for as long as this holds its connection, and lets go of it when the process is killed.
    """
    if engine.dialect.name != "postgresql":
        yield
        return
    take = "pg_try_advisory_lock_shared" if store_url else "pg_try_advisory_lock"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.detach()  # in the pool it would outlive this, with the lock
        if not _taken(connection, f"SELECT {take}(:number)"):
            raise UsageError(
                "Another `candor serve`, with another home folder, works on this database, and one of the two keeps "
                "its collections embedded in its home folder, where the other does not find them. Keep them in a "
                "Qdrant server that both name (CANDOR_STORE__URL), give this service a database of its own "
                "(CANDOR_DATABASE_URL), or end the other."
            )
        yield


def _taken(connection: sql.Connection, take: str) -> bool:
    """Whether the lock is ours now; of one that was killed a moment ago, Postgres may not know yet."""
    for _ in range(_TRIES):
        if connection.scalar(sql.text(take), {"number": _SERVING}):
            return True
        time.sleep(_BETWEEN_S)
    return False
