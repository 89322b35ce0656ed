"""The Qdrant schema of a collection: vector names, payload, and filters.

This module and ``text/bm25.py`` define everything that affects search results, so both stores return the same results.
The stores only translate the definitions for their clients.
"""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from vectorstore.errors import CollectionMismatch
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Scalar, SearchMode
from vectorstore.store import Vectors
from vectorstore.text.languages import ENGLISH, LANGUAGE

DENSE = "dense"
BM25 = "bm25"

CHUNK = "chunk"
FOLDERS = "folders"
TERMS = "terms"
INDEXED_FIELDS = ("document_id", "kind", FOLDERS, TERMS, LANGUAGE)
POSITION = "index"
ORDER_FIELDS = ("name", "document_id", POSITION)

MAX_LANGUAGES = 200  # more than the detector knows

Payload = dict[str, Any]


def to_payload(chunk: Chunk) -> Payload:
    """Return the chunk as JSON, and the fields that filters and orders need.

    One JSON text, because the engine takes 4 µs for each field of a payload.
    """
    return {
        CHUNK: chunk.model_dump_json(exclude={"origin"}, exclude_defaults=True),
        "document_id": chunk.document_id,
        "name": chunk.name,
        POSITION: chunk.index,
        "kind": chunk.kind.value,
        FOLDERS: _folders(chunk.document),
        TERMS: [_term(key, value) for key, value in chunk.metadata.items()],
        LANGUAGE: chunk_language(chunk),
    }


def from_payload(payload: Payload) -> Chunk:
    """Return the chunk from which ``to_payload`` created the payload."""
    if CHUNK in payload:
        return Chunk.model_validate_json(payload[CHUNK])
    # Versions before November 2026 stored each field of the chunk as a field of the payload.
    return Chunk.model_validate({key: value for key, value in payload.items() if key not in (FOLDERS, TERMS, LANGUAGE)})


def chunk_language(chunk: Chunk) -> str:
    """Return the language that the chunk is indexed in."""
    return str(chunk.metadata.get(LANGUAGE) or ENGLISH)


def required_keywords(where: ChunkFilter) -> list[tuple[str, list[str]]]:
    """Return (field, keywords) pairs. A selected chunk has one of the keywords in each of the fields."""
    required: list[tuple[str, list[str]]] = []
    if where.documents:
        required.append(("document_id", list(where.documents)))
    if where.folder is not None:
        required.append((FOLDERS, [PurePath(where.folder).as_posix()]))
    if where.kinds:
        required.append(("kind", [kind.value for kind in where.kinds]))
    required.extend((TERMS, [_term(key, value)]) for key, value in where.metadata.items())
    return required


def excluded_keywords(where: ChunkFilter) -> list[tuple[str, list[str]]]:
    """Return (field, keywords) pairs. A selected chunk has none of the keywords."""
    return [(TERMS, [_term(key, value) for value in values]) for key, values in where.without.items() if values]


@lru_cache(maxsize=1_000)  # the chunks of a document follow each other
def _folders(document: str) -> list[str]:
    return [folder.as_posix() for folder in PurePath(document).parents]


@lru_cache(maxsize=10_000, typed=True)  # typed, because 1 == True
def _term(key: str, value: Scalar) -> str:
    """Return a metadata entry as one keyword in JSON, which distinguishes "1", 1 and true. All keys share one index."""
    return json.dumps([key, value], ensure_ascii=False)


def sort_ids(points: Iterable[tuple[str, Payload]]) -> list[str]:
    """Return the ids by document name, document and position. The payloads need only ORDER_FIELDS."""
    return [
        key[-1] for key in sorted((*(payload[field] for field in ORDER_FIELDS), found) for found, payload in points)
    ]


def validate_query(spec: CollectionSpec, mode: SearchMode, vector: Vectors | None) -> None:
    """Raise ValueError if the query's vector is missing, CollectionMismatch if it has the wrong dimension."""
    if mode is SearchMode.WORDS:
        return
    if vector is None:
        raise ValueError(f"a {mode.value} search needs the query's vector")
    if vector.shape != (spec.dimension,):
        raise CollectionMismatch(
            f"The query's vector has shape {vector.shape}, but collection {spec.name!r} contains vectors of "
            f"{spec.dimension} dimensions from {spec.embedding_model!r}. Search it with that model."
        )


def validate_vectors(spec: CollectionSpec, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    """Raise CollectionMismatch unless there is one row per chunk, with the collection's dimension."""
    if vectors.shape != (len(chunks), spec.dimension):
        raise CollectionMismatch(
            f"{len(chunks)} chunks came with vectors of shape {vectors.shape}, but collection {spec.name!r} needs "
            f"({len(chunks)}, {spec.dimension}) from {spec.embedding_model!r}."
        )


def require_same_spec(existing: CollectionSpec, requested: CollectionSpec) -> None:
    """Raise CollectionMismatch if the collection was created with other settings."""
    differences = [
        f"{field.replace('_', ' ')} {old!r}, not {new!r}"
        for field, old in existing.model_dump().items()
        if old != (new := getattr(requested, field))
    ]
    if differences:
        raise CollectionMismatch(
            f"Collection {existing.name!r} was created with {'; '.join(differences)}. Use it with its own settings, "
            "choose another name, or delete it and ingest again."
        ).with_command(f"`candor drop {existing.name}` deletes it.")
