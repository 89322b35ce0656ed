"""Tags that people add to documents. They are stored by document id, so another ingest keeps them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select

from ingest.errors import InvalidTag
from ingest.ledger.schema import TAGS

LONGEST_TAG = 64
"""Maximum characters of a tag."""

_IS_ONE = (
    TAGS.c.collection == bindparam("in_collection"),
    TAGS.c.id == bindparam("of"),
    TAGS.c.tag == bindparam("called"),
)


def tag_names(written: Iterable[str]) -> tuple[str, ...]:
    """Return the tags in lower case with single spaces, each once, sorted. Raises InvalidTag."""
    names = {" ".join(each.split()).casefold() for each in written}
    for name in names:
        if not name or "," in name or len(name) > LONGEST_TAG:
            raise InvalidTag(f"{name!r} cannot be a tag: use 1 to {LONGEST_TAG} characters and no comma.")
    return tuple(sorted(names))


def read_tags(connection: Connection, collection: str) -> dict[str, tuple[str, ...]]:
    """Return the tags of every tagged document in the collection, by document id."""
    found: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    query = select(TAGS.c.id, TAGS.c.tag).where(TAGS.c.collection == collection).order_by(TAGS.c.id, TAGS.c.tag)
    for document, tag in connection.execute(query):
        found[document] += (tag,)
    return dict(found)


def change_tags(
    connection: Connection, collection: str, documents: Sequence[str], *, add: Sequence[str], remove: Sequence[str]
) -> None:
    """Add and remove tags of documents. Ignores added tags that exist and removed tags that do not."""
    changed = [
        {"in_collection": collection, "of": document, "called": tag}
        for document in dict.fromkeys(documents)
        for tag in {*add, *remove}
    ]
    if changed:
        connection.execute(delete(TAGS).where(*_IS_ONE), changed)
    added = [
        {"collection": collection, "id": document, "tag": tag} for document in dict.fromkeys(documents) for tag in add
    ]
    if added:
        connection.execute(insert(TAGS), added)


def copy_tags(connection: Connection, collection: str, source: str, target: str) -> None:
    """Add the tags of one document to another."""
    query = select(TAGS.c.tag).where(TAGS.c.collection == collection, TAGS.c.id == source)
    change_tags(connection, collection, [target], add=connection.execute(query).scalars().all(), remove=())
