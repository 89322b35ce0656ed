"""Passages and queries in other languages than English."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.chunks import make_chunk
from vectorstore.edge import EdgeStore
from vectorstore.embedding.embedder import make_embedder
from vectorstore.models import ChunkFilter, CollectionSpec, SearchMode
from vectorstore.retrieval import Retriever
from vectorstore.settings import EmbeddingSettings
from vectorstore.text.bm25 import Bm25Encoder
from vectorstore.text.languages import LANGUAGE, detect, detect_query

PASSAGES = {
    "en": "The heat pump still warms the house at twenty degrees below zero.",
    "de": "Die Häuser im Tal werden seit dem Winter mit einer Wärmepumpe geheizt.",
    "zh": "热泵在零下二十度仍然可以为房屋供暖。",
    "ar": "تستخدم المضخة الحرارية لتدفئة المنازل في الشتاء البارد",
    "th": "ปั๊มความร้อนยังคงให้ความอบอุ่นแก่บ้านในฤดูหนาว",
}


@pytest.mark.parametrize("language", PASSAGES)
def test_a_text_says_its_language(language: str) -> None:
    assert detect(PASSAGES[language]) == language


def test_numbers_and_codes_have_no_language() -> None:
    assert detect("4711 | 12.5 % | A-17 | 2024-03-01") == ""


def test_a_query_is_only_asked_which_of_the_collections_languages_it_has() -> None:
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
def test_words_meet_in_their_own_language(language: str, passage: str, query: str) -> None:
    encoder = Bm25Encoder()
    assert set(encoder.query(query, {language: 1}).indices) & set(encoder.passage(passage, language).indices)


def test_a_query_has_no_language_of_its_own() -> None:
    encoder = Bm25Encoder()
    both = set(encoder.query("Häusern", {"en": 1, "de": 1}).indices)
    assert both == {*encoder.query("Häusern", {"en": 1}).indices, *encoder.query("Häusern", {"de": 1}).indices}


@pytest.mark.parametrize("other", ["fr", "pl"])
def test_stop_words_of_a_query_are_no_words_of_another_language(other: str) -> None:
    """Else a text in Polish, or one that was taken for Polish, would win by "the" in a collection in English."""
    encoder = Bm25Encoder()
    query = encoder.query("What is the price of the pump in the house?", {"en": 1000, other: 1})
    passage = encoder.passage("The end of the road is what is in the way.", other)
    assert not set(query.indices) & set(passage.indices)
    assert set(query.indices) >= set(encoder.query("price pump house", {"en": 1000, other: 1}).indices)


@pytest.mark.parametrize(("language", "length"), [("en", 75), ("pl", 150)])
def test_a_term_weighs_one_in_a_chunk_of_usual_length(language: str, length: int) -> None:
    """More in a shorter one, less in a longer: languages without a stemmer keep their stop words."""

    def weight(terms: int) -> float:
        encoded = Bm25Encoder().passage(" ".join(f"x{number}" for number in range(terms)), language)
        return float(encoded.values[0])

    assert weight(length) == pytest.approx(1)
    assert weight(length // 2) > 1 > weight(length * 2)


def test_a_term_that_stands_twice_in_a_long_chunk_weighs_less_than_once_in_a_short_one() -> None:
    encoder = Bm25Encoder()
    (term,) = encoder.query("pump", {"en": 1}).indices
    others = [f"x{number}" for number in range(160)]

    def weight(*words: str) -> float:
        passage = encoder.passage(" ".join(words), "en")
        return dict(zip(passage.indices, passage.values, strict=True))[term]

    assert weight("pump", *others[:50]) > weight("pump", "pump", *others)


def test_words_lead_where_the_model_does_not_know_the_language(tmp_path: Path) -> None:
    embedder = make_embedder(EmbeddingSettings())
    chunks = [
        make_chunk(text, document=f"/docs/{language}.md", metadata={LANGUAGE: language})
        for language, text in PASSAGES.items()
    ]
    spec = CollectionSpec(name="all", embedding_model=embedder.model, dimension=embedder.dimension, chunking="any")
    with EdgeStore(tmp_path).create(spec) as collection:
        collection.upsert(chunks, embedder.embed_passages([chunk.text for chunk in chunks]))
        assert collection.languages() == dict.fromkeys(PASSAGES, 1)
        retriever = Retriever(collection, embedder)
        for query, name in (("房屋供暖", "zh.md"), ("Womit heizt man die Häuser?", "de.md")):
            by_words = retriever.search([query], 5, mode=SearchMode.SPARSE)
            led = retriever.search([query], 5)
            assert [hit.chunk.name for hit in by_words] == [name], "no word in common with the others"
            assert led[0].chunk.name == name
            assert len(led) == len(PASSAGES), "the others below, by what the model makes of them"
            assert [hit.score for hit in led] == sorted((hit.score for hit in led), reverse=True)
            assert len(retriever.search([query], 1)) == 1
        (nothing_in_common,) = retriever.search(["Behaglichkeit für jedes Zimmer"], 1)
        assert retriever.search(["Behaglichkeit für jedes Zimmer"], 1, mode=SearchMode.SPARSE) == []
        assert nothing_in_common.score > 0
        assert len(retriever.search(["a warm home"], 5)) == len(PASSAGES)
        collection.delete(ChunkFilter(documents=("id of /docs/zh.md",)))
        assert "zh" not in collection.languages(), "what was counted before is counted anew after writing"
