"""Chunks and vectors for tests that need a filled collection without parsing."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from vectorstore.models import Chunk, CollectionSpec
from vectorstore.store import Vectors

SPEC = CollectionSpec(name="papers", embedding_model="any-model", dimension=8, chunking="sections-v1/256")


def make_chunk(text: str, *, document: str = "/docs/a.md", index: int = 0, **fields: Any) -> Chunk:
    """Return a chunk at the start of its document. Its id is derived from document and index."""
    return Chunk(
        id=str(uuid5(NAMESPACE_URL, f"{document}#{index}")),
        document_id=fields.pop("document_id", f"id of {document}"),
        document=document,
        name=fields.pop("name", document.removeprefix("/docs/")),
        version="0" * 64,
        index=index,
        text=text,
        start=0,
        end=len(text),
        **fields,
    )


def make_vectors(count: int, dimension: int = SPEC.dimension, seed: int = 0) -> Vectors:
    """Return random vectors; the same for the same seed."""
    return np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
