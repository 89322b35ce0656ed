"""BM25 term weights: Qdrant's own encoder, used by both stores so that both rank alike.

The encoder stems and drops stop words in English and weighs how often a term stands in a passage; how rare the term is
in the collection (IDF) is left to the index, which knows it.
"""

from __future__ import annotations

from functools import cached_property

import qdrant_edge as qdrant


class Bm25Encoder:
    """Turns text into sparse vectors for an index with the IDF modifier. Safe to use from several threads."""

    @cached_property
    def _model(self) -> qdrant.Bm25:
        return qdrant.Bm25(qdrant.Bm25Config(language="english"))

    def passage(self, text: str) -> qdrant.SparseVector:
        """Terms of a passage, weighed by frequency and length."""
        return self._model.embed_document(text)

    def query(self, text: str) -> qdrant.SparseVector:
        """Terms of a query, each once."""
        return self._model.embed_query(text)
