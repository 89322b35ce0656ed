"""The ranking of a search: one score from the cosines, the BM25 scores and the rare words of the query.

    score = 2.5 · cosine + known · BM25 / best BM25 + Σ over the rare words that the passage has: weight / √n
          + Σ over the words and pairs of words that few of the best passages have as the query spells them: 0.2 / m
            per word, 1.75 times that if all begin with a capital letter (in a search by words: 0.2 / m), half of it
            for a pair with other signs between than blanks, and 1 / m for all of a query of one or two words

``known`` is 1 if the best passage has half of the query by the weight of its words, else the square of twice the share.
``n`` is the number of passages that have the word, ``m`` that of the best ones. BM25 compares stems, in any order, so
only the last part tells "Elected" from "election" and a name from its parts. Capital letters mark names in most
languages that have them, and nouns in German: both say more of what is asked than the words around them. A search by
meaning scores by the cosine alone, one by words without it.

In a hybrid search, the last two count up to 20 times for a word that the embedding model attends to: of "I need the
page on which sugar is mentioned", it attends to "sugar", although fewer passages may have "page". The passages that
are compared with the query are the best ones without the last part, and the best ones for the words that weigh most
and for the names in the query: two neighbouring words with capital letters are one term of a passage, too.

Each part means something on its own, so a list that knows little changes little. Fusion by the place in a list, or by
the mean and deviation of its scores, lets 50 similar cosines beat the one passage that has an exact word.

Both stores use this module and only send its requests, so they return the same order.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from statistics import median
from typing import NamedTuple, Protocol

from vectorstore.models import SearchMode
from vectorstore.store import Query, Vectors
from vectorstore.text.bm25 import QueryWord
from vectorstore.text.spelling import edits, is_correctable, nearest

DEPTH = 50
"""The limit of the dense and the BM25 ranking, unless more results are wanted."""
COSINE_WEIGHT = 2.5
KNOWN = 0.5
"""The share of a query, by the weight of its words, that the best passage must have for its words to count fully."""
CODE_WEIGHT = 2.0
"""For a word that looks like an identifier. Whoever types one wants the passages that have it."""
WORD_WEIGHT = 0.2
EXACT_WEIGHT = 0.2
CAPITALS = 1.75
"""The factor for words that begin with a capital letter."""
ATTENDED = 20.0
"""For the cube of a word's share of the attention, so that it matters only where one word has most of it."""
WHOLE_WEIGHT = 1.0
"""For all of a query of at most ``_SHORT`` words. Whoever looks up a word or a name wants it as written."""
COMPARED = 10
"""The least number of best passages whose texts are compared with the query."""
WEIGHTY = 50
"""The number of passages that are compared too: the best by BM25 for names and words heavier than the median word.

Twice as many for all words of a query of at most ``_SHORT`` words.
"""
_SHORT = 2
_DECIMAL = re.compile(r"\d[.,]")
_BETWEEN = 3  # characters between two neighbouring words
_EXACT_IN = 3  # of the best passages; what more of them have tells them apart less
RARE = 10
"""Passages. A word that more passages have is not rare, nor is one that more than a fortieth of them have."""
_RARE_SHARE = 40
_EXACT_SCORE = CODE_WEIGHT / math.sqrt(RARE)
"""Minimum score for rare words. A passage with a rare identifier of the query has at least this score."""
MOST_RESPELT = 8
"""Words of one query. Each takes about 5 ms, and a pasted page in another language has hundreds."""
MOST_TIED = 5_000
"""Passages with the same score. If more are tied at the limit, the store decides which are found."""
DIGITS = 5
"""Of scores, after the point: stores compute the last ones in another order."""

Ranking = Sequence[tuple[str, float]]
"""Pairs of (chunk id, score), best first."""


class Nearest(NamedTuple):
    """One request: the ``limit`` passages that are nearest to a vector, or best by BM25 for words."""

    query: Vectors | Sequence[QueryWord]
    limit: int


class Found(Protocol):
    """A point of an answer of Qdrant. Its id is read late: the engine takes 2 µs for each."""

    @property
    def id(self) -> object: ...

    @property
    def score(self) -> float: ...


Points = Sequence[Found]
"""The answer to one request, best first."""

Ask = Callable[[Sequence[Nearest]], Sequence[Points]]
"""Answers several requests as of one moment."""


