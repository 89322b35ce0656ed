"""Searches several collections as one: a search asks each of them, and merges what they find.

Cosines of one embedding model can be compared. BM25 counts in relation to the best score of all collections, and a word
is rare only if all of them together have it in few passages. The names of documents begin with their collection, as in
``papers/review.pdf``.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from vectorstore.errors import CollectionMismatch
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts, Hit, SearchMode, names_in, select
from vectorstore.ranking import DEPTH, DIGITS, Scores, rarity, with_attention
from vectorstore.store import EVERYTHING, Query, Searchable
from vectorstore.text.bm25 import Bm25Encoder, QueryWord


class JoinedCollections:
    """Implements ``Searchable`` for the collections of a selection, by name.

    Collections with different embedding models are searched by words alone.
    """

    def __init__(self, parts: Mapping[str, Searchable]) -> None:
        self._parts = dict(sorted(parts.items()))
        self._models = sorted({part.spec.embedding_model for part in parts.values()})

    @property
    def spec(self) -> CollectionSpec:
        """A specification with the name of the selection, all embedding models and all chunkings."""
        specs = [part.spec for part in self._parts.values()]
        chunkings = sorted({each.chunking for each in specs})
        return specs[0].model_copy(
            update={
                "name": select(self._parts),
                "embedding_model": ", ".join(self._models),
                "chunking": ", ".join(chunkings),
            }
        )

    def search(self, mode: SearchMode, query: Query, limit: int, where: ChunkFilter = EVERYTHING) -> list[Hit]:
        """Return the best ``limit`` chunks of all collections.

        Raises CollectionMismatch for a search by meaning in collections with different embedding models.
        """
        if len(self._models) > 1:
            mode, query = self._by_words(mode), Query(query.text)
        depth = max(limit, DEPTH)
        found = {name: part.search(mode, query, depth, where) for name, part in self._parts.items()}
        hits: dict[str, Hit] = {}
        for name, each in found.items():
            for hit in each:  # a file in two collections is found once
                hits.setdefault(hit.chunk.id, hit.model_copy(update={"chunk": _named(hit.chunk, name)}))
        respelt = _respelt_by_all([each[0].respelt for each in found.values() if each])
        words = () if mode is SearchMode.MEANING else Bm25Encoder().words(query.text, self.languages(exact=False))
        scores = self._scores(query, list(hits.values()), words, limit)
        ranked = [hits[each].model_copy(update={"score": score, "respelt": respelt}) for each, score in scores.items()]
        return sorted(ranked, key=lambda hit: (-hit.score, hit.chunk.id))[:limit]

    def _scores(self, query: Query, hits: Sequence[Hit], words: Sequence[QueryWord], limit: int) -> dict[str, float]:
        """Return the scores of the best ``limit`` hits or more, with what depends on a collection in relation to all.

        Which words are rare is counted among the hits, because they contain all passages with a rare word.
        """
        best = max((hit.best_bm25 or 0.0 for hit in hits), default=0.0)
        passages = sum(self.languages(exact=False).values())
        scores = Scores(query.text)
        scores.words = with_attention(words, query)
        scores.cosines = {hit.chunk.id: hit.cosine for hit in hits if hit.cosine is not None}
        scores.add([(hit.chunk.id, _comparable(hit, best)) for hit in hits], 1)
        for word in words:
            having = [hit.chunk.id for hit in hits if word.text in hit.words]
            if bonus := rarity(word, len(having), passages):
                scores.add_rare(having, bonus)
        ranking = dict(scores.total())
        texts = {hit.chunk.id: hit.chunk.indexed_text for hit in hits}
        as_written = scores.exact([texts[each] for each in ranking])
        return {each: round(ranking[each] + more, DIGITS) for each, more in zip(ranking, as_written, strict=True)}

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        """Yield every selected chunk, by collection, document name and position."""
        read: set[str] = set()
        for name, part in self._parts.items():
            for chunk in part.scan(where):
                if chunk.id not in read:
                    read.add(chunk.id)
                    yield _named(chunk, name)

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        """Count the selected documents and chunks. A file in two collections counts twice."""
        counts = [part.count(where) for part in self._parts.values()]
        return Counts(documents=sum(each.documents for each in counts), chunks=sum(each.chunks for each in counts))

    def languages(self, *, exact: bool = True) -> dict[str, int]:
        """Return the number of chunks per language."""
        total: Counter[str] = Counter()
        for part in self._parts.values():
            total.update(part.languages(exact=exact))
        return dict(total)

    def moments(self) -> Iterator[Searchable]:
        """Yield views that show each collection as of one moment."""
        return self._moments(tuple(self._parts), {})

    def _moments(self, names: Sequence[str], views: Mapping[str, Searchable]) -> Iterator[Searchable]:
        if not names:
            yield JoinedCollections(views)
            return
        name, *others = names
        for view in self._parts[name].moments():
            yield from self._moments(others, {**views, name: view})

    def _by_words(self, mode: SearchMode) -> SearchMode:
        if mode is SearchMode.MEANING:
            raise CollectionMismatch(
                f"{' and '.join(self._parts)} were embedded with different models ({', '.join(self._models)}), so they "
                "cannot be searched by meaning together. Search by words, or search each of them."
            )
        return SearchMode.WORDS


def _named(chunk: Chunk, collection: str) -> Chunk:
    return chunk.model_copy(update={"name": f"{collection}/{chunk.name}"})


def _comparable(hit: Hit, best: float) -> float:
    """Return the score without rare words, and with BM25 in relation to the best BM25 score of all collections."""
    if hit.bm25 is None or not hit.best_bm25:
        return hit.score - hit.rare
    return hit.score - hit.rare + hit.bm25 * (1 / best - 1 / hit.best_bm25)


def _respelt_by_all(found: Sequence[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Return the words that no collection with results has, each with all words that were searched for instead."""
    words = set.intersection(*map(set, found)) if found else set()
    return {word: tuple(dict.fromkeys(near for each in found for near in each[word])) for word in sorted(words)}


def part_of(selection: str, document: str) -> str:
    """Return the collection of a document that a search of the selection named."""
    names = names_in(selection)
    return document.partition("/")[0] if len(names) > 1 else selection
