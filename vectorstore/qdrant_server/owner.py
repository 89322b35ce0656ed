"""The owner of a collection on a server: the SQL database that lists its documents.

Several processes share a server and a database. If they used the same collection with different databases, each would
delete or replace documents that it does not know.
"""

from collections.abc import Callable
from functools import cached_property

from vectorstore.errors import ForeignCollection


class Owner:
    """The database of this process. ``knows`` returns whether it lists documents of a collection."""

    def __init__(self, read_id: Callable[[], str], knows: Callable[[str], bool]) -> None:
        self._read_id, self.knows = read_id, knows

    @cached_property
    def id(self) -> str:
        """The id of the database, read on first use."""
        return self._read_id()


def foreign(name: str, owner: str) -> ForeignCollection:
    """Return the error for a collection of another database. ``owner`` is the id of that one; empty if unknown."""
    database = f"database {owner[:8]}" if owner else "an unknown database"
    return ForeignCollection(
        f"Collection {name!r} on the Qdrant server belongs to {database}, so Candor with this database cannot change "
        "it. Set CANDOR_DATABASE_URL to the database that it belongs to, or choose another collection name."
    ).with_command(f"If that database is lost, `candor adopt {name}` makes the current one the owner.")
