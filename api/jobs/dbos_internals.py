"""All uses of the private interface of DBOS, with the reason for each.

- ``hand_out``: ``DBOS.resume_workflow`` also hands out a job that another process has begun meanwhile, so two would run
  it. DBOS's own recovery checks this in one statement, but it is private, and works on one job in a connection of DBOS.
- ``json_serializer``: DBOS chooses the serializer of a stored value by the value's own label, and loads pickles. That
  can execute code, and everybody who can write to a shared database can store a pickle there.
- ``forget_damaged_attributes``: DBOS has no check of its SQLite tables.
- ``count_unfinished``: commands count jobs without starting DBOS, also where it was never started.

``tests/api/jobs/test_dbos_internals.py`` compares them with the installed DBOS, and fails when that changes.
"""

from __future__ import annotations

import base64
import io
import pickle
import time
from typing import TYPE_CHECKING, Any

import sqlalchemy as sql

if TYPE_CHECKING:
    from dbos import Serializer

FORMAT = "1"
"""The version of the stored job format. DBOS ignores jobs of other versions."""
_SCHEMA = "dbos"
_JOBS = "workflow_status"  # the table of DBOS that has a row for each job


def hand_out(connection: sql.Connection, condition: str, **values: str) -> int:
    """Put the running jobs that meet the condition back into their queues, as DBOS does for a restarted executor.

    Return their number.
    """
    if not has_table(connection, "owner_xid"):  # DBOS was never started, or another process makes its tables now
        return 0
    statement = sql.text(
        f"UPDATE {_table(connection)} SET status = 'ENQUEUED', owner_xid = NULL, started_at_epoch_ms = NULL, "
        f"updated_at = :now WHERE status = 'PENDING' AND application_version = '{FORMAT}' AND {condition}"
    )
    return connection.execute(statement, {"now": int(time.time() * 1000), **values}).rowcount


def count_unfinished(connection: sql.Connection) -> int:
    """Return the number of unfinished jobs of all services on the database."""
    if not has_table(connection):
        return 0
    unfinished = "status IN ('ENQUEUED', 'DELAYED', 'PENDING')"
    return connection.scalar(sql.text(f"SELECT count(*) FROM {_table(connection)} WHERE {unfinished}")) or 0


def forget_damaged_attributes(connection: sql.Connection) -> None:
    """Delete attributes of jobs that are no JSON. With one of them, DBOS would list no job."""
    if has_table(connection, "attributes"):
        connection.execute(
            sql.text(f"UPDATE {_table(connection)} SET attributes = NULL WHERE NOT json_valid(attributes)")
        )


def json_serializer() -> Serializer:
    """Return the serializer for new values. Of the pickles of older versions, DBOS then reads only plain values."""
    from dbos import DBOSPortableJSONSerializer
    from dbos._serialization import DefaultSerializer

    DefaultSerializer.deserialize = _load_plain  # type: ignore[method-assign, assignment]
    return DBOSPortableJSONSerializer()


def _schema(connection: sql.Connection) -> str | None:
    return _SCHEMA if connection.dialect.name == "postgresql" else None


def has_table(connection: sql.Connection, column: str = "status") -> bool:
    """Return whether DBOS has created its table of jobs, with this column."""
    schema = _schema(connection)
    inspector = sql.inspect(connection)
    names = (
        {each["name"] for each in inspector.get_columns(_JOBS, schema)} if inspector.has_table(_JOBS, schema) else ()
    )
    return column in names


def _table(connection: sql.Connection) -> str:
    return ".".join(filter(None, (_schema(connection), _JOBS)))


def _load_plain(_: Any, stored: str) -> Any:
    return _PlainUnpickler(io.BytesIO(base64.b64decode(stored))).load()


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Refuse every class and function. The jobs of older versions are texts in lists and objects."""
        raise pickle.UnpicklingError(f"A stored job refers to {module}.{name}, which no version of Candor writes.")
