"""The ranking of a search: one score from the cosines, the BM25 scores and the rare words of the query.

    score = 2 · cosine + BM25 / best BM25 + Σ over the rare words that the passage has: weight / √n

``n`` is the number of passages that have the word. A search by meaning scores by the cosine alone, one by words without
it.

Each part means something on its own, so a list that knows little changes little. Fusion by the place in a list, or by
the mean and deviation of its scores, lets 50 similar cosines beat the one passage that has an exact word.

Both stores use this module and only send its requests, so they return the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from vectorstore.models import SearchMode
from vectorstore.store import Vectors
from vectorstore.text.bm25 import QueryWord

DEPTH = 50
"""The limit of the dense and the BM25 ranking, unless more results are wanted."""
COSINE_WEIGHT = 2.0
CODE_WEIGHT = 1.0
"""For a word that looks like an identifier. Whoever types one wants the passages that have it."""
WORD_WEIGHT = 0.2
RARE = 10
"""Passages. A word that more passages have is not rare."""
MOST_TIED = 5_000
"""Passages with the same score. If more are tied at the limit, the store decides which are found."""
_DIGITS = 5  # of scores: stores compute the last digits in another order

Ranking = Sequence[tuple[str, float]]
"""Pairs of (chunk id, score), best first."""


class Nearest(NamedTuple):
    """One request: the ``limit`` passages that are nearest to a vector, or best by BM25 for words."""

    query: Vectors | Sequence[QueryWord]
    limit: int


Ask = Callable[[Sequence[Nearest]], Sequence[Ranking]]
"""Answers several requests as of one moment."""


class Scores:
    """Adds up the scores of chunks."""

    def __init__(self) -> None:
        self._parts: list[tuple[dict[str, float], float]] = []  # scores, and the score of all other chunks

    def add(self, ranking: Ranking, weight: float, *, others: float = 0.0) -> None:
        """Add weighted scores. ``others`` is the unweighted score of chunks that the ranking does not contain."""
        self._parts.append(({chunk_id: weight * score for chunk_id, score in ranking}, weight * others))

    def total(self) -> Iterator[tuple[str, float]]:
        """Yield the id and the score of each chunk that a ranking contains."""
        for chunk_id in dict.fromkeys(chunk_id for scores, _ in self._parts for chunk_id in scores):
            yield chunk_id, round(sum(scores.get(chunk_id, others) for scores, others in self._parts), _DIGITS)


def score(ask: Ask, mode: SearchMode, vector: Vectors | None, words: Sequence[QueryWord], limit: int) -> Scores:
    """Return the scores of the best chunks, at least ``limit`` if as many are found."""
    depth = max(limit, DEPTH)
    wanted: dict[str, Nearest] = {}
    if mode is not SearchMode.WORDS and vector is not None:
        wanted["meaning"] = Nearest(vector, depth)
    if mode is not SearchMode.MEANING and words:
        wanted["words"] = Nearest(words, depth)
    rare = [Nearest([word._replace(parts=())], RARE + 1) for word in words] if "words" in wanted else []
    scores = Scores()
    if not wanted:
        return scores
    answers = iter(ask([*wanted.values(), *rare]))
    for name, request in wanted.items():
        ranking, others = _complete(ask, request, next(answers), limit)
        best = max((value for _, value in ranking), default=1.0)
        if name == "words":
            scores.add(ranking, 1 / best, others=others)
        else:
            scores.add(ranking, COSINE_WEIGHT if mode is SearchMode.HYBRID else 1.0, others=others)
    for word, having in zip(words, answers, strict=False):
        if 0 < len(having) <= RARE:
            bonus = (CODE_WEIGHT if word.is_code else WORD_WEIGHT) / math.sqrt(len(having))
            scores.add([(chunk_id, bonus) for chunk_id, _ in having], 1)
    return scores


def _complete(ask: Ask, request: Nearest, ranking: Ranking, limit: int) -> tuple[Ranking, float]:
    """Return the ranking without the chunks that are tied at its end, and the score of all chunks that it lacks.

    A full ranking contains some of the tied chunks only. Without them, nothing depends on which. If fewer than
    ``limit`` would be left, read on until all tied chunks are known.
    """
    depth = request.limit
    while True:
        ranking = [(chunk_id, round(value, _DIGITS)) for chunk_id, value in ranking]
        if len(ranking) < depth:
            return ranking, 0.0
        last = ranking[-1][1]
        above = [(chunk_id, value) for chunk_id, value in ranking if value > last]
        if len(above) >= limit:
            return above, last
        if depth >= MOST_TIED:
            return ranking, last
        depth *= 4
        [ranking] = ask([Nearest(request.query, depth)])
