"""Chunking of wide tables: a passage has the header and several rows, and a search finds each row by its number."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from ingest.chunking.chunker import Chunker, Source
from ingest.parser import load_parser
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk, CollectionSpec, SearchMode
from vectorstore.retrieval import Retriever

ROWS, COLUMNS = 200, 41


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(1)
    names = ["record_id", "customer", "status", *(f"m{n:02}" for n in range(COLUMNS - 3))]
    customers = [f"Customer {rng.randrange(999)}" for _ in range(ROWS)]
    rows = [
        [f"R{n:06}", customer, rng.choice(("open", "late")), *map(str, rng.choices(range(999), k=COLUMNS - 3))]
        for n, customer in enumerate(customers)
    ]
    file = tmp_path_factory.mktemp("wide") / "wide.csv"
    file.write_text("\n".join(",".join(row) for row in [names, *rows]))
    return file


@pytest.fixture(scope="module")
def chunks(table: Path, embedder: Embedder) -> list[Chunk]:
    source = Source(document_id="1", path=str(table), name=table.name, version="0" * 64)
    return Chunker(embedder.count_tokens, 254).chunk(load_parser("default").parse(table), source)


@pytest.fixture(scope="module")
def retriever(chunks: list[Chunk], embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    spec = CollectionSpec(name="wide", embedding_model=embedder.model, dimension=embedder.dimension, chunking="c")
    with EdgeStore(tmp_path_factory.mktemp("store")).create(spec) as collection:
        collection.upsert(chunks, embedder.embed_passages([chunk.embedded_text for chunk in chunks]))
        yield Retriever(collection, embedder)


def test_a_passage_has_several_whole_rows_and_the_head(chunks: list[Chunk]) -> None:
    assert len(chunks) < 0.4 * ROWS
    assert all("record_id" in chunk.reading_text for chunk in chunks)
    assert all(before.end <= after.start for before, after in pairwise(chunks))
    rows = [line for chunk in chunks for line in chunk.text.splitlines() if line.startswith("| R0")]
    assert [line.split()[1] for line in rows] == [f"R{n:06}" for n in range(ROWS)]
    assert {line.count("|") for line in rows} == {COLUMNS + 1}


@pytest.mark.parametrize("mode", [SearchMode.WORDS, SearchMode.HYBRID])
@pytest.mark.parametrize("question", ["{}", "What is the status of record {}?", "Which customer does {} belong to?"])
def test_a_record_number_is_found_first(retriever: Retriever, question: str, mode: SearchMode) -> None:
    for number in random.Random(2).sample(range(ROWS), 20):
        record = f"R{number:06}"
        assert record in retriever.search([question.format(record)], 1, mode=mode)[0].chunk.text
