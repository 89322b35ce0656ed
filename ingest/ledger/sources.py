"""The sources of collections, from which documents come besides files and folders, and how their last sync ended."""

from datetime import UTC, datetime
from enum import StrEnum

from pydantic import Field, JsonValue, computed_field
from sqlalchemy import delete, select

from base.database import SqlStore
from base.models import FrozenModel
from ingest.ledger.schema import SOURCES, database


class SyncState(StrEnum):
    """The outcome of the last sync of a source."""

    NEW = "not synced"
    SYNCED = "synced"
    FAILED = "failed"


class SourceRecord(FrozenModel):
    """A source of a collection."""

    collection: str
    name: str = Field(description="unique in the collection")
    address: str
    options: dict[str, JsonValue] = Field(default_factory=dict, description="what its kind of source takes")
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    synced_at: datetime | None = Field(default=None, description="when the last sync ended")
    documents: int = Field(default=0, description="number of files that the last sync left")
    error: str = Field(default="", description="why the last sync failed, or which documents it could not read")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def state(self) -> SyncState:
        """The outcome of the last sync."""
        if self.error:
            return SyncState.FAILED
        return SyncState.SYNCED if self.synced_at else SyncState.NEW


class SourceTable(SqlStore):
    """Reads and writes the table of sources."""

    def list(self, collection: str | None = None) -> list[SourceRecord]:
        """Return the sources of a collection, or of all, sorted by collection and name."""
        columns = SOURCES.c
        query = select(SOURCES).order_by(columns.collection, columns.name)
        if collection is not None:
            query = query.where(columns.collection == collection)
        with database():
            return [SourceRecord(**row._mapping) for row in self._select(query)]

    def put(self, source: SourceRecord) -> None:
        """Add or replace a source."""
        with database():
            self._replace(SOURCES, source.model_dump(exclude={"state"}))

    def note(self, source: SourceRecord, documents: int, error: str) -> None:
        """Record the outcome of a sync that has ended now."""
        self.put(source.model_copy(update={"synced_at": datetime.now(UTC), "documents": documents, "error": error}))

    def remove(self, source: SourceRecord) -> None:
        """Delete a source. Its documents stay."""
        columns = SOURCES.c
        is_it = columns.collection == source.collection, columns.name == source.name
        with database(), self._engine.begin() as connection:
            connection.execute(delete(SOURCES).where(*is_it))
