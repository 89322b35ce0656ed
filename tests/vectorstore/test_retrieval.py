"""Searches with several queries for one question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.chunks import make_chunk
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import ChunkFilter, CollectionSpec, Hit, SearchMode
from vectorstore.retrieval import Retriever, merge
from vectorstore.text.bm25 import Bm25Encoder

PASSAGES = [
    "The Borea 12 heat pump still works at 25 degrees below zero.",
    "In a frost, the efficiency of an air heat pump drops by a third.",
    "Whisk the eggs with the sugar until they are pale.",
    "Revenue in the third quarter rose by four percent.",
    "Cold-climate compressors are more expensive.",
]


@pytest.fixture(scope="module")
def retriever(embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    chunks = [make_chunk(text, document=f"/docs/{index}.md") for index, text in enumerate(PASSAGES)]
    spec = CollectionSpec(
        name="papers", embedding_model=embedder.model, dimension=embedder.dimension, chunking="sections-v1/256"
    )
    folder: Path = tmp_path_factory.mktemp("store")
    with EdgeStore(folder).create(spec) as collection:
        collection.upsert(chunks, embedder.embed_passages([chunk.embedded_text for chunk in chunks]))
        yield Retriever(collection, embedder)


def found(hits: Sequence[Hit]) -> list[int]:
    return [PASSAGES.index(hit.chunk.text) for hit in hits]


def test_one_query_keeps_its_own_ranking(retriever: Retriever) -> None:
    hits = retriever.search(["Does any heat pump work below zero?"], limit=5)
    assert found(hits)[:2] == [0, 1]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_dense_finds_a_paraphrase_and_sparse_finds_a_name(retriever: Retriever) -> None:
    assert found(retriever.search(["how to bake"], limit=1, mode=SearchMode.MEANING)) == [2]
    assert found(retriever.search(["Borea"], limit=9, mode=SearchMode.WORDS)) == [0]


def test_the_best_chunk_of_every_query_is_found(retriever: Retriever) -> None:
    assert {2, 3} <= set(found(retriever.search(["baking with eggs", "quarterly revenue"], limit=3)))


def test_a_repeated_query_counts_once(retriever: Retriever) -> None:
    queries = ["eggs", "revenue", "heat pump"]
    assert retriever.search([*queries, "revenue", "revenue"], limit=4) == retriever.search(queries, limit=4)


def test_no_queries_return_no_hits(retriever: Retriever) -> None:
    assert retriever.search([], limit=5) == []


def test_the_filter_applies_to_every_query(retriever: Retriever) -> None:
    only = ChunkFilter(documents=("id of /docs/3.md",))
    assert found(retriever.search(["heat pump", "eggs"], limit=5, where=only)) == [3]


def test_scan_and_count_read_all(retriever: Retriever) -> None:
    assert [chunk.text for chunk in retriever.scan()] == PASSAGES
    assert retriever.count().chunks == len(PASSAGES)


def test_around_reads_the_neighbours_once_and_in_order(embedder: Embedder, tmp_path: Path) -> None:
    chunks = [
        make_chunk(f"Line {index}.", document=f"/docs/{name}.md", index=index) for name in "ba" for index in range(9)
    ]
    spec = CollectionSpec(
        name="papers", embedding_model=embedder.model, dimension=embedder.dimension, chunking="sections-v1/256"
    )
    with EdgeStore(tmp_path).create(spec) as collection:
        collection.upsert(chunks, embedder.embed_passages([chunk.text for chunk in chunks]))
        retriever = Retriever(collection, embedder)
        near = retriever.around([chunks[7], chunks[5], chunks[0], chunks[9]], 1)
        assert retriever.around([], 1) == []
    assert [(chunk.name, chunk.index) for chunk in near] == [
        *(("a.md", index) for index in (0, 1)),
        *(("b.md", index) for index in (0, 1, 4, 5, 6, 7, 8)),
    ]


def test_threads_get_the_same_results(retriever: Retriever) -> None:
    queries = [[text, "heat pump"] for text in PASSAGES] * 4
    alone = [retriever.search(query, limit=3) for query in queries]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda query: retriever.search(query, limit=3), queries)) == alone


def test_rankings_are_taken_in_turn_and_ordered_by_their_best_scores() -> None:
    a, b, c, d, e, f = (make_chunk(name, document=f"/docs/{name}") for name in "abcdef")
    one = [Hit(chunk=each, score=score) for each, score in ((a, 3), (b, 2.9), (c, 2.8))]
    two = [Hit(chunk=each, score=score) for each, score in ((d, 1), (a, 0.9), (e, 0.8), (f, 0.7))]
    assert [(hit.chunk, hit.score) for hit in merge([one, two], limit=3)] == [(a, 3), (b, 2.9), (d, 1)]
    assert [hit.chunk for hit in merge([one, two], limit=5)] == [a, b, c, d, e]
    assert [hit.chunk for hit in merge([one, two], limit=9)] == [a, b, c, d, e, f]


def test_a_query_whose_words_are_in_the_hits_needs_no_note_about_its_language(retriever: Retriever) -> None:
    query = "Wie laut ist eine Wärmepumpe im Winter?"
    words = tuple(word.text for word in Bm25Encoder().words(query, {"en": 1}))
    hit = Hit(chunk=make_chunk("text"), score=1.0, words=words)
    assert retriever.language_note(query, [hit]) == ""
    respelt = hit.model_copy(update={"respelt": {"Winter": ("wind",)}})
    for hits in ([], [hit.model_copy(update={"words": words[1:]})], [respelt]):
        assert "The question is in German" in retriever.language_note(query, hits)
