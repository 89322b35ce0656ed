"""Copies collections from one vector store into another, with their vectors, so that nothing is embedded again."""

from collections.abc import Callable, Iterable

import numpy as np

from api.errors import UsageError
from vectorstore.models import ChunkFilter, CollectionSpec
from vectorstore.store import Collection, VectorStore, batches

OnPassages = Callable[[int, int], None]
"""Receives the number of passages that were copied so far, and of all."""

_BATCH = 256
_COMPARED = 20  # documents that are compared in full
_TOLERANCE = 1e-4  # Qdrant normalizes vectors again


def require_absent(target: VectorStore, specs: Iterable[CollectionSpec]) -> None:
    """Raise UsageError if the target has passages of one of these collections."""
    for spec in specs:
        if target.find(spec.name):
            with target.open(spec.name) as collection:
                if chunks := collection.count().chunks:
                    raise UsageError(
                        f"The vector store at the target is not empty: it has a collection {spec.name!r} with "
                        f"{chunks} passages. Name a new server. For files, rename `collections` in the data folder."
                    )


def copy_collection(source: Collection, copy: Collection, on_passages: OnPassages) -> int:
    """Copy all passages that the copy lacks, and compare both collections. Return the number of passages.

    Raises UsageError if they differ, StoreError.
    """
    total, done = source.count().chunks, 0
    started = copy.count().chunks > 0
    for chunks in batches(source.scan(), _BATCH):
        known = copy.vectors([chunk.id for chunk in chunks]) if started else {}
        if new := [chunk for chunk in chunks if chunk.id not in known]:
            vectors = source.vectors([chunk.id for chunk in new])
            copy.upsert(new, np.stack([vectors[chunk.id] for chunk in new]))
        done += len(chunks)
        on_passages(done, total)
    copy.optimize()
    require_equal(source, copy)
    return total


def require_equal(source: Collection, copy: Collection) -> None:
    """Raise UsageError if the counts differ, or a passage or vector of some documents."""
    if (expected := source.count()) != (found := copy.count()):
        raise _differs(source, f"it has {found.chunks} passages instead of {expected.chunks}")
    for document in _some_documents(source):
        where = ChunkFilter(documents=(document,))
        chunks = list(source.scan(where))
        if list(copy.scan(where)) != chunks:
            raise _differs(source, f"the passages of {chunks[0].name!r} are not the same")
        ids = [chunk.id for chunk in chunks]
        originals, copies = source.vectors(ids), copy.vectors(ids)
        if not all(np.allclose(originals[each], copies[each], atol=_TOLERANCE) for each in ids):
            raise _differs(source, f"the vectors of {chunks[0].name!r} are not the same")


def _some_documents(collection: Collection) -> list[str]:
    """Return the ids of a few documents, evenly spaced in the order of names."""
    documents = list(dict.fromkeys(chunk.document_id for chunk in collection.scan()))
    return documents[:: max(1, len(documents) // _COMPARED)][:_COMPARED]


def _differs(collection: Collection, how: str) -> UsageError:
    name = collection.spec.name
    return UsageError(
        f"The copy of collection {name!r} differs from the original: {how}. The original is unchanged. Delete the "
        "collection at the target, and run the command again."
    )
