"""Tags that people add to documents. They are stored by document id, so another ingest keeps them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select

from ingest.errors import InvalidTag
from ingest.ledger.schema import TAGS

LONGEST_TAG = 64
"""Maximum characters of a tag."""

_FEW = 1_000  # documents; for more, the tags of the whole collection are read

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


def read_tags(
    connection: Connection, collection: str, documents: Sequence[str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the tags of every tagged document, at least of those among ``documents``, by document id."""
    found: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    query = select(TAGS.c.id, TAGS.c.tag).where(TAGS.c.collection == collection).order_by(TAGS.c.id, TAGS.c.tag)
    if documents is not None and len(documents) <= _FEW:
        query = query.where(TAGS.c.id.in_(documents))
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


def copy_tags(connection: Connection, collection: str, sources: Mapping[str, str]) -> None:
    """Add the tags of documents to others. ``sources`` maps each other document to the one that it gets tags from."""
    tags = read_tags(connection, collection, list(dict.fromkeys(sources.values())))
    for target, source in sources.items():
        if source in tags:
            change_tags(connection, collection, [target], add=tags[source], remove=())
