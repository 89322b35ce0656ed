"""Which process works on which run of the service: so what a killed one left can be told from what goes on."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sql

from ingest.guard import has_ended, this_process

_metadata = sql.MetaData()

_claims = sql.Table(
    "service_runs",
    _metadata,
    sql.Column("run_id", sql.String(64), primary_key=True),
    sql.Column("host", sql.String(255), nullable=False),
    sql.Column("process", sql.Integer, nullable=False),
    sql.Column("process_started", sql.Float, nullable=False),
)


class Claims:
    """Runs that are waiting or running, each with its process, in the database behind ``engine``."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine
        _metadata.create_all(engine)

    def claim(self, run_id: str) -> None:
        """This process works on it."""
        row: dict[str, Any] = {"run_id": run_id, **this_process()}
        with self._engine.begin() as connection:
            connection.execute(_claims.insert().values(row))

    def release(self, run_id: str) -> None:
        """Nobody works on it any more."""
        with self._engine.begin() as connection:
            connection.execute(_claims.delete().where(_claims.c.run_id == run_id))

    def orphaned(self) -> list[str]:
        """Runs whose process was one of this machine and has ended; of other machines' nothing is known."""
        with self._engine.connect() as connection:
            return [row["run_id"] for row in connection.execute(sql.select(_claims)).mappings() if has_ended(row)]
