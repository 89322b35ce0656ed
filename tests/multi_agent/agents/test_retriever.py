"""The Retriever: searches new queries or scans, without a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from api.services.research.library import CollectionLibrary
from multi_agent.agent import DOCUMENTS
from multi_agent.agents.retriever import Retriever, RetrieverInputs, RetrieverOutput
from multi_agent.errors import AgentError
from multi_agent.settings.research import ResearchSettings
from support.chunks import make_chunk
from support.kits import Bench, library_of, make_context, searched_for
from vectorstore.embedding.embedder import Embedder

TEXTS = {
    "pumps.md": "The heat pump works down to -25 °C.",
    "bread.md": "Knead the dough and let it rise for an hour.",
    "stars.md": "A neutron star is what a supernova leaves behind.",
    "boats.md": "The ferry crosses the fjord twice a day.",
}
QUESTION = "How cold may it be for the heat pump?"
TWO = ResearchSettings(passages=2)


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[CollectionLibrary]:
    """Four documents of one passage each, on different subjects."""
    chunks = [make_chunk(text, document=f"/docs/{name}") for name, text in TEXTS.items()]
    with library_of(chunks, embedder, tmp_path_factory.mktemp("books")) as library:
        yield library


def search(*queries: str) -> dict[str, Any]:
    return {"method": "search", "documents": [], "queries": list(queries)}


def scan(*documents: str) -> dict[str, Any]:
    return {"method": "scan", "documents": list(documents), "queries": []}


async def test_it_searches_the_question_and_all_queries(books: CollectionLibrary) -> None:
    bench = Bench(Retriever, library=books)
    update = await bench.run(make_context(QUESTION, queries=("rising dough", QUESTION)), search("ferry timetable"))
    [searched] = bench.of_type("searched")
    assert searched.queries == (QUESTION, "rising dough", "ferry timetable")
    assert update.searched == searched_for(*searched.queries)
    assert (searched.method, searched.chunks_found, searched.documents_found) == ("search", 4, 4)


async def test_its_output_lists_documents_best_first(books: CollectionLibrary) -> None:
    update = await Bench(Retriever, library=books, settings=TWO).run(make_context(QUESTION), search())
    output = RetrieverOutput.of(update)
    assert (output.documents[0], output.passages) == ("pumps.md", 2)
    assert update.ranking == tuple(chunk.id for chunk in update.chunks)


async def test_a_later_search_runs_only_new_queries(books: CollectionLibrary) -> None:
    bench = Bench(Retriever, library=books, settings=ResearchSettings(passages=1))
    await bench.run(make_context(QUESTION), search())
    update = await bench.run(bench.context, search("supernova remnant"))
    assert update.searched == searched_for("supernova remnant")
    assert [chunk.name for chunk in bench.context.chunks] == ["pumps.md", "stars.md"]
    assert len(bench.context.ranking) == 2
    assert bench.context.searched == searched_for(QUESTION, "supernova remnant")


async def test_only_known_queries_fail_with_the_reason(books: CollectionLibrary) -> None:
    known = make_context(QUESTION, queries=("frost",), searched=searched_for(QUESTION, "frost"))
    with pytest.raises(AgentError, match="new ones are needed"):
        await Bench(Retriever, library=books).run(known, search("frost"))


async def test_a_search_in_named_documents_may_be_repeated_in_all(
    books: CollectionLibrary,
) -> None:
    bench = Bench(Retriever, library=books, settings=TWO)
    update = await bench.run(make_context(QUESTION), {**search(), "documents": ["bread.md", "boats.md"]})
    assert {chunk.name for chunk in update.chunks} == {"bread.md", "boats.md"}
    [searched] = bench.of_type("searched")
    assert (searched.queries, searched.documents) == ((QUESTION,), ("bread.md", "boats.md"))
    assert bench.context.looked_for == (f"{QUESTION} (in bread.md, boats.md)",)
    again = bench.context.model_copy(update={"queries": (QUESTION, "rising dough")})
    assert again.looked_for == ("rising dough", f"{QUESTION} (in bread.md, boats.md)"), "each query once, in its place"

    with pytest.raises(AgentError, match="new ones are needed"):
        await bench.run(bench.context, {**search(), "documents": ["bread.md", "boats.md"]})
    await bench.run(bench.context, search())
    assert "pumps.md" in {chunk.name for chunk in bench.context.chunks}


def test_a_search_in_deleted_documents_finds_nothing(books: CollectionLibrary) -> None:
    assert books.search([QUESTION], 4, ["gone.md"]) == []
    assert books.scan(["gone.md"]) == []


async def test_a_scan_reads_the_named_documents_after_a_search(books: CollectionLibrary) -> None:
    known = make_context(QUESTION, searched=searched_for(QUESTION), ranking=("some id",))
    bench = Bench(Retriever, library=books)
    update = await bench.run(known, scan("boats.md", "bread.md"))
    assert RetrieverOutput.of(update) == RetrieverOutput(documents=("boats.md", "bread.md"), passages=2)
    assert set(bench.context.ranking) <= {"some id", *(chunk.id for chunk in update.chunks)}
    assert bench.context.searched == searched_for(QUESTION)
    assert bench.context.scanned == ("boats.md", "bread.md")
    assert bench.reasoning == "Read all of boats.md, bread.md: 2 passages of 2 documents."


async def test_a_scan_ranks_the_nearest_passages_first(
    books: CollectionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ResearchSettings, "sample_passages", 2)
    bench = Bench(Retriever, library=books)
    update = await bench.run(make_context("How long is bread baked?"), scan("boats.md", "bread.md"))
    [best] = update.ranking
    assert next(chunk.name for chunk in update.chunks if chunk.id == best) == "bread.md"


async def test_a_scan_over_the_limit_is_rejected_before_it_reads(books: CollectionLibrary) -> None:
    bench = Bench(Retriever, library=books, settings=ResearchSettings(scan_limit=3))
    with pytest.raises(AgentError, match="4 passages, over the limit of 3"):
        await bench.run(make_context(QUESTION), scan())
    await bench.run(make_context(QUESTION), scan("boats.md"))


async def test_asked_directly_it_searches_for_the_question(books: CollectionLibrary) -> None:
    assert Retriever.card.asked is not None
    inputs = Retriever.card.asked(QUESTION).model_dump()
    update = await Bench(Retriever, library=books, settings=TWO).run(make_context(QUESTION), inputs)
    assert update.searched == searched_for(QUESTION)


def test_unknown_documents_are_rejected_by_name() -> None:
    with pytest.raises(ValidationError, match=r"no document named 'birds\.md'"):
        RetrieverInputs.model_validate(scan("birds.md", "boats.md"), context={DOCUMENTS: list(TEXTS)})
