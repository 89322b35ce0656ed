"""Which stored collection each collection name refers to. An alias changes when another embedding model takes over.

A collection is first stored under its own name. It is rebuilt with another model as a second stored collection: the
name with a number added. One transaction then makes that the live one, together with the ledger's rows of the new
chunks, and retires the old one. A retired collection is forgotten only after the store has dropped it.
"""

from collections.abc import Collection as Container
from enum import StrEnum
from itertools import count
from uuid import UUID, uuid5

from sqlalchemy import Engine, bindparam, delete, insert, select, update

from ingest.ledger.schema import ALIASES, DOCUMENTS, HIDDEN, PASSAGES, database

_STAGING_NAMESPACE = UUID("5d0c1c7e-3a94-5f0b-8c1d-6c4f5b7a2e91")

# Built once, because every search runs them.
_BY_ROLE = (
    select(ALIASES.c.collection, ALIASES.c.place).where(ALIASES.c.role == bindparam("role")).order_by(ALIASES.c.place)
)
_BY_ROLE_AND_COLLECTION = _BY_ROLE.where(ALIASES.c.collection == bindparam("collection"))


class Role(StrEnum):
    """The role of a stored collection."""

    LIVE = "live"
    BUILDING = "building"
    RETIRED = "retired"


class CollectionAliases:
    """Reads and writes the aliases in the ledger's database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def resolve(self, collection: str) -> str:
        """Return the name of the stored collection that searches use."""
        return next(iter(self._stored_names(collection, Role.LIVE)), collection)

    def live(self) -> dict[str, str]:
        """Return the stored name of every collection that is not stored under its own name."""
        with database(), self._engine.connect() as connection:
            return {row.collection: row.place for row in connection.execute(_BY_ROLE, {"role": Role.LIVE})}

    def building(self, collection: str) -> str:
        """Return the name of the stored collection that a rebuild writes to; empty without a rebuild."""
        return next(iter(self._stored_names(collection, Role.BUILDING)), "")

    def retired(self, collection: str) -> list[str]:
        """Return the names of stored collections that were replaced or abandoned, and are still to be dropped."""
        return self._stored_names(collection, Role.RETIRED)

    def start_rebuild(self, collection: str, taken: Container[str]) -> str:
        """Reserve a stored name for a rebuild that is none of the ``taken`` ones, and return it."""
        stored_name = next(name for number in count(1) if (name := f"{collection}.{number}") not in taken)
        with database(), self._engine.begin() as connection:
            connection.execute(delete(ALIASES).where(ALIASES.c.place == stored_name))
            connection.execute(insert(ALIASES).values(place=stored_name, collection=collection, role=Role.BUILDING))
        return stored_name

    def abandon_rebuild(self, collection: str) -> None:
        """Retire what a rebuild has written so far."""
        building = (ALIASES.c.collection == collection, ALIASES.c.role == Role.BUILDING)
        with database(), self._engine.begin() as connection:
            connection.execute(update(ALIASES).where(*building).values(role=Role.RETIRED))

    def promote(self, collection: str) -> None:
        """Make the rebuilt collection the live one, and retire the one before."""
        building, live = self.building(collection), self.resolve(collection)
        staged = DOCUMENTS.alias("staged")
        columns = ("chunks", "tokens", "chunking", "facts")
        rebuilt = select(staged.c.id, *(staged.c[name] for name in columns)).where(
            staged.c.collection == staging_name(building), staged.c.chunks > 0
        )
        with database(), self._engine.begin() as connection:
            rows = [
                {"document": row.id, **{name: row._mapping[name] for name in columns}}
                for row in connection.execute(rebuilt)
            ]
            if rows:
                document = (DOCUMENTS.c.collection == collection, DOCUMENTS.c.id == bindparam("document"))
                connection.execute(update(DOCUMENTS).where(*document), rows)
            connection.execute(delete(DOCUMENTS).where(DOCUMENTS.c.collection == staging_name(building)))
            for table in (HIDDEN, PASSAGES):
                connection.execute(delete(table).where(table.c.collection == collection))
                staged_rows = table.c.collection == staging_name(building)
                connection.execute(update(table).where(staged_rows).values(collection=collection))
            connection.execute(delete(ALIASES).where(ALIASES.c.place.in_((live, building))))
            connection.execute(insert(ALIASES).values(place=live, collection=collection, role=Role.RETIRED))
            connection.execute(insert(ALIASES).values(place=building, collection=collection, role=Role.LIVE))

    def forget(self, stored_name: str) -> None:
        """Delete the alias of a stored collection that the store has dropped."""
        with database(), self._engine.begin() as connection:
            connection.execute(delete(ALIASES).where(ALIASES.c.place == stored_name))

    def _stored_names(self, collection: str, role: Role) -> list[str]:
        with database(), self._engine.connect() as connection:
            rows = connection.execute(_BY_ROLE_AND_COLLECTION, {"role": role, "collection": collection})
            return [row.place for row in rows]


def staging_name(stored_name: str) -> str:
    """Return the collection that the ledger keeps the rows of a rebuild under, until it is promoted."""
    return str(uuid5(_STAGING_NAMESPACE, stored_name))
