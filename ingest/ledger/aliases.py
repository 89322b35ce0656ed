"""Where in the store each collection lies, while one embedding model takes the place of another.

A collection lies under its own name until then. What is built anew lies beside it, under the name with a number; one
transaction makes that the collection's place, with what the ledger knows of the new chunks. What it replaced is noted
as to be dropped: a place is forgotten only when nothing lies there any more.
"""

from __future__ import annotations

from collections.abc import Collection as Names
from enum import StrEnum
from itertools import count
from uuid import UUID, uuid5

from sqlalchemy import Engine, bindparam, delete, insert, select, update

from ingest.ledger.schema import DOCUMENTS, HIDDEN, PASSAGES, PLACES, database, make_tables

_STAGED = UUID("5d0c1c7e-3a94-5f0b-8c1d-6c4f5b7a2e91")

# Put together once: every search asks.
_ALL = select(PLACES.c.collection, PLACES.c.place).where(PLACES.c.role == bindparam("role")).order_by(PLACES.c.place)
_ONE = _ALL.where(PLACES.c.collection == bindparam("collection"))


class Role(StrEnum):
    """What a place is to its collection."""

    LIVE = "live"
    BUILDING = "building"
    RETIRED = "retired"


class CollectionAliases:
    """Reads and writes them in the ledger's database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        make_tables(engine)

    def of(self, collection: str) -> str:
        """Where its chunks lie that searches see."""
        return next(iter(self._with(collection, Role.LIVE)), collection)

    def live(self) -> dict[str, str]:
        """The same of each collection that does not lie under its own name."""
        with database(), self._engine.connect() as connection:
            return {row.collection: row.place for row in connection.execute(_ALL, {"role": Role.LIVE})}

    def building(self, collection: str) -> str:
        """Where it is being built anew; empty if it is not."""
        return next(iter(self._with(collection, Role.BUILDING)), "")

    def retired(self, collection: str) -> list[str]:
        """Places that were replaced, or given up, and are still to be dropped."""
        return self._with(collection, Role.RETIRED)

    def begin(self, collection: str, taken: Names[str]) -> str:
        """A place to build it anew, which is none of those taken."""
        place = next(name for number in count(1) if (name := f"{collection}.{number}") not in taken)
        with database(), self._engine.begin() as connection:
            connection.execute(delete(PLACES).where(PLACES.c.place == place))
            connection.execute(insert(PLACES).values(place=place, collection=collection, role=Role.BUILDING))
        return place

    def give_up(self, collection: str) -> None:
        """Build it there no more."""
        building = (PLACES.c.collection == collection, PLACES.c.role == Role.BUILDING)
        with database(), self._engine.begin() as connection:
            connection.execute(update(PLACES).where(*building).values(role=Role.RETIRED))

    def promote(self, collection: str) -> None:
        """Let what was built take the collection's place: from now on searches see it."""
        building, live = self.building(collection), self.of(collection)
        staged = DOCUMENTS.alias("staged")
        columns = ("chunks", "tokens", "chunking")
        rebuilt = select(staged.c.id, *(staged.c[name] for name in columns)).where(
            staged.c.collection == staging(building), staged.c.chunks > 0
        )
        with database(), self._engine.begin() as connection:
            rows = [
                {"its_id": row.id, **{name: row._mapping[name] for name in columns}}
                for row in connection.execute(rebuilt)
            ]
            if rows:
                its = (DOCUMENTS.c.collection == collection, DOCUMENTS.c.id == bindparam("its_id"))
                connection.execute(update(DOCUMENTS).where(*its), rows)
            connection.execute(delete(DOCUMENTS).where(DOCUMENTS.c.collection == staging(building)))
            for table in (HIDDEN, PASSAGES):
                connection.execute(delete(table).where(table.c.collection == collection))
                moved = update(table).where(table.c.collection == staging(building)).values(collection=collection)
                connection.execute(moved)
            connection.execute(delete(PLACES).where(PLACES.c.place.in_((live, building))))
            connection.execute(insert(PLACES).values(place=live, collection=collection, role=Role.RETIRED))
            connection.execute(insert(PLACES).values(place=building, collection=collection, role=Role.LIVE))

    def forget(self, place: str) -> None:
        """Nothing lies there any more."""
        with database(), self._engine.begin() as connection:
            connection.execute(delete(PLACES).where(PLACES.c.place == place))

    def _with(self, collection: str, role: Role) -> list[str]:
        with database(), self._engine.connect() as connection:
            return [row.place for row in connection.execute(_ONE, {"role": role, "collection": collection})]


def staging(place: str) -> str:
    """The collection that the ledger keeps what is being built there under, until it is promoted."""
    return str(uuid5(_STAGED, place))
