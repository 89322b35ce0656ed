"""The Reader: one question, one search, one model call and verified quotes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from api.services.library import CollectionLibrary
from multi_agent.agent import DOCUMENTS
from multi_agent.agents.reader import Reader, ReaderInputs, ReaderOutput
from multi_agent.errors import LLMError
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings import ResearchSettings
from support.chunks import make_chunk
from support.kits import UNREACHABLE, Bench, library_of, make_context
from support.scripted_endpoint import Request, always
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import PageSpan

SUPPLIER = "The compressor of the Borea 12 is made by Kestrel Kompressoren.\nIt is delivered on pallets."
TOWN = "Kestrel Kompressoren was founded in 1961 by Marta Olin.\nIts works stand in Tornby."
RECIPE = "Whisk the eggs.\nBake for 40 minutes at 180 °C."
QUESTION = "Who makes the compressor of the Borea 12?"
INPUTS: dict[str, Any] = {"question": QUESTION, "queries": ["compressor supplier"]}
Serve = Callable[..., EndpointSettings]


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[CollectionLibrary]:
    """Three documents of one passage each."""
    pages = (PageSpan(number=4, start=0, end=len(SUPPLIER)),)
    chunks = [
        make_chunk(SUPPLIER, document="/docs/parts.pdf", page_spans=pages),
        make_chunk(TOWN, document="/docs/companies.md"),
        make_chunk(RECIPE, document="/docs/recipe.md"),
    ]
    with library_of(chunks, embedder, tmp_path_factory.mktemp("books")) as library:
        yield library


def claim(text: str, *quotes: tuple[int, str]) -> dict[str, Any]:
    return {"text": text, "quotes": [{"passage": number, "quote": quote, "shows": "it"} for number, quote in quotes]}


def response(*claims: dict[str, Any], short: str = "", sufficient: bool = True) -> str:
    return json.dumps(
        {
            "reasoning": "It follows.",
            "sufficient": sufficient,
            "layout": "prose",
            "confidence": 0.9,
            "looked_for": ["the maker"],
            "found": "the maker",
            "missing": [],
            "short": short,
            "claims": list(claims),
        }
    )


MAKER = claim("Kestrel Kompressoren makes it.", (2, "The compressor of the Borea 12 is made by Kestrel Kompressoren."))


async def test_an_answer_has_a_located_quote(serve: Serve, books: CollectionLibrary) -> None:
    bench = Bench(Reader, serve(always(response(MAKER, short="Kestrel Kompressoren"))), books)
    update = await bench.run(make_context(), INPUTS, step="maker")

    [finding] = update.findings
    assert (finding.step, finding.question) == ("maker", QUESTION)
    assert finding.synthesis.text == "Kestrel Kompressoren makes it. [1]"
    [evidence] = finding.synthesis.evidence
    assert (evidence.name, evidence.pages, evidence.number) == ("parts.pdf", (4,), 1)
    assert evidence.quote == "The compressor of the Borea 12 is made by Kestrel Kompressoren."
    assert bench.context.evidence == finding.synthesis.evidence
    assert ReaderOutput.of(update) == ReaderOutput(answer="Kestrel Kompressoren", sufficient=True)


async def test_it_searches_the_question_and_the_other_wordings(serve: Serve, books: CollectionLibrary) -> None:
    bench = Bench(Reader, serve(always(response(MAKER))), books, ResearchSettings(reader_passages=2))
    update = await bench.run(make_context(), INPUTS)
    [searched] = bench.of_type("searched")
    assert searched.queries == (QUESTION, "compressor supplier")
    assert searched.chunks_found == len(update.chunks) == len(update.ranking) == 2
    assert bench.context.chunks[0].name < bench.context.chunks[1].name


async def test_it_searches_only_the_named_documents(serve: Serve, books: CollectionLibrary) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return response(MAKER)

    bench = Bench(Reader, serve(answer), books)
    update = await bench.run(make_context(), {**INPUTS, "documents": ["companies.md"]})
    assert {chunk.name for chunk in update.chunks} == {"companies.md"}
    assert bench.of_type("searched")[0].documents == ("companies.md",)
    assert "compressor supplier (in companies.md)" in asked[0].prompt
    assert bench.context.looked_for == (f"{QUESTION}; compressor supplier (in companies.md)",)


def test_unknown_documents_are_rejected() -> None:
    with pytest.raises(ValidationError, match=r"there is no document named 'parts\.doc'"):
        ReaderInputs.model_validate({**INPUTS, "documents": ["parts.doc"]}, context={DOCUMENTS: {"parts.pdf"}})


async def test_the_prompt_has_the_whole_question_and_ends_with_passages(serve: Serve, books: CollectionLibrary) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return response(MAKER)

    whole = "Who founded the company that makes the compressor of the Borea 12?"
    await Bench(Reader, serve(answer), books).run(make_context(whole), INPUTS)
    [request] = asked
    told = request.messages[1]["content"]
    assert told.startswith(f"The whole question: {whole}")
    assert f"Your question: {QUESTION}" in told
    assert told.index("Your question") < told.index("=== Passage 1: companies.md") < told.index("parts.pdf, page 4")
    assert told.endswith(RECIPE)


async def test_it_reads_the_best_passages_that_fit_one_call(
    serve: Serve, embedder: Embedder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return response(MAKER)

    long = [make_chunk(f"{SUPPLIER} " + "blue sky " * 70 * index, index=index) for index in range(3)]
    with library_of(long, embedder, tmp_path_factory.mktemp("long")) as library:
        bench = Bench(Reader, serve(answer), library, ResearchSettings(tokens_per_call=300))
        update = await bench.run(make_context(), INPUTS)
    assert asked[0].prompt.count("=== Passage") == 2
    assert SUPPLIER in asked[0].prompt
    assert len(update.chunks) == 3, "the others are there for whoever reads more"
    assert bench.reasoning.startswith("Read 2 passages for: Who makes")


async def test_readers_of_one_question_share_a_prompt_prefix(serve: Serve, books: CollectionLibrary) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return response(MAKER)

    settings = serve(answer)
    for question in (QUESTION, "When was Kestrel Kompressoren founded?"):
        await Bench(Reader, settings, books).run(make_context(), {"question": question, "queries": []})
    system, user = zip(*(tuple(message["content"] for message in request.messages) for request in asked), strict=True)
    assert system[0] == system[1]
    assert user[0].partition("Your question")[0] == user[1].partition("Your question")[0]


async def test_evidence_is_numbered_by_document_and_shared_by_claims(serve: Serve, books: CollectionLibrary) -> None:
    founder = "Kestrel Kompressoren was founded in 1961 by Marta Olin."
    reply = response(
        MAKER, claim("Marta Olin founded it.", (1, founder), (1, founder), (2, MAKER["quotes"][0]["quote"]))
    )
    update = await Bench(Reader, serve(always(reply)), books).run(make_context(), INPUTS)
    synthesis = update.findings[0].synthesis
    assert [(item.number, item.name) for item in synthesis.evidence] == [(1, "companies.md"), (2, "parts.pdf")]
    assert [each.evidence for each in synthesis.claims] == [(2,), (1, 2)]


async def test_an_answer_in_sentences_has_no_bare_answer(serve: Serve, books: CollectionLibrary) -> None:
    """A later step cannot search for sentences; the planner sees them and can ask about each."""
    bench = Bench(Reader, serve(always(response(MAKER, short=""))), books)
    output = ReaderOutput.of(await bench.run(make_context(), INPUTS))
    assert (output.answer, output.sufficient) == ("", True)
    assert "several things fit: “Kestrel Kompressoren makes it.” Ask about each" in output.why_empty


@pytest.mark.parametrize(
    ("passage", "quote", "where"),
    [
        (2, "The compressor is made by Kestrel", "parts.pdf, page 4"),
        (3, "The compressor of the Borea 12 is made by Kestrel Kompressoren.", "recipe.md"),
        (9, "The compressor of the Borea 12 is made by Kestrel Kompressoren.", "passage 9, which was not shown"),
    ],
    ids=["other words", "another passage", "a passage that was not shown"],
)
async def test_a_wrong_quote_is_dropped_and_its_claim_marked(
    serve: Serve, books: CollectionLibrary, passage: int, quote: str, where: str
) -> None:
    reply = response(claim("Kestrel makes it.", (passage, quote)), short="Kestrel")
    bench = Bench(Reader, serve(always(reply)), books)
    update = await bench.run(make_context(), INPUTS)

    [rejected] = bench.of_type("evidence_rejected")
    assert (rejected.quote, rejected.passage, rejected.final) == (quote, where, True)
    synthesis = update.findings[0].synthesis
    assert synthesis.text == "Kestrel makes it. [unsupported]"
    assert not synthesis.sufficient, "an answer without a single verified quote is none"
    assert ReaderOutput.of(update) == ReaderOutput(answer="", sufficient=False)


async def test_an_insufficient_answer_is_empty_for_later_steps(serve: Serve, books: CollectionLibrary) -> None:
    reply = response(MAKER, sufficient=False)
    update = await Bench(Reader, serve(always(reply)), books).run(make_context(), INPUTS)
    assert ReaderOutput.of(update) == ReaderOutput(answer="", sufficient=False)
    assert update.evidence, "but what was found is kept"


async def test_without_passages_no_model_is_called(
    embedder: Embedder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with library_of([], embedder, tmp_path_factory.mktemp("empty")) as nothing:
        bench = Bench(Reader, UNREACHABLE, nothing)
        update = await bench.run(make_context(), INPUTS)
    synthesis = update.findings[0].synthesis
    assert (synthesis.sufficient, synthesis.found) == (False, "The search found no passage.")
    assert synthesis.looked_for == (QUESTION, "compressor supplier")


async def test_it_calls_the_model_once(serve: Serve, books: CollectionLibrary) -> None:
    calls: list[Request] = []

    def answer(request: Request) -> str:
        calls.append(request)
        return response(claim("Kestrel makes it.", (1, "wrong")), MAKER)

    await Bench(Reader, serve(answer), books).run(make_context(), INPUTS)
    assert len(calls) == 1
    with pytest.raises(LLMError):
        await Bench(Reader, UNREACHABLE, books).run(make_context(), INPUTS)
