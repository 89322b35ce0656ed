"""A scale of similarity that works for any embedding model.

    scale = SimilarityScale(engine, embed, "all-MiniLM-L6-v2")
    similarity(one, other) >= scale.at(0)  # true if they are more similar than most texts on different subjects

The cosine of two texts on different subjects is about 0.1 with one model and about 0.7 with another. Therefore the
scale of a model is measured once on unrelated texts and stored under the model's name.
"""

import threading
from collections.abc import Callable

import numpy as np
import sqlalchemy as sql

from base.database import METADATA, SqlStore
from vectorstore.store import Vectors

_UNRELATED = (
    "Which train goes to the coast on Sundays?",
    "How is rye bread kept fresh?",
    "Who painted the ceiling of the town hall?",
    "What does the insurance pay after a burglary?",
    "When were the first satellites launched?",
    "Which vaccine do travellers need?",
    "How many players are in a volleyball team?",
    "What is the melting point of copper?",
    "Who may vote in the assembly of owners?",
    "Why do bees swarm in May?",
    "How is the violin tuned?",
    "How deep is the lake at the dam?",
    "What did the minister say about taxes?",
    "Which programming language was the server written in?",
    "Opening hours are on the notice board, not in the brochure.",
    "The lecture notes list all definitions at the end.",
    "Take delivery dates from the order confirmation.",
    "Prefer the map of the land registry to older maps.",
    "Laboratory values are in the appendix of the report.",
    "The sizes of shoes are printed inside the tongue.",
)
"""Typical questions and notes on different subjects. A change affects only models that are measured later."""
_DEVIATIONS = 2  # standard deviations above the mean similarity of these pairs; about 39 of 40 pairs are lower
_DIGITS = 3  # decimal places of a similarity; further digits differ between machines

_scales = sql.Table(
    "similarity_scales",
    METADATA,
    sql.Column("embedding_model", sql.String(200), primary_key=True),
    sql.Column("ceiling", sql.Float, nullable=False),
)


def similarity(one: Vectors, other: Vectors) -> float:
    """Return the cosine of two normalized embeddings, rounded to the digits that are the same on all machines."""
    return round(float(one @ other), _DIGITS)


class SimilarityScale(SqlStore):
    """The scale of one embedding model, measured at first use. Thread-safe.

    ``embed`` returns the normalized embedding of a text by ``embedding_model``.
    """

    def __init__(self, engine: sql.Engine, embed: Callable[[str], Vectors], embedding_model: str) -> None:
        super().__init__(engine)
        self._embed, self._embedding_model = embed, embedding_model
        self._lock = threading.Lock()
        self._ceiling: float | None = None

    def at(self, share: float) -> float:
        """Return the similarity at ``share``: 0 is the upper limit of unrelated texts, 1 is identical texts."""
        with self._lock:
            if self._ceiling is None:
                self._ceiling = self._stored()
            if self._ceiling is None:
                self._ceiling = self._measure()
        return round(self._ceiling + share * (1 - self._ceiling), _DIGITS)

    def _stored(self) -> float | None:
        query = sql.select(_scales.c.ceiling).where(_scales.c.embedding_model == self._embedding_model)
        return next((row.ceiling for row in self._select(query)), None)

    def _measure(self) -> float:
        """Measure the scale and store it."""
        vectors = np.array([self._embed(text) for text in _UNRELATED])
        similarities = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
        ceiling = round(float(similarities.mean() + _DEVIATIONS * similarities.std()), _DIGITS)
        row = {"embedding_model": self._embedding_model, "ceiling": ceiling}
        try:
            self._execute(_scales.insert().values(row))
        except sql.exc.IntegrityError:
            return self._stored() or ceiling  # another process has just measured the same model
        return ceiling
