"""The tables of processes that share jobs in Postgres, and of their jobs. ``api/jobs/peers.py`` writes the rows."""

import sqlalchemy as sql
from pydantic import AwareDatetime, Field

from base.database import METADATA
from base.models import FrozenModel

PROCESSES = sql.Table(
    "processes",
    METADATA,
    sql.Column("id", sql.String(64), primary_key=True),
    sql.Column("host", sql.Text, nullable=False),
    sql.Column("process", sql.BigInteger, nullable=False),
    sql.Column("process_started", sql.Float, nullable=False),
    sql.Column("queues", sql.JSON, nullable=False),
    sql.Column("takeover_s", sql.Float, nullable=False),
    sql.Column("started_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("seen_at", sql.DateTime(timezone=True), nullable=False),
)
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
SERVICE, OF_SERVICE = ".s", ".w"
"""In the id of a process, behind that of its data folder. Other processes have a hexadecimal digit behind the point."""
NOW = sql.func.clock_timestamp()
SILENT = PROCESSES.c.seen_at < NOW - sql.func.make_interval(0, 0, 0, 0, 0, 0, PROCESSES.c.takeover_s)


class Process(FrozenModel):
    """A service or worker that takes jobs."""

    id: str
    host: str
    process: int = Field(description="process id on its host")
    queues: tuple[str, ...] = Field(description="kinds of job that it takes")
    started_at: AwareDatetime
    seen_at: AwareDatetime = Field(description="time of its last heartbeat")

    @property
    def role(self) -> str:
        """What it is: a service, the worker of one, or a worker."""
        return "service" if SERVICE in self.id else "worker of a service" if OF_SERVICE in self.id else "worker"


def read_process(row: sql.Row[tuple[object, ...]]) -> Process:
    """Return the process of a row."""
    return Process(**{name: row._mapping[name] for name in Process.model_fields})


def live_processes(engine: sql.Engine) -> list[Process]:
    """Return the live processes, oldest first."""
    with engine.connect() as connection:
        rows = connection.execute(sql.select(PROCESSES).where(~SILENT).order_by(PROCESSES.c.started_at)).all()
    return [read_process(row) for row in rows]
