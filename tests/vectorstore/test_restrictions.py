"""Phrases in quotes and excluded words of a query."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.chunks import SPEC, make_chunk, make_vectors
from vectorstore.edge.store import EdgeStore
from vectorstore.models import SearchMode
from vectorstore.restrictions import parse
from vectorstore.retrieval import Retriever


@pytest.mark.parametrize(
    ("query", "text", "phrases", "excluded"),
    [
        ("heat pump", "heat pump", (), ()),
        ('"Heat  Pump" price', "Heat Pump price", ("heat pump",), ()),
        ("„Wärmepumpe im Haus“ «le prix»", "Wärmepumpe im Haus le prix", ("wärmepumpe im haus", "le prix"), ()),
        ("pump -used -second-hand", "pump", (), ("used", "second-hand")),
        ("utf-8 at -20 °C or -5", "utf-8 at -20 °C or -5", (), ()),
        ('a 19" rack', 'a 19" rack', (), ()),
        ("the company's -v option, a - b", "the company's -v option, a - b", (), ()),
        ('"O’Brien – 1990–94"', "O’Brien – 1990–94", ("o'brien - 1990-94",), ()),
        ('"not -this" but', "not -this but", ("not -this",), ()),
    ],
)
def test_a_query_is_parsed(query: str, text: str, phrases: tuple[str, ...], excluded: tuple[str, ...]) -> None:
    assert parse(query) == (text, phrases, excluded)


def test_phrases_stand_in_the_passages_and_excluded_words_do_not(tmp_path: Path) -> None:
    texts = [
        "The heat of the pump.",
        "A heat\npump for a house.",
        "A used Heat Pump.",
        "Preheat pumps.",
        *(f"pump heat {number}" for number in range(300)),
    ]
    chunks = [make_chunk(text, document=f"/docs/{number}.md") for number, text in enumerate(texts)]
    with EdgeStore(tmp_path).create(SPEC) as collection:
        collection.upsert(chunks, make_vectors(len(chunks)))
        retriever = Retriever(collection, None)

        def found(query: str) -> set[str]:
            return {hit.chunk.text for hit in retriever.find(query, 10, mode=SearchMode.WORDS)}

        assert found('"heat pump"') == {texts[1], texts[2]}
        assert found('"heat pump" -used') == {texts[1]}
        assert found('"pump of heat"') == set()
        assert texts[2] not in found("used pump -used")
        with pytest.raises(ValueError, match="only excludes words"):
            retriever.find("-used", 10)
