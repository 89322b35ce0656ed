"""The sources of collections, from which documents come besides files and folders, and how their last sync ended."""

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue, computed_field
from sqlalchemy import delete, select

from base.bin import Kind, kept
from base.database import SqlStore
from base.models import FrozenModel
from ingest.ledger.rows import utc
from ingest.ledger.schema import SOURCES, database

EVERY = re.compile(r"([1-9][0-9]{0,3})([mhd])|")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class SyncState(StrEnum):
    """The outcome of the last sync of a source."""

    NEW = "not synced"
    SYNCED = "synced"
    FAILED = "failed"


class SourceSpec(FrozenModel):
    """The description of a source, as a person gives it."""

    address: str = Field(max_length=2000, description="of a page, a sitemap, a feed or a repository (git+https://…)")
    name: str = Field(default="", description="unique in the collection; by default, it is made from the address")
    exclude: tuple[str, ...] = Field(default=(), max_length=100, description="what to leave out, as in .gitignore")
    include: tuple[str, ...] = Field(default=(), max_length=100, description="what to read against a rule")
    every: str = Field(default="", description="how often a service syncs it, such as 30m, 1h or 7d; empty: never")


class SourceRecord(SourceSpec):
    """A source of a collection."""

    collection: str
    options: dict[str, JsonValue] = Field(default_factory=dict, description="what its kind of source takes")
    synced_at: Annotated[datetime, AfterValidator(utc)] | None = Field(default=None, description="end of the last sync")
    documents: int = Field(default=0, description="number of files that the last sync left")
    error: str = Field(default="", description="why the last sync failed, or which documents it could not read")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def state(self) -> SyncState:
        """The outcome of the last sync."""
        if self.error:
            return SyncState.FAILED
        return SyncState.SYNCED if self.synced_at else SyncState.NEW

    @computed_field  # type: ignore[prop-decorator]
    @property
    def next_sync(self) -> datetime | None:
        """The earliest time at which a service syncs it again. None without a schedule."""
        if not self.every:
            return None
        return self.synced_at + self.interval if self.synced_at else datetime.now(UTC)

    @property
    def interval(self) -> timedelta:
        """The time between two syncs of a service. The source must have a schedule."""
        return timedelta(**{_UNITS[self.every[-1]]: int(self.every[:-1])})


class SourceTable(SqlStore):
    """Reads and writes the table of sources."""

    def list(self, collection: str | None = None) -> list[SourceRecord]:
        """Return the sources of a collection, or of all, sorted by collection and name."""
        columns = SOURCES.c
        query = select(SOURCES).where(kept(Kind.COLLECTION, columns.collection))
        query = query.order_by(columns.collection, columns.name)
        if collection is not None:
            query = query.where(columns.collection == collection)
        with database():
            return [SourceRecord(**row._mapping) for row in self._select(query)]

    def put(self, source: SourceRecord) -> None:
        """Add or replace a source."""
        with database():
            self._replace(SOURCES, source.model_dump(include=set(SOURCES.c.keys())))

    def note(self, source: SourceRecord, documents: int, error: str) -> None:
        """Record the outcome of a sync that has ended now."""
        self.put(source.model_copy(update={"synced_at": datetime.now(UTC), "documents": documents, "error": error}))

    def remove(self, source: SourceRecord) -> None:
        """Delete a source. Its documents stay."""
        columns = SOURCES.c
        is_it = columns.collection == source.collection, columns.name == source.name
        with database(), self._engine.begin() as connection:
            connection.execute(delete(SOURCES).where(*is_it))
