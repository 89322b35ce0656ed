"""How chunks lie in Qdrant: names, payload, filters and ranking depth, the same for both stores.

Both stores give the same results because everything that decides a result stands here or in ``bm25.py``; what is left
to ``edge.py`` and ``server.py`` is to say it in the words of their client.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from vectorstore.errors import CollectionMismatch, CollectionNotFound
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Hit, Scalar, SearchMode
from vectorstore.store import Vectors
from vectorstore.text.languages import ENGLISH, LANGUAGE

DENSE = "dense"
BM25 = "bm25"

# How deep each ranking is read before the two are fused. They are fused by their scores, each ranking's brought to its
# own mean and deviation (Qdrant's DBSF), and summed: how far a chunk stands out counts, and not only its place. Against
# reciprocal ranks with k = 2, nDCG@10 is 0.015 higher on SciFact, 0.014 on SQuAD 2, 0.007 on XQuAD, and no lower on the
# other sets of benchmarks/README.md.
CANDIDATES = 50

FOLDERS = "folders"
TERMS = "terms"
INDEXED = ("document_id", "kind", FOLDERS, TERMS, LANGUAGE)
READING_ORDER = ("name", "document_id", "index")

LANGUAGES = 200  # more than the detector knows

Payload = dict[str, Any]


def payload_of(chunk: Chunk) -> Payload:
    """The chunk's own fields, lists of keywords that folder and metadata filters match exactly, and its language."""
    return chunk.model_dump(mode="json") | {
        FOLDERS: [folder.as_posix() for folder in PurePath(chunk.document).parents],
        TERMS: [_term(key, value) for key, value in chunk.metadata.items()],
        LANGUAGE: language_of(chunk),
    }


def chunk_of(payload: Payload) -> Chunk:
    """The chunk that ``payload_of`` was given, exactly."""
    return Chunk.model_validate({key: value for key, value in payload.items() if key not in (FOLDERS, TERMS, LANGUAGE)})


def language_of(chunk: Chunk) -> str:
    """The language that the chunk is indexed in."""
    return str(chunk.metadata.get(LANGUAGE) or ENGLISH)


def conditions(where: ChunkFilter) -> list[tuple[str, list[str]]]:
    """The filter as (field, accepted keywords): a chunk is selected if each field has one of its keywords."""
    wanted: list[tuple[str, list[str]]] = []
    if where.documents:
        wanted.append(("document_id", list(where.documents)))
    if where.folder is not None:
        wanted.append((FOLDERS, [PurePath(where.folder).as_posix()]))
    if where.kinds:
        wanted.append(("kind", [kind.value for kind in where.kinds]))
    wanted.extend((TERMS, [_term(key, value)]) for key, value in where.metadata.items())
    return wanted


def exclusions(where: ChunkFilter) -> list[tuple[str, list[str]]]:
    """The filter's other half, (field, keywords): a chunk with any of the keywords is left out."""
    return [(TERMS, [_term(key, value) for value in values]) for key, values in where.without.items() if values]


def _term(key: str, value: Scalar) -> str:
    """A metadata entry as one keyword: needs no index per key, no escaping, and keeps "1", 1 and true apart."""
    return json.dumps([key, value], ensure_ascii=False)


def best(scored: Iterable[tuple[str, float]], limit: int) -> list[tuple[str, float]]:
    """The ``limit`` best (id, score); equal scores, which Qdrant returns in any order, in order of id."""
    return sorted(scored, key=lambda point: (-point[1], point[0]))[:limit]


def hits(ranking: Iterable[tuple[str, float]], payloads: Mapping[str, Payload]) -> list[Hit]:
    """The ranked chunks; one that was deleted between the search and the reading is left out."""
    return [Hit(chunk=chunk_of(payloads[chunk_id]), score=score) for chunk_id, score in ranking if chunk_id in payloads]


def in_reading_order(points: Iterable[tuple[str, Payload]]) -> list[str]:
    """Ids by document name, document and position; the payloads need to hold no more than READING_ORDER."""
    return [
        key[-1] for key in sorted((*(payload[field] for field in READING_ORDER), found) for found, payload in points)
    ]


def check_query(spec: CollectionSpec, mode: SearchMode, vector: Vectors | None) -> None:
    """Refuse a query whose vector is missing or does not belong to the collection."""
    if mode is SearchMode.SPARSE:
        return
    if vector is None:
        raise ValueError(f"a {mode.value} search needs the query's vector")
    if vector.shape != (spec.dimension,):
        raise CollectionMismatch(
            f"The query's vector has shape {vector.shape}, but collection {spec.name!r} holds vectors of "
            f"{spec.dimension} dimensions from {spec.embedding_model!r}. Search it with that model."
        )


def check_vectors(spec: CollectionSpec, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    """Refuse vectors that are not one row per chunk, as wide as the collection."""
    if vectors.shape != (len(chunks), spec.dimension):
        raise CollectionMismatch(
            f"{len(chunks)} chunks came with vectors of shape {vectors.shape}, but collection {spec.name!r} needs "
            f"({len(chunks)}, {spec.dimension}) from {spec.embedding_model!r}."
        )


def check_spec(existing: CollectionSpec, wanted: CollectionSpec) -> None:
    """Refuse to mix: the collection exists, and was made with something else."""
    differences = [
        f"{field.replace('_', ' ')} {old!r}, not {new!r}"
        for field, old in existing.model_dump().items()
        if old != (new := getattr(wanted, field))
    ]
    if differences:
        raise CollectionMismatch(
            f"Collection {existing.name!r} was made with {'; '.join(differences)}. Use it with the settings it was "
            f"made with, choose another --collection, or rebuild it: `candor drop {existing.name}`, then ingest again."
        )


def find_spec(name: str, existing: Sequence[CollectionSpec]) -> CollectionSpec:
    """The collection of that name; the error for an unknown one names those that exist."""
    for spec in existing:
        if spec.name == name:
            return spec
    raise CollectionNotFound(name, [spec.name for spec in existing])
