"""Language detection, and BM25 in several languages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import qdrant_edge as qdrant
from py3langid.langid import LanguageIdentifier

from support.chunks import make_chunk
from vectorstore.edge.collection import EdgeCollection
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import ChunkFilter, CollectionSpec, SearchMode
from vectorstore.retrieval import Retriever
from vectorstore.text import languages
from vectorstore.text.bm25 import Bm25Encoder
from vectorstore.text.languages import LANGUAGE, detect, detect_query, unsupported

PASSAGES = {
    "en": "The heat pump still warms the house at twenty degrees below zero.",
    "de": "Die Häuser im Tal werden seit dem Winter mit einer Wärmepumpe geheizt.",
    "zh": "热泵在零下二十度仍然可以为房屋供暖。",
    "ar": "تستخدم المضخة الحرارية لتدفئة المنازل في الشتاء البارد",
    "th": "ปั๊มความร้อนยังคงให้ความอบอุ่นแก่บ้านในฤดูหนาว",
}


@pytest.mark.parametrize("language", PASSAGES)
def test_the_language_of_a_text_is_detected(language: str) -> None:
    assert detect(PASSAGES[language]) == language


def test_numbers_and_codes_have_no_language() -> None:
    assert detect("4711 | 12.5 % | A-17 | 2024-03-01") == ""


def test_a_query_gets_a_language_of_the_collection() -> None:
    assert detect_query("Gift", {"de": 5}) == "de"
    assert detect_query("Wie heißt die Hauptstadt?", {"en": 5, "de": 5}) == "de"
    assert detect_query("What is the capital called?", {"en": 5, "de": 5}) == "en"


@pytest.mark.parametrize(
    ("language", "passage", "query"),
    [
        ("en", "houses", "house"),
        ("de", "Häuser", "Häusern"),
        ("zh", "热泵仍然可以为房屋供暖", "房屋"),
        ("ja", "東京都の人口は増えている", "人口"),
        ("th", "ปั๊มความร้อนในฤดูหนาว", "ความร้อน"),
        ("pl", "Warszawa", "warszawa"),
    ],
)
def test_query_and_passage_share_stems_in_each_language(language: str, passage: str, query: str) -> None:
    encoder = Bm25Encoder()
    assert set(_encode(query, {language: 1}).indices) & set(encoder.passage(passage, language).indices)


def _encode(query: str, passages: dict[str, int]) -> qdrant.SparseVector:
    encoder = Bm25Encoder()
    return encoder.query(encoder.words(query, passages))


def test_a_query_is_encoded_in_all_languages() -> None:
    both = set(_encode("Häusern", {"en": 1, "de": 1}).indices)
    assert both == {*_encode("Häusern", {"en": 1}).indices, *_encode("Häusern", {"de": 1}).indices}


@pytest.mark.parametrize("other", ["fr", "pl"])
def test_stop_words_of_a_query_are_dropped_in_all_languages(other: str) -> None:
    """Otherwise "the" would rank a Polish text, or one detected as Polish, first in an English collection."""
    encoder = Bm25Encoder()
    query = _encode("What is the price of the pump in the house?", {"en": 1000, other: 1})
    passage = encoder.passage("The end of the road is what is in the way.", other)
    assert not set(query.indices) & set(passage.indices)
    for word in ("price", "pump", "house"):
        assert set(query.indices) >= set(_encode(word, {"en": 1000, other: 1}).indices)


@pytest.mark.parametrize(("language", "length"), [("en", 75), ("pl", 150)])
def test_a_term_weighs_one_in_a_chunk_of_average_length(language: str, length: int) -> None:
    """The average is longer for languages without a stemmer, which keep stop words."""

    def weight(terms: int) -> float:
        encoded = Bm25Encoder().passage(" ".join(f"x{number}" for number in range(terms)), language)
        return float(encoded.values[0])

    assert weight(length) == pytest.approx(1)
    assert weight(length // 2) > 1 > weight(length * 2)


def test_length_can_outweigh_frequency() -> None:
    encoder = Bm25Encoder()
    (term,) = _encode("pump", {"en": 1}).indices
    others = [f"x{number}" for number in range(160)]

    def weight(*words: str) -> float:
        passage = encoder.passage(" ".join(words), "en")
        return dict(zip(passage.indices, passage.values, strict=True))[term]

    assert weight("pump", *others[:50]) > weight("pump", "pump", *others)


def test_bm25_hits_come_first_in_unsupported_languages(tmp_path: Path, embedder: Embedder) -> None:
    chunks = [
        make_chunk(text, document=f"/docs/{language}.md", metadata={LANGUAGE: language})
        for language, text in PASSAGES.items()
    ]
    spec = CollectionSpec(name="all", embedding_model=embedder.model, dimension=embedder.dimension, chunking="any")
    with EdgeStore(tmp_path).create(spec) as collection:
        collection.upsert(chunks, embedder.embed_passages([chunk.text for chunk in chunks]))
        assert collection.languages() == collection.languages(exact=False) == dict.fromkeys(PASSAGES, 1)
        retriever = Retriever(collection, embedder)
        for query, name in (("房屋供暖", "zh.md"), ("Womit heizt man die Häuser?", "de.md")):
            sparse = retriever.search([query], 5, mode=SearchMode.WORDS)
            hybrid = retriever.search([query], 5)
            assert [hit.chunk.name for hit in sparse] == [name], "the other passages share no word with the query"
            assert hybrid[0].chunk.name == name
            assert len(hybrid) == len(PASSAGES), "dense hits fill up the list"
            assert [hit.score for hit in hybrid] == sorted((hit.score for hit in hybrid), reverse=True)
            assert len(retriever.search([query], 1)) == 1
        (dense_only,) = retriever.search(["Behaglichkeit für jedes Zimmer"], 1)
        assert retriever.search(["Behaglichkeit für jedes Zimmer"], 1, mode=SearchMode.WORDS) == []
        assert dense_only.score > 0
        assert len(retriever.search(["a warm home"], 5)) == len(PASSAGES)
        collection.delete(ChunkFilter(documents=("id of /docs/zh.md",)))
        assert "zh" not in collection.languages()
        assert "zh" not in collection.languages(exact=False), "counted again after a change"


def test_a_search_does_not_count_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: Embedder) -> None:
    """Exact counts read all chunks: 110 ms of a search in 1,000,000."""
    counts: list[bool] = []
    count = EdgeCollection.languages

    def languages(self: EdgeCollection, *, exact: bool = True) -> dict[str, int]:
        counts.append(exact)
        return count(self, exact=exact)

    monkeypatch.setattr(EdgeCollection, "languages", languages)
    spec = CollectionSpec(name="all", embedding_model=embedder.model, dimension=embedder.dimension, chunking="any")
    with EdgeStore(tmp_path).create(spec) as collection:
        collection.upsert([make_chunk(PASSAGES["en"])], embedder.embed_passages([PASSAGES["en"]]))
        counts.clear()
        for mode in SearchMode:
            assert Retriever(collection, embedder).search(["heat pump"], 5, mode=mode)
    assert counts
    assert not any(counts)


def test_threads_that_begin_together_load_the_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty threads that loaded it at once made the first searches of a service wait for 12 s."""
    loaded: list[str] = []
    load = LanguageIdentifier.from_model_file

    def counted(file: str) -> LanguageIdentifier:
        loaded.append(file)
        return load(file)

    monkeypatch.setattr(LanguageIdentifier, "from_model_file", counted)
    languages._load_identifier.cache_clear()
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(detect, ["Die Pumpe arbeitet bei großer Kälte."] * 8)) == {"de"}
    assert len(loaded) == 1


@pytest.mark.parametrize(("serbian", "named"), [(1, {}), (10, {}), (11, {"sr": 11})])
def test_a_language_of_very_few_passages_is_not_named(serbian: int, named: dict[str, int]) -> None:
    assert unsupported({"en": 1_000 - serbian, "sr": serbian, "": 0}, frozenset({"en"})) == named


def test_without_known_languages_none_is_unsupported() -> None:
    assert unsupported({"sr": 5}, None) == {}
