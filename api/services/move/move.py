"""Copies the database and the collections of a data folder to servers, or back into files.

A file in the data folder records an interrupted move. The same command completes it: the database is copied again, and
collections continue where they were. The source is never changed.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sql
from pydantic import Field, ValidationError

from api.errors import UsageError
from api.services.move.collections import OnPassages, copy_collection, require_absent
from api.services.move.database import OnTable, copy_database, require_empty
from base.models import FrozenModel
from ingest.ledger.lock import ingest_lock
from ingest.ledger.schema import ALIASES, DOCUMENTS
from vectorstore.errors import StoreUnavailable
from vectorstore.models import CollectionSpec, UnreadableCollection
from vectorstore.store import VectorStore

FILE = "move.json"


@dataclass(frozen=True)
class MoveTarget:
    """Where the copy goes. ``engine`` or ``store`` is None if that part stays where it is."""

    name: str
    """The addresses. A move can be completed only with the same name."""
    engine: sql.Engine | None
    store: VectorStore | None


@dataclass(frozen=True)
class MoveProgress:
    """Callbacks of a move."""

    on_table: OnTable
    on_collection: Callable[[str], OnPassages]


class MoveReport(FrozenModel):
    """What was copied."""

    rows: int
    collections: dict[str, int] = Field(description="number of passages of each")


class _State(FrozenModel):
    """An interrupted move, as its file stores it."""

    target: str
    collections: dict[str, str] = Field(
        default={}, description="hash of the documents of each collection of which the copy has begun"
    )


def stored_collections(engine: sql.Engine, store: VectorStore) -> Iterator[CollectionSpec]:
    """Yield the collections of a database. A server may also have those of others. Raises StoreUnavailable."""
    with engine.connect() as connection:
        stored = set(connection.scalars(sql.select(ALIASES.c.place)))
        ingested = set(connection.scalars(sql.select(DOCUMENTS.c.collection).distinct()))
    for spec in store.list():
        if spec.name in stored or spec.collection in ingested:
            if isinstance(spec, UnreadableCollection):
                raise StoreUnavailable(f"Collection {spec.name!r} cannot be read: {spec.reason}")
            yield spec


class Move:
    """One move from a database and a store to a target."""

    def __init__(self, engine: sql.Engine, store: VectorStore, target: MoveTarget, home: Path) -> None:
        self._engine, self._store, self._target = engine, store, target
        self._file = home / FILE
        self._key = hashlib.sha256(target.name.encode()).hexdigest()

    def run(self, progress: MoveProgress) -> MoveReport:
        """Copy everything and compare it. No other process may change the source.

        Raises UsageError if the target is not empty or the copy differs, IngestUnderWay, StoreError, SQLAlchemyError.
        """
        with ExitStack() as locks:
            specs = list(stored_collections(self._engine, self._store)) if self._target.store else []
            for name in sorted({spec.collection for spec in specs}):
                locks.enter_context(ingest_lock(self._engine, name))
            state = self._begin(specs)
            engine, store = self._target.engine, self._target.store
            rows = copy_database(self._engine, engine, progress.on_table) if engine else 0
            copied = {}
            for spec in specs:
                assert store
                state = self._begin_collection(state, spec, store)
                with self._store.open(spec.name) as source, store.create(spec) as copy:
                    copied[spec.name] = copy_collection(source, copy, progress.on_collection(spec.name))
            self._file.unlink()
        return MoveReport(rows=rows, collections=copied)

    def _begin(self, specs: list[CollectionSpec]) -> _State:
        """Return the state of the interrupted move to this target, or start a new one. Raises UsageError."""
        if (state := self._read()) is None:
            if self._target.engine:
                require_empty(self._target.engine)
            if self._target.store:
                require_absent(self._target.store, specs)
            return self._write(_State(target=self._key))
        if state.target != self._key:
            raise UsageError(
                f"A move to another target was interrupted. Complete it with the same options as then, or delete "
                f"{str(self._file)!r} to give it up. What it has copied stays at its target."
            )
        return state

    def _begin_collection(self, state: _State, spec: CollectionSpec, store: VectorStore) -> _State:
        """Record that the copy of a collection begins. If its documents have changed since, begin with an empty one."""
        documents = self._hash_documents(spec.collection)
        if state.collections.get(spec.name, documents) != documents and store.find(spec.name):
            store.drop(spec.name)
        return self._write(_State(target=state.target, collections={**state.collections, spec.name: documents}))

    def _hash_documents(self, collection: str) -> str:
        columns = (DOCUMENTS.c.id, DOCUMENTS.c.version, DOCUMENTS.c.chunks, DOCUMENTS.c.updated_at)
        query = sql.select(*columns).where(DOCUMENTS.c.collection == collection).order_by(DOCUMENTS.c.id)
        with self._engine.connect() as connection:
            return hashlib.sha256(repr(connection.execute(query).all()).encode()).hexdigest()

    def _read(self) -> _State | None:
        try:
            return _State.model_validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise UsageError(f"{str(self._file)!r} is damaged. Delete it, and move to a new target.") from error

    def _write(self, state: _State) -> _State:
        temporary = self._file.with_suffix(".new")
        temporary.write_text(state.model_dump_json(), encoding="utf-8")
        temporary.replace(self._file)
        return state
