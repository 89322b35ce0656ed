"""Use cases for deleted items: move them to the bin, restore them, and remove them permanently.

The passages of a deleted document are removed from the vector store. Its text is kept, and a restore embeds the
passages again. All other items are kept unchanged, and hidden from lists, searches and answers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import sqlalchemy as sql
from pydantic import AwareDatetime, Field

from api.auth.audit import BY, AuditEntry
from api.auth.keys import Key, Keys
from api.auth.permissions import LOCAL_CALLER, Caller, Right
from api.errors import HomeError, UsageError
from api.services.documents.collections import Collections
from api.services.documents.documents import Documents
from api.services.research.prune import PrunedRun, RunPruning
from api.storage.home import bytes_below
from base.bin import BIN, Kind
from base.models import FrozenModel
from ingest.errors import IngestError
from ingest.ledger.records import DocumentRecord
from ingest.ledger.rows import utc
from multi_agent.tables.store import TableStore
from multi_agent.tables.values import Table
from vectorstore.errors import StoreError
from vectorstore.store import Collection

Drop = Callable[[str], None]
"""Removes a collection permanently. The service has collections open, so it passes a function that closes them."""


class BinEntry(FrozenModel):
    """A deleted item in the bin."""

    id: str
    kind: Kind
    target: str = Field(description="id of the document, run or key; name of the collection or table")
    collection: str = Field(description="collections it belongs to; empty for a key")
    name: str
    size: int = Field(description="bytes of its uploaded files; for a run, its stored bytes")
    deleted_at: AwareDatetime
    deleted_by: str
    key: str = Field(description="id of the key or user that deleted it; empty for the local user")
    removed_at: AwareDatetime = Field(description="when it is removed permanently")

    def open_to(self, caller: Caller) -> bool:
        """Return whether the caller may restore or remove it: whoever deleted it, or an admin of its collections."""
        mine = self.key != "" and self.key == caller.key
        needed = Right.READ if self.kind is Kind.RUN else Right.WRITE
        return caller.is_admin or (
            self.kind is not Kind.KEY and caller.may(needed if mine else Right.ADMIN, self.collection)
        )


@dataclass(frozen=True, eq=False)
class Bin:
    """Deletes and restores items. If ``days`` is 0, or with ``now``, a deletion is permanent. Calls block."""

    engine: sql.Engine
    days: int
    collections: Collections
    documents: Documents
    pruning: RunPruning
    tables: TableStore
    keys: Keys

    def delete_collection(
        self, name: str, caller: Caller = LOCAL_CALLER, drop: Drop | None = None, *, now: bool = False
    ) -> None:
        """Delete a collection with its documents and uploaded files. Its runs are kept.

        Raises UsageError, StoreError, IngestError.
        """
        self.collections.require_known(name)
        if now or not self.days:
            (drop or self.collections.drop)(name)
            self._empty_inside(name, caller.name)
            return
        with self.collections.lock(name):
            size = bytes_below(self.collections.uploads.folder(name))
            self._put(Kind.COLLECTION, name, name, name, caller, size)

    def delete_document(
        self,
        found: DocumentRecord,
        caller: Caller = LOCAL_CALLER,
        opened: Collection | None = None,
        *,
        now: bool = False,
    ) -> None:
        """Delete a document. ``opened`` is its collection, if this process has it open.

        Raises IngestError, StoreError.
        """
        size = found.size if self.documents.is_uploaded(found) else 0

        def put() -> str:
            return self._put(Kind.DOCUMENT, found.id, found.collection, found.name, caller, size)

        self.documents.remove(found, opened, put if self.days and not now else None)

    def delete_runs(self, runs: Sequence[PrunedRun], caller: Caller = LOCAL_CALLER, *, now: bool = False) -> None:
        """Delete runs with the files that their tools wrote."""
        self.pruning.note(runs, caller)
        if now or not self.days:
            self.pruning.delete([run.run_id for run in runs])
            return
        for run in runs:
            self._put(Kind.RUN, run.run_id, run.collection, run.question, caller, run.size)

    def delete_table(self, table: Table, caller: Caller = LOCAL_CALLER, *, now: bool = False) -> None:
        """Delete a table with its cells."""
        if now or not self.days:
            self.tables.delete(table.name)
        else:
            self._put(Kind.TABLE, table.name, table.collection, table.name, caller)

    def delete_key(self, key: Key, caller: Caller = LOCAL_CALLER, *, now: bool = False) -> Key:
        """Revoke a key, and return the revoked key. A permanent deletion erases its secret."""
        if now or not self.days:
            self.keys.erase(key.id)
            self._forget(Kind.KEY, key.id)
        elif not key.revoked_at:
            self._put(Kind.KEY, key.id, "", key.name, caller)
        return self.keys.revoke(key.id)

    def list(self, caller: Caller = LOCAL_CALLER) -> list[BinEntry]:
        """Return the entries that the caller may restore, latest first."""
        with self.engine.connect() as connection:
            rows = connection.execute(sql.select(BIN).order_by(BIN.c.deleted_at.desc(), BIN.c.id)).mappings().all()
        found = []
        for row in rows:
            at = utc(row["deleted_at"])
            entry = BinEntry(**{**row, "deleted_at": at, "removed_at": at + timedelta(days=self.days)})
            found += [entry] if entry.open_to(caller) else []
        return found

    def find(self, reference: str, caller: Caller = LOCAL_CALLER) -> BinEntry:
        """Return the entry that has this id or prefix, or whose item has this id or name. Raises UsageError."""
        known = self.list(caller)
        found = [each for each in known if reference in (each.target, each.name)] or [
            each for each in known if each.id.startswith(reference)
        ]
        if not found:
            raise UsageError(f"{reference!r} is not in the bin.").with_command("`candor bin` lists its entries.")
        if len(found) > 1:
            listed = ", ".join(f"{each.kind} {each.id[:8]}" for each in found)
            raise UsageError(f"The bin has {reference!r} several times: {listed}. Name the id of one.")
        return found[0]

    def restore(self, entry: BinEntry) -> bool:
        """Restore an item. Return whether it is a document whose passages an ingest with ``repair`` has to embed.

        Raises InBin if its collection is in the bin, IngestError, UsageError.
        """
        lost = entry.kind is Kind.DOCUMENT and self.documents.restore(entry.collection, entry.target, entry.id)
        if entry.kind is Kind.KEY:
            self.keys.restore(entry.target)
        self._remove(entry)
        return lost

    def empty(self, entries: Sequence[BinEntry], by: str = LOCAL_CALLER.name, drop: Drop | None = None) -> None:
        """Remove items permanently. The audit log records them first. Raises StoreError, IngestError."""
        if entries:
            self.pruning.audit.write([_audited(each, by) for each in entries])
        remove = {
            Kind.COLLECTION: drop or self.collections.drop, Kind.TABLE: self.tables.delete, Kind.KEY: self.keys.erase,
        }  # fmt: skip
        for entry in entries:
            if not self._has(entry):  # restored or removed since the caller read the list
                continue
            if entry.kind is Kind.DOCUMENT:
                self.documents.forget(entry.id)
            elif entry.kind is Kind.RUN:
                self.pruning.delete([entry.target])
            else:
                remove[entry.kind](entry.target)
            self._remove(entry)
            if entry.kind is Kind.COLLECTION:
                self._empty_inside(entry.target, by)

    def _empty_inside(self, collection: str, by: str) -> None:
        """Remove the documents of a removed collection from the bin."""
        inside = [each for each in self.list() if each.kind is Kind.DOCUMENT and each.collection == collection]
        self.empty(inside, by)

    def _has(self, entry: BinEntry) -> bool:
        with self.engine.connect() as connection:
            return connection.scalar(sql.select(BIN.c.id).where(BIN.c.id == entry.id)) is not None

    def expire(self, drop: Drop | None = None) -> None:
        """Remove entries older than ``days`` permanently. Raises the first error at the end."""
        failed: Exception | None = None
        for entry in self.list():
            if entry.removed_at <= datetime.now(UTC):
                try:
                    self.empty([entry], BY, drop)
                except (HomeError, StoreError, IngestError) as error:  # the other entries do not wait for this one
                    failed = failed or error
        if failed:
            raise failed

    def _put(self, kind: Kind, target: str, collection: str, name: str, caller: Caller, size: int = 0) -> str:
        """Add an entry, and return its id."""
        row = {
            "id": str(uuid4()), "kind": kind, "target": target, "collection": collection, "name": name, "size": size,
            "deleted_at": datetime.now(UTC), "deleted_by": caller.name, "key": caller.key,
        }  # fmt: skip
        with self.engine.begin() as connection:
            connection.execute(BIN.insert(), row)
        return str(row["id"])

    def _remove(self, entry: BinEntry) -> None:
        """Delete an entry. A document may have several, each with its own text; other items have one."""
        if entry.kind is Kind.DOCUMENT:
            with self.engine.begin() as connection:
                connection.execute(BIN.delete().where(BIN.c.id == entry.id))
        else:
            self._forget(entry.kind, entry.target)

    def _forget(self, kind: Kind, target: str) -> None:
        """Delete the entries of an item. Two processes that delete it at the same time add two."""
        with self.engine.begin() as connection:
            connection.execute(BIN.delete().where(BIN.c.kind == kind, BIN.c.target == target))


def _audited(entry: BinEntry, by: str) -> AuditEntry:
    names = (entry.collection,) if entry.collection else ()
    return AuditEntry(
        at=datetime.now(UTC), key="", name=by, address="", action="empty bin", target=f"{entry.kind} {entry.name}",
        collections=names, status=0,
    )  # fmt: skip
