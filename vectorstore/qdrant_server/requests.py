"""Requests to a Qdrant server, and the properties of its collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vectorstore.models import ChunkFilter
from vectorstore.qdrant_schema import BM25, DENSE, ORDER_FIELDS, POSITION, excluded_keywords, required_keywords
from vectorstore.settings import VectorStoreSettings

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

PAGE = 5_000  # ids per request


def properties(dimension: int, settings: VectorStoreSettings) -> dict[str, Any]:
    """Return the properties of a new collection."""
    from qdrant_client import models

    on_disk = "vectors" in settings.on_disk
    int8 = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
    quantized = models.ScalarQuantization(scalar=int8) if settings.quantization == "int8" else None
    dense = models.VectorParams(size=dimension, distance=models.Distance.COSINE, on_disk=on_disk)
    index = models.SparseIndexParams(on_disk=on_disk)
    return {
        "vectors_config": {DENSE: dense.model_copy(update={"quantization_config": quantized})},
        "sparse_vectors_config": {BM25: models.SparseVectorParams(modifier=models.Modifier.IDF, index=index)},
        "on_disk_payload": "payload" in settings.on_disk,
        "shard_number": settings.shards,
        "replication_factor": settings.replicas,
        "write_consistency_factor": settings.write_consistency,
    }


def to_filter(where: ChunkFilter) -> models.Filter:
    """Return the filter in Qdrant's form."""
    from qdrant_client import models

    def match(pairs: list[tuple[str, list[str]]]) -> list[models.Condition]:
        return [models.FieldCondition(key=key, match=models.MatchAny(any=keywords)) for key, keywords in pairs]

    required = match(required_keywords(where))
    if where.positions:
        first, last = where.positions
        required.append(models.FieldCondition(key=POSITION, range=models.Range(gte=first, lte=last)))
    return models.Filter(must=required, must_not=match(excluded_keywords(where)))


def read_page(
    name: str, where: models.Filter, client: QdrantClient, after: Any = None
) -> tuple[list[models.Record], Any]:
    """Return points with the fields that order them, and the id that the next page begins with."""
    return client.scroll(name, where, limit=PAGE, offset=after, with_payload=list(ORDER_FIELDS))


def upsert(name: str, points: list[models.PointStruct], client: QdrantClient) -> None:
    """Add or replace points. They are durable on return."""
    client.upsert(name, points, wait=True)


def update_vectors(name: str, points: list[models.PointVectors], client: QdrantClient) -> None:
    """Replace vectors of points. They are durable on return."""
    client.update_vectors(name, points, wait=True)


def create_index(name: str, field: str, kind: models.PayloadSchemaType, client: QdrantClient) -> None:
    """Create the index of a payload field."""
    client.create_payload_index(name, field, kind, wait=True)
