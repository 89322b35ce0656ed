"""Create and load shards of Qdrant Edge, and translate filters and errors.

Qdrant Edge, its errors and its files appear only here, in ``collection.py`` and in ``optimizer.py``.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import qdrant_edge as qdrant

from vectorstore.edge.optimizer import recover
from vectorstore.errors import StoreUnavailable
from vectorstore.models import ChunkFilter, CollectionSpec
from vectorstore.qdrant_schema import BM25, DENSE, INDEXED_FIELDS, POSITION, excluded_keywords, required_keywords

SHARD = "shard"


def create_shard(path: Path, spec: CollectionSpec) -> qdrant.EdgeShard:
    """Create the shard of a new collection. First deletes the files of an interrupted attempt."""
    if path.exists():
        shutil.rmtree(path)
    path.mkdir()
    config = qdrant.EdgeConfig(
        vectors={DENSE: qdrant.EdgeVectorParams(size=spec.dimension, distance=qdrant.Distance.Cosine)},
        sparse_vectors={BM25: qdrant.EdgeSparseVectorParams(modifier=qdrant.Modifier.Idf)},
    )
    with engine_errors("create", path):
        shard = qdrant.EdgeShard.create(str(path / SHARD), config)
        _create_indexes(shard)
        shard.flush()
        return shard


def load_shard(path: Path) -> qdrant.EdgeShard:
    """Load the shard of a collection. Completes a replacement by an optimized copy."""
    recover(path / SHARD)
    remedy = (
        f"Its files are damaged or cannot be read. Rename {str(path)!r}; `candor ingest --retry-failed --collection "
        f"{path.name}` then restores the passages from the texts in the database."
    )
    with engine_errors("load", path, remedy):
        shard = qdrant.EdgeShard.load(str(path / SHARD))
        _create_indexes(shard)  # fields that an earlier version did not index
        return shard


def to_filter(where: ChunkFilter) -> qdrant.Filter:
    """Return the filter of the engine."""

    def match(pairs: list[tuple[str, list[str]]]) -> list[Any]:
        return [qdrant.FieldCondition(key, match=qdrant.MatchAny(keywords)) for key, keywords in pairs]

    required = match(required_keywords(where))
    if where.positions:
        first, last = where.positions
        required.append(qdrant.FieldCondition(POSITION, range=qdrant.RangeFloat(gte=first, lte=last)))
    return qdrant.Filter(must=required, must_not=match(excluded_keywords(where)))


@contextmanager
def engine_errors(action: str, path: Path, remedy: str = "") -> Iterator[None]:
    """Raise StoreUnavailable, with the remedy, for an error of the engine in the block."""
    try:
        yield
    except Exception as error:
        # The engine raises Exception itself. A subclass is a bug in the calling module.
        if type(error) is not Exception:
            raise
        failed = f"Could not {action} collection {path.name!r} in {str(path.parent)!r}: {error}"
        raise StoreUnavailable(f"{failed}. {remedy}" if remedy else failed) from error


def _create_indexes(shard: qdrant.EdgeShard) -> None:
    for field in INDEXED_FIELDS:
        shard.update(qdrant.UpdateOperation.create_field_index(field, qdrant.PayloadSchemaType.Keyword))
