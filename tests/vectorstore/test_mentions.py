"""Finding every passage that has a word or a phrase."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import vectorstore.mentions as module
from support.chunks import SPEC, make_chunk, make_vectors
from vectorstore.edge.store import EdgeStore
from vectorstore.mentions import WantedWords
from vectorstore.models import ChunkFilter, SearchMode
from vectorstore.retrieval import Retriever
from vectorstore.store import Collection, Query

TEXTS = (
    "The heat pumps are asbestos-free.",
    "A HEAT\nPUMP heats.",
    "Pump heat into the house.",
    "The com-\npressor is new.",
    "Will it work? Ask Will.",
    "使用热泵系统。",
    "Nothing of the kind.",
    "Deirdre O’Brien signed 1990–94 for 12,499.00 EUR.",
)


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    chunks = [
        make_chunk(text, document=f"/docs/{at}.md", metadata={"language": "zh" if "热" in text else "en"})
        for at, text in enumerate(TEXTS)
    ]
    with EdgeStore(tmp_path_factory.mktemp("store")).create(SPEC) as collection:
        collection.upsert(chunks, make_vectors(len(chunks)))
        yield Retriever(collection, None)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["asbestos"], [0]),
        (["Pump"], [0, 1, 2]),
        (["heat pump"], [1]),
        (["heat pump", "Heat pumps"], [0, 1]),
        (["compressor"], [3]),
        (["com-pressor"], [3]),
        (["will"], [4]),
        (["Will"], [4]),
        (["热泵"], [5]),
        (["O'Brien"], [7]),
        (["1990-94"], [7]),
        (["12499"], [7]),
        (["2499"], []),
        (["asbest"], []),
        (["the pump"], []),
        ([" "], []),
    ],
)
@pytest.mark.parametrize("most", [5_000, 1])
def test_every_passage_is_found(
    retriever: Retriever, words: list[str], found: list[int], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more passages than a search returns, all are read."""
    monkeypatch.setattr(module, "_MOST_FOUND", most)
    assert [chunk.name for chunk in retriever.mentions(words)] == [f"{at}.md" for at in found]


def test_few_words_of_a_long_phrase_are_searched(retriever: Retriever, monkeypatch: pytest.MonkeyPatch) -> None:
    """A phrase of 10,000 fractions kept a search process busy for minutes: it searched each of its words."""
    searched: list[Query] = []
    search = type(retriever.collection).search

    def record(self: Collection, mode: SearchMode, query: Query, *others: Any) -> Any:
        searched.append(query)
        return search(self, mode, query, *others)

    monkeypatch.setattr(type(retriever.collection), "search", record)
    assert retriever.mentions(["½" * 5_000 + " ".join(f"word{number}" for number in range(1_000))]) == []
    assert [chunk.name for chunk in retriever.mentions([TEXTS[7]])] == ["7.md"]
    assert 0 < len(searched) <= 16


def test_other_documents_are_not_searched(retriever: Retriever) -> None:
    where = ChunkFilter(documents=("id of /docs/1.md",))
    assert [chunk.name for chunk in retriever.mentions(["pump"], where)] == ["1.md"]


@pytest.mark.parametrize(
    ("wanted", "text", "found"),
    [
        ("severance", "several severances and a severance", ["severances", "severance"]),
        ("organ", "an organization of organs", ["organs"]),
        ("stop", "it stopped, stops, is stopping", ["stopped", "stops", "stopping"]),
        ("company", "companies and company's", ["companies", "company"]),
        ("carry", "carried, carries, carrying", ["carried", "carries", "carrying"]),
        ("price", "pricing, priced, prices", ["pricing", "priced", "prices"]),
    ],
)
def test_words_with_another_meaning_are_no_inflections(wanted: str, text: str, found: list[str]) -> None:
    assert WantedWords([wanted]).forms_in(text, "en") == found


def test_a_number_is_counted_once_in_each_form() -> None:
    wanted = WantedWords(["12499"])
    text = "12499 and 12499.00 and 12,499.00 EUR and $12,499.00 and 12,499 but 124990 and 12,499.50"
    assert wanted.forms_in(text, "en") == ["12499", "12499", "12,499.00", "12,499.00", "12,499"]


def test_forms_are_given_as_they_stand() -> None:
    wanted = WantedWords(["pump", "heat pump"])
    assert wanted.forms_in("Pumps and a Heat\nPump, pump by pump", "en") == [
        "pumps", "pump", "pump", "pump", "heat pump"
    ]  # fmt: skip