class Speller(NamedTuple):
    """Finds the words of a collection that a misspelt word may mean."""

    ask: Ask
    """Answers requests over all passages of the collection."""
    texts: Callable[[Sequence[str]], Iterable[str]]
    encode: Callable[[QueryWord, Sequence[str]], QueryWord]
    """Encodes other spellings of a word as one query word."""
    passages: int

    def respell(self, word: QueryWord) -> tuple[str, ...]:
        """Return the words of the collection that are one edit away, if it lacks the word itself."""
        spellings = edits(word.text)
        found, near = self.ask([Nearest([word], 1), Nearest([self.encode(word, spellings)], DEPTH)])
        return () if found else nearest(word.text, self.texts([str(point.id) for point in near]))


class Scores:
    """Adds up the scores of chunks for the text of a query, and records why they were found."""

    def __init__(self, text: str) -> None:
        self._typed = " ".join(text.casefold().split())
        self._parts: list[tuple[dict[str, float], float]] = []  # scores, and the score of all other chunks
        self.cosines: dict[str, float] = {}
        self.best_bm25: float | None = None
        self.rare: defaultdict[str, float] = defaultdict(float)
        self._bm25: dict[str, float] = {}
        self._other_bm25 = 0.0
        self.words: Sequence[QueryWord] = ()
        self.respelt: dict[str, tuple[str, ...]] = {}
        self._compared: Sequence[str] = ()

    def words_in(self, terms: Iterable[int]) -> tuple[str, ...]:
        """Return the words of the query that a passage with these terms has, and those searched for instead."""
        terms = frozenset(terms)
        return tuple(word.text for word in self.words if any(term in terms for term in word.terms or word.parts))

    def is_exact(self, rare: float, words: Iterable[str]) -> bool:
        """Return whether a passage contains a rare identifier of the query. ``rare`` is its score for rare words."""
        return rare >= _EXACT_SCORE and any(word.is_code and word.text in words for word in self.words)

    def add_bm25(self, ranking: Ranking, others: float, alone: float) -> None:
        """Add BM25 scores, as shares of the best one. ``alone`` is the sum of the best scores of each word alone.

        Beside cosines, they count less if the best passage has little of the query: then the words know little.
        """
        best = max((value for _, value in ranking), default=1.0)
        known = min(best / (KNOWN * alone), 1.0) ** 2 if self.cosines and alone else 1.0
        self.best_bm25, self._bm25, self._other_bm25 = best / known, dict(ranking), others
        self.add(ranking, known / best, others=others)

    def add_rare(self, chunk_ids: Sequence[str], bonus: float) -> None:
        """Add the score of a rare word to the chunks that have it."""
        for chunk_id in chunk_ids:
            self.rare[chunk_id] += bonus
        self.add([(chunk_id, bonus) for chunk_id in chunk_ids], 1)

    def add_compared(self, chunk_ids: Sequence[str]) -> None:
        """Have the texts of these chunks compared with the query, whatever their scores."""
        self._compared = chunk_ids
        self.add([(chunk_id, 0.0) for chunk_id in chunk_ids], 1)

    def bm25_of(self, chunk_id: str) -> float | None:
        """Return the BM25 score of a chunk. None if words were not compared."""
        return None if self.best_bm25 is None else self._bm25.get(chunk_id, self._other_bm25)

    def add(self, ranking: Ranking, weight: float, *, others: float = 0.0) -> None:
        """Add weighted scores. ``others`` is the unweighted score of chunks that the ranking does not contain."""
        self._parts.append(({chunk_id: weight * score for chunk_id, score in ranking}, weight * others))

    def compared(self, limit: int) -> dict[str, float]:
        """Return the scores of the passages to compare with the query, if ``limit`` are wanted."""
        scored = dict(self.total())
        best = dict(rank(scored.items(), max(limit, COMPARED)))
        return best | {chunk_id: scored[chunk_id] for chunk_id in self._compared}

    def exact(self, texts: Sequence[str]) -> list[float]:
        """Return the scores of the best passages for words and pairs of words that they have exactly as written."""
        words = [word.text.casefold() for word in self.words]
        pairs = [(one.text.casefold(), other.text.casefold()) for one, other in self._pairs()]
        whole = self._typed if 0 < len(words) <= _SHORT else ""
        having = [set(_exact(words, pairs, whole, text.casefold())) for text in texts]
        number = Counter(name for names in having for name in names)
        most = min(_EXACT_IN, max(len(texts) // 6, 1))
        weight = self._weights() | {_typed(whole): WHOLE_WEIGHT}
        weights = {name: weight[name] / times for name, times in number.items() if times <= most}
        return [sum(weights.get(name, 0.0) for name in names) for names in having]

    def _weights(self) -> dict[str, float]:
        """Return the weights of the words, of the pairs of neighbouring words, and of these pairs as typed.

        Only cosines must be outweighed: among the scores of a search by words, more than 0.2 costs quality.
        """
        weights: dict[str, float] = {}
        for words in [*((word,) for word in self.words), *self._pairs()]:
            name = " ".join(word.text for word in words).casefold()
            weights[name] = EXACT_WEIGHT * (_weight_of(words) if self.cosines else 1) / len(words)
            weights[_typed(name)] = weights[name]
        return weights

    def _pairs(self) -> Iterator[tuple[QueryWord, QueryWord]]:
        """Yield each pair of neighbouring words, and each pair of a capitalised stop word and the word after it."""
        yield from pairwise(self.words)
        yield from ((word._replace(text=word.before), word) for word in self.words if word.before)

    def total(self) -> Iterator[tuple[str, float]]:
        """Yield the id and the score of each chunk that a ranking contains."""
        for chunk_id in dict.fromkeys(chunk_id for scores, _ in self._parts for chunk_id in scores):
            yield chunk_id, round(sum(scores.get(chunk_id, others) for scores, others in self._parts), DIGITS)


def _weight_of(words: Sequence[QueryWord]) -> float:
    """Return the weight of neighbouring words. A single word in lower case that gets no attention has 1."""
    capitals = CAPITALS if all(word.text[:1].isupper() for word in words) else 1
    return len(words) * capitals * _emphasis(words)


def _emphasis(words: Sequence[QueryWord]) -> float:
    return 1 + ATTENDED * (sum(word.share for word in words) / len(words)) ** 3


def _exact(words: Sequence[str], pairs: Sequence[tuple[str, str]], whole: str, text: str) -> Iterator[str]:
    """Yield the words, the pairs of neighbouring words, and the whole short query that a text has."""
    if whole and _places(whole, " ".join(text.split())):
        yield _typed(whole)
    places = {word: starts for word in words if (starts := _places(word, text))}
    yield from places
    for one, other in pairs:
        if other in places and (ones := places.get(one, ()) if one in words else _places(one, text)):
            between = set(_between(text, ones, len(one), places[other]))
            yield from [f"{one} {other}"] if between else []
            yield from [_typed(f"{one} {other}")] if any(map(str.isspace, between)) else []


def _typed(text: str) -> str:
    """Return the key of a phrase with only blanks between its words: "Finland France", not "Finland / France"."""
    return f'"{text}"'


def _places(word: str, text: str) -> list[int]:
    """Return where a text has the word, with no letter or digit next to it, and not within a number: 417 in 33.417."""
    places, at = [], text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()) and not (
            text[at].isdigit() and _DECIMAL.match(text, max(at - 2, 0), at)
        ):
            places.append(at)
        at = text.find(word, end)
    return places


def _between(text: str, ones: Sequence[int], length: int, others: Sequence[int]) -> Iterator[str]:
    """Yield the few signs or blanks between a place of one word and a place of the other behind it."""
    ends = ((one + length, other) for one in ones for other in others)
    return (
        text[end:other]
        for end, other in ends
        if 0 < other - end <= _BETWEEN and not any(map(str.isalnum, text[end:other]))
    )


def score(
    ask: Ask,
    mode: SearchMode,
    query: Query,
    words: Sequence[QueryWord],
    limit: int,
    speller: Speller,
) -> Scores:
    """Return the scores of the best chunks for a query with these words, at least ``limit`` if as many are found."""
    depth = max(limit, DEPTH)
    scores = Scores(query.text)
    wanted: list[Nearest] = []
    if by_meaning := mode is not SearchMode.WORDS and query.vector is not None:
        wanted.append(Nearest(query.vector, depth))
    if by_words := mode is not SearchMode.MEANING and bool(words):
        wanted += _by_words(words, depth, hybrid=by_meaning)
    answers = list(ask(wanted)) if wanted else []
    if by_meaning:
        ranking, others = _complete(ask, wanted[0], answers.pop(0), limit)
        scores.cosines = dict(ranking)
        scores.add(ranking, COSINE_WEIGHT if mode is SearchMode.HYBRID else 1.0, others=others)
    if by_words:
        scores.respelt = _respelt(words, answers[1 : 1 + len(words)], speller)
        if scores.respelt:
            words = [speller.encode(word, near) if (near := scores.respelt.get(word.text)) else word for word in words]
            answers = list(ask(_by_words(words, depth, hybrid=by_meaning)))
        found, having, weighty = answers[0], answers[1 : 1 + len(words)], answers[1 + len(words) :]
        ranking, others = _complete(ask, Nearest(words, depth), found, limit)
        scores.add_bm25(ranking, others, sum(points[0].score for points in having if points))
        scores.words = words
        for word, points in zip(words, having, strict=True):
            if bonus := rarity(word, len(points), speller.passages):
                scores.add_rare([str(point.id) for point in points], bonus)
        for request, points in zip(_weighty(words, hybrid=by_meaning), weighty, strict=True):
            scores.add_compared([chunk_id for chunk_id, _ in _complete(ask, request, points, 0)[0]])
    return scores


def with_attention(words: Sequence[QueryWord], query: Query) -> Sequence[QueryWord]:
    """Return the words with their shares of the model's attention. Without attention, all shares stay 0."""
    if query.attention is None or len(words) < 2:
        return words
    found = [_attention(word.text, query.text, query.attention) for word in words]
    total = sum(found) or 1.0
    return [word._replace(share=each / total) for word, each in zip(words, found, strict=True)]


def _attention(word: str, text: str, attention: Vectors) -> float:
    return sum(float(attention[at : at + len(word)].sum()) for at in _places(word, text))


def rarity(word: QueryWord, having: int, passages: int) -> float:
    """Return the score of each passage with a word that only ``having`` of ``passages`` have. 0 if it is not rare."""
    if not 0 < having <= min(RARE, max(passages // _RARE_SHARE, 1)):
        return 0.0
    return (CODE_WEIGHT if word.is_code else WORD_WEIGHT * _emphasis([word])) / math.sqrt(having)


def rank(scored: Iterable[tuple[str, float]], limit: int) -> list[tuple[str, float]]:
    """Return the best ``limit`` pairs of (id, score). Orders equal scores by id, because Qdrant does not order them."""
    return sorted(scored, key=lambda point: (-point[1], point[0]))[:limit]


def _by_words(words: Sequence[QueryWord], depth: int, *, hybrid: bool) -> list[Nearest]:
    """Return the requests of a search by words: all of them, each alone, and those of ``_weighty``."""
    return [Nearest(words, depth), *map(_alone, words), *_weighty(words, hybrid=hybrid)]


def _weighty(words: Sequence[QueryWord], *, hybrid: bool) -> list[Nearest]:
    """Return the request for passages to compare with the query besides the best ones, if there is one.

    The words around a name find more than its passage, and push it out of the best ones. A search by words for a long
    query has none: 0.006 less nDCG@10 on ottqa.
    """
    names = [word._replace(terms=word.name, parts=(), folded=frozenset()) for word in words if word.name]
    if len(words) <= _SHORT:
        return [Nearest([*words, *names], 2 * WEIGHTY)]
    if not hybrid:
        return []
    weights = [_weight_of([word]) for word in words]
    half = median(weights)
    weighty = [word for word, weight in zip(words, weights, strict=True) if weight > half]
    return [Nearest([*weighty, *names], WEIGHTY)] if weighty or names else []


def _alone(word: QueryWord) -> Nearest:
    """Return the request that tells whether few passages have the word."""
    return Nearest([word._replace(parts=())], RARE + 1)


def _respelt(words: Sequence[QueryWord], having: Sequence[Points], speller: Speller) -> dict[str, tuple[str, ...]]:
    """Return the words that no passage has, each with the nearest words of the collection, if there are any."""
    absent = (word for word, found in zip(words, having, strict=True) if not found and is_correctable(word.text))
    return {word.text: near for word in islice(absent, MOST_RESPELT) if (near := speller.respell(word))}


def _complete(ask: Ask, request: Nearest, found: Points, limit: int) -> tuple[Ranking, float]:
    """Return the ranking without the chunks that are tied at its end, and the score of all chunks outside it.

    A full ranking contains some of the tied chunks only. Without them, nothing depends on which. If fewer than
    ``limit`` would be left, read on until all tied chunks are known.
    """
    depth = request.limit
    while True:
        ranking = [(str(point.id), round(point.score, DIGITS)) for point in found]
        if len(ranking) < depth:
            return ranking, 0.0
        last = ranking[-1][1]
        above = [(chunk_id, value) for chunk_id, value in ranking if value > last]
        if len(above) >= limit:
            return above, last
        if depth >= MOST_TIED:
            return ranking, last
        depth *= 4
        [found] = ask([Nearest(request.query, depth)])
