"""The processes that share the jobs of a Postgres database, and the state of their active jobs, in SQL.

Each process renews its row every second or so. The database's clock decides who is alive, so the clocks of the
machines may differ.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import psutil
import sqlalchemy as sql
import sqlalchemy.orm  # a thread that builds a query while another imports this module fails
from sqlalchemy.dialects.postgresql import insert

from api.jobs.dbos_internals import hand_out
from api.jobs.models import JobKind, JobState
from api.storage.fencing import end_connections_of_dead
from api.storage.live_processes import NOW, PROCESSES, SILENT, Process, live_processes, read_process
from base.database import METADATA
from ingest.ledger.lock import release_locks_of

ACTIVE_JOBS = sql.Table(
    "active_jobs",
    METADATA,
    sql.Column("job_id", sql.String(64), primary_key=True),
    sql.Column("process_id", sql.String(64), nullable=False, server_default=""),
    sql.Column("started", sql.Boolean, nullable=False, server_default=sql.false()),
    sql.Column("progress", sql.JSON, nullable=True),
    sql.Column("waits_for", sql.Text, nullable=True),
    sql.Column("cancelled", sql.Boolean, nullable=False, server_default=sql.false()),
)

_TAKEOVER_LOCK = 0x74616B656F766572  # "takeover" in ASCII


@dataclass(frozen=True)
class Beat:
    """What a process learns when it renews its row."""

    alive: bool
    """False if other processes took over its jobs."""
    cancelled: Sequence[str] = ()
    """Jobs of this process that somebody cancelled elsewhere."""


class Processes:
    """The rows of one process, and what it reads of the others. Calls block and raise SQLAlchemyError."""

    def __init__(self, engine: sql.Engine, process_id: str, queues: Collection[JobKind], takeover_s: float) -> None:
        self._engine, self._id = engine, process_id
        started = psutil.Process().create_time()
        self._row = {
            "id": process_id,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "process_started": started,
            "queues": [kind.value for kind in queues],
            "takeover_s": takeover_s,
            "started_at": datetime.fromtimestamp(started, UTC),
        }
        self._stored: dict[str, JobState] = {}

    def join(self, earlier: str = "") -> None:
        """Add the row of this process, which runs no job. Processes whose ids start with ``earlier`` have ended."""
        with self._engine.begin() as connection:
            connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_TAKEOVER_LOCK)))
            if earlier:
                _declare_dead(connection, PROCESSES.c.id.startswith(earlier, autoescape=True))
            hand_out(connection, "executor_id = :id", id=self._id)
            row = insert(PROCESSES).values(**self._row, seen_at=NOW)
            connection.execute(row.on_conflict_do_update(index_elements=["id"], set_={"seen_at": NOW}))
        self._stored.clear()

    def leave(self) -> None:
        """Delete the row, so that others take over unfinished jobs at once."""
        with self._engine.begin() as connection:
            connection.execute(sql.delete(PROCESSES).where(PROCESSES.c.id == self._id))

    def beat(self, active: Mapping[str, JobState]) -> Beat:
        """Renew the row, and exchange the state of active jobs."""
        with self._engine.begin() as connection:
            if not connection.execute(
                sql.update(PROCESSES).where(PROCESSES.c.id == self._id).values(seen_at=NOW)
            ).rowcount:
                return Beat(alive=False)
        with self._engine.begin() as connection:
            self._store_states(connection, active)
            cancelled = connection.scalars(
                sql.select(ACTIVE_JOBS.c.job_id).where(ACTIVE_JOBS.c.job_id.in_(list(active)), ACTIVE_JOBS.c.cancelled)
            ).all()
        return Beat(alive=True, cancelled=cancelled)

    def take_over(self) -> list[Process]:
        """Declare silent processes dead, end their connections, and hand out the jobs of all that are not alive.

        One process at a time does this, and no process joins meanwhile. Return those that were declared dead.
        """
        with self._engine.begin() as connection:
            if not connection.scalar(sql.select(sql.func.pg_try_advisory_xact_lock(_TAKEOVER_LOCK))):
                return []
            dead: list[Process] = []
            if connection.scalar(sql.select(sql.exists().where(SILENT))):
                with self._engine.begin() as first:  # committed before their jobs are handed out
                    dead = _declare_dead(first, SILENT)
            if end_connections_of_dead(connection):
                hand_out(connection, "executor_id NOT IN (SELECT id FROM processes)")
            return dead

    def is_alive(self) -> bool:
        """Return whether this process still has its row."""
        with self._engine.connect() as connection:
            return connection.execute(sql.select(PROCESSES.c.id).where(PROCESSES.c.id == self._id)).first() is not None

    def live(self) -> list[Process]:
        """Return the live processes, oldest first."""
        return live_processes(self._engine)

    def live_ids(self) -> set[str]:
        """Return the ids of all processes that have a row."""
        with self._engine.connect() as connection:
            return set(connection.scalars(sql.select(PROCESSES.c.id)))

    def states(self, job_ids: Collection[str]) -> dict[str, JobState]:
        """Return the stored states of these jobs."""
        query = sql.select(ACTIVE_JOBS).where(ACTIVE_JOBS.c.job_id.in_(job_ids), ACTIVE_JOBS.c.process_id != "")
        with self._engine.connect() as connection:
            return {
                row.job_id: JobState(started=row.started, progress=row.progress, waits_for=row.waits_for)
                for row in connection.execute(query)
            }

    def mark_cancelled(self, job_id: str) -> None:
        """Ask the process that runs the job, now or later, to cancel it."""
        mark = insert(ACTIVE_JOBS).values(job_id=job_id, cancelled=True)
        with self._engine.begin() as connection:
            connection.execute(mark.on_conflict_do_update(index_elements=["job_id"], set_={"cancelled": True}))

    def is_cancelled(self, job_id: str) -> bool:
        """Return whether somebody asked to cancel the job."""
        marked = sql.select(ACTIVE_JOBS.c.job_id).where(ACTIVE_JOBS.c.job_id == job_id, ACTIVE_JOBS.c.cancelled)
        with self._engine.connect() as connection:
            return connection.execute(marked).first() is not None

    def forget(self, job_id: str) -> None:
        """Delete the state of a job that has ended."""
        with self._engine.begin() as connection:
            connection.execute(sql.delete(ACTIVE_JOBS).where(ACTIVE_JOBS.c.job_id == job_id))

    def _store_states(self, connection: sql.Connection, active: Mapping[str, JobState]) -> None:
        for job_id, state in active.items():
            if self._stored.get(job_id) != state:
                values = {"process_id": self._id, **state.model_dump(mode="json")}
                store = insert(ACTIVE_JOBS).values(job_id=job_id, **values)
                connection.execute(store.on_conflict_do_update(index_elements=["job_id"], set_=values))
        if ended := self._stored.keys() - active.keys():
            ours = ACTIVE_JOBS.c.process_id == self._id  # else another process has taken it over
            connection.execute(sql.delete(ACTIVE_JOBS).where(ACTIVE_JOBS.c.job_id.in_(ended), ours))
        self._stored = dict(active)


def _declare_dead(connection: sql.Connection, which: sql.ColumnElement[bool]) -> list[Process]:
    """Delete the rows of these processes, and their ingest locks."""
    rows = connection.execute(sql.delete(PROCESSES).where(which).returning(PROCESSES)).all()
    for row in rows:
        release_locks_of(connection, row.host, row.process, row.process_started)
    return [read_process(row) for row in rows]
