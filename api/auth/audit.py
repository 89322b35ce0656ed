"""The audit log: which caller read or changed what over the service, when, and from which address.

The audit middleware of the service writes an entry before it sends a response, also when it refuses a known caller.
Anonymous requests are not recorded: they could fill the disk, and they read nothing. Entries older than the retention
period are deleted, which is itself recorded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import sqlalchemy as sql
from pydantic import AwareDatetime, Field

from api.errors import HomeError
from base.database import METADATA, SqlStore
from base.models import FrozenModel, UtcTime
from ingest.errors import IngestError
from vectorstore.errors import StoreError

log = logging.getLogger(__name__)

BY = "the service"
_DAY_S = 24 * 60 * 60
MAX_TARGET, MAX_ACTION = 2000, 300  # characters
_DELETE_BATCH = 10_000  # entries per transaction, so that other writers do not wait long

_audit = sql.Table(
    "audit",
    METADATA,
    sql.Column("id", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("at", sql.DateTime(timezone=True), nullable=False, index=True),
    sql.Column("key", sql.String(12), nullable=False, index=True),
    sql.Column("name", sql.String(100), nullable=False),
    sql.Column("address", sql.String(100), nullable=False),
    sql.Column("action", sql.String(MAX_ACTION), nullable=False),
    sql.Column("target", sql.Text, nullable=False),
    sql.Column("collections", sql.JSON, nullable=False),
    sql.Column("status", sql.Integer, nullable=False),
)


class AuditEntry(FrozenModel):
    """One request of a known caller, or one deletion of old entries."""

    id: int = Field(default=0, description="increases with every entry")
    at: AwareDatetime
    key: str = Field(description="id of the key; empty for a local user without a key")
    name: str = Field(description="name of the key at that time")
    address: str = Field(description="address of the client; empty for a deletion of old entries")
    action: str = Field(description="method and route, for example GET /v1/runs/{run_id}; or prune audit")
    target: str = Field(description="path and query; for MCP also the tool call")
    collections: tuple[str, ...] = Field(description="collections that the request accessed")
    status: int = Field(description="status code; 101 for an accepted web socket, 0 for a deletion of old entries")


class AuditQuery(FrozenModel):
    """A filter for entries, which are returned newest first."""

    key: str | None = Field(default=None, description="only entries of the key with this id")
    collection: str | None = Field(default=None, description="only entries about this collection")
    text: str | None = Field(default=None, description="only entries with this text in action or target")
    since: UtcTime | None = None
    until: UtcTime | None = None
    before: int | None = Field(
        default=None, ge=1, le=2**63 - 1, description="only entries before the entry with this id (for paging)"
    )
    limit: int = Field(default=100, ge=1, le=10_000)


class Audit(SqlStore):
    """The audit log in SQL. Calls block."""

    def write(self, entries: Sequence[AuditEntry]) -> None:
        """Append entries."""
        rows = [entry.model_dump(exclude={"id"}) | {"collections": list(entry.collections)} for entry in entries]
        if rows:
            self._execute(_audit.insert(), rows)

    def list(self, query: AuditQuery) -> list[AuditEntry]:
        """Return the entries that match, newest first."""
        statement = sql.select(_audit).order_by(_audit.c.id.desc()).limit(query.limit)
        if query.key is not None:
            statement = statement.where(_audit.c.key == query.key)
        if query.collection is not None:
            named = sql.cast(_audit.c.collections, sql.Text).contains(f'"{query.collection}"', autoescape=True)
            statement = statement.where(named)
        if query.text is not None:
            columns = (_audit.c.action, _audit.c.target)
            statement = statement.where(sql.or_(*(each.icontains(query.text, autoescape=True) for each in columns)))
        if query.since is not None:
            statement = statement.where(_audit.c.at >= query.since)
        if query.until is not None:
            statement = statement.where(_audit.c.at <= query.until)
        if query.before is not None:
            statement = statement.where(_audit.c.id < query.before)
        return [_entry(row._mapping) for row in self._select(statement)]

    def prune(self, days: int, by: str) -> int:
        """Delete entries older than ``days`` days, and return how many were deleted.

        An entry that names ``by`` is written first, so that the deletion is recorded even if it is interrupted.
        """
        now = datetime.now(UTC)
        old = _audit.c.at < now - timedelta(days=days)
        if count := self._select(sql.select(sql.func.count()).where(old))[0][0]:
            target = f"{count} entries older than {days} days"
            entry = AuditEntry(
                at=now, key="", name=by, address="", action="prune audit", target=target, collections=(), status=0
            )
            self.write([entry])
        batch = _audit.delete().where(_audit.c.id.in_(sql.select(_audit.c.id).where(old).limit(_DELETE_BATCH)))
        total = 0
        while deleted := self._execute(batch):
            total += deleted
        return total


def _entry(row: sql.RowMapping) -> AuditEntry:
    values = dict(row)
    if values["at"].tzinfo is None:  # SQLite does not store time zones; all times are UTC
        values["at"] = values["at"].replace(tzinfo=UTC)
    return AuditEntry(**values)


async def every_day(work: Callable[[], object], every_s: float = _DAY_S) -> None:
    """Call ``work``, which deletes old data, now and once a day until cancelled. Failures are logged and retried."""
    while True:
        try:
            await asyncio.to_thread(work)
        except (sql.exc.SQLAlchemyError, HomeError, IngestError, StoreError) as error:
            log.warning("Could not delete old entries, will retry later: %s", error)
        await asyncio.sleep(every_s)
