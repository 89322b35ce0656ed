"""The Reader's second search, for what its first answer lacked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from api.services.research.library import CollectionLibrary
from multi_agent.agents.reader import Reader
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import ResearchSettings
from multi_agent.values.context import ContextUpdate
from support.chunks import make_chunk
from support.kits import Bench, library_of, make_context
from support.panel import READING, Panel, synthesis
from support.replies import Request
from vectorstore.embedding.embedder import Embedder

MAKER = "The compressor of the Borea 12 is made by Kestrel Kompressoren."
FOUNDER = "Kestrel Kompressoren was founded in 1961 by Marta Olin."
QUESTION = "Who founded the maker of the compressor of the Borea 12?"
ONE_PASSAGE = ResearchSettings(reader_passages=1)
Serve = Callable[..., EndpointSettings]
Answers = list[dict[str, Any]]


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[CollectionLibrary]:
    chunks = [make_chunk(MAKER, document="/docs/parts.pdf"), make_chunk(FOUNDER, document="/docs/companies.md")]
    with library_of(chunks, embedder, tmp_path_factory.mktemp("books")) as library:
        yield library


def claiming(text: str, name: str, *, sufficient: bool, **more: Any) -> dict[str, Any]:
    claims = [{"text": text, "quotes": [{"passage": name, "quote": text}]}]
    return {**synthesis(claims, sufficient=sufficient, short=more.pop("short", text)), **more}


NOT_FOUND = {**synthesis([], sufficient=False), "missing": "who founded it"}
CLOSE = claiming(
    MAKER, "parts.pdf", sufficient=False, short="Kestrel Kompressoren", missing="the maker, not the founder"
)
FOUND = claiming(FOUNDER, "companies.md", sufficient=True, short="Marta Olin")


def answering(*answers: dict[str, Any]) -> tuple[Panel, list[Request]]:
    """A model that gives these answers one after the other, and what it was asked."""
    asked: list[Request] = []

    def read(request: Request) -> str:
        asked.append(request)
        return json.dumps(answers[len(asked) - 1])

    return Panel(roles={READING: read}), asked


async def read(serve: Serve, books: CollectionLibrary, panel: Panel, question: str = QUESTION) -> ContextUpdate:
    bench = Bench(Reader, serve(panel), books, settings=ONE_PASSAGE)
    return await bench.run(make_context(question), {"question": question, "queries": []}, step="founder")


async def test_what_is_missing_is_searched_and_read_once_more(serve: Serve, books: CollectionLibrary) -> None:
    panel, asked = answering({**CLOSE, "search": ["founder of Kestrel Kompressoren"]}, FOUND)
    [finding] = (await read(serve, books, panel)).findings
    assert (finding.synthesis.sufficient, finding.synthesis.short) == (True, "Marta Olin")
    assert finding.queries == ("founder of Kestrel Kompressoren",)
    assert finding.synthesis.looked_for == (QUESTION, "founder of Kestrel Kompressoren")
    first, second = (request.prompt for request in asked)
    assert (MAKER in first, FOUNDER in first) == (True, False)
    assert MAKER in second, "what the first answer cited is read again"
    assert FOUNDER in second
    assert "A first reading gave: not found; closest: Kestrel Kompressoren (the maker, not the founder)" in second


async def test_the_second_reading_has_the_passages_of_the_first(serve: Serve, books: CollectionLibrary) -> None:
    panel, asked = answering({**NOT_FOUND, "search": ["founder of Kestrel Kompressoren"]}, FOUND)
    await read(serve, books, panel)
    second = asked[1].prompt
    assert FOUNDER in second
    assert MAKER in second, "the first answer did not cite it, but what it says is needed"


async def test_everything_that_was_read_is_kept(serve: Serve, books: CollectionLibrary) -> None:
    panel, _ = answering({**NOT_FOUND, "search": ["founder of Kestrel Kompressoren"]}, FOUND)
    update = await read(serve, books, panel)
    assert [chunk.name for chunk in update.chunks] == ["parts.pdf", "companies.md"]
    assert len(update.ranking) == 2


async def test_a_worse_second_answer_does_not_replace_the_first(serve: Serve, books: CollectionLibrary) -> None:
    panel, asked = answering({**CLOSE, "search": ["founder of Kestrel Kompressoren"]}, NOT_FOUND)
    [finding] = (await read(serve, books, panel)).findings
    assert finding.synthesis.short == "Kestrel Kompressoren"
    assert len(finding.synthesis.looked_for) == len(asked) == 2


@pytest.mark.parametrize("answer", [NOT_FOUND, {**FOUND, "search": ["something else"]}])
async def test_nothing_is_searched_without_need(serve: Serve, books: CollectionLibrary, answer: dict[str, Any]) -> None:
    panel, asked = answering(answer)
    await read(serve, books, panel, "Who founded Kestrel Kompressoren?")
    assert len(asked) == 1


async def test_a_search_that_finds_nothing_new_asks_no_model(serve: Serve, books: CollectionLibrary) -> None:
    panel, asked = answering({**NOT_FOUND, "search": ["founder of Kestrel Kompressoren"]})
    bench = Bench(Reader, serve(panel), books)  # the first search finds both passages
    update = await bench.run(make_context(QUESTION), {"question": QUESTION, "queries": []}, step="founder")
    assert len(asked) == 1
    assert update.findings[0].synthesis.looked_for[-1] == "founder of Kestrel Kompressoren"


async def test_an_answer_for_not_found_is_accepted_after_another_search(serve: Serve, books: CollectionLibrary) -> None:
    absent = {**synthesis([], sufficient=True, short="N/A"), "missing": "the founder"}
    panel, asked = answering({**absent, "search": ["founder of Kestrel Kompressoren"]}, FOUND)
    question = f"{QUESTION} If it is not available, return N/A."
    [finding] = (await read(serve, books, panel, question)).findings
    assert (finding.synthesis.short, len(asked)) == ("Marta Olin", 2)


async def test_the_same_closest_answer_keeps_what_the_first_reading_missed(
    serve: Serve, books: CollectionLibrary
) -> None:
    again = {**CLOSE, "missing": "the founder"}
    panel, asked = answering({**CLOSE, "search": ["founder of Kestrel Kompressoren"]}, again)
    [finding] = (await read(serve, books, panel)).findings
    assert finding.synthesis.missing == ("the maker, not the founder",)
    assert len(asked) == 2


async def test_a_second_reading_gets_passages_of_both_searches(
    serve: Serve, embedder: Embedder, tmp_path: Path
) -> None:
    parts = [make_chunk(f"{MAKER} Part {at}. {'Oil is changed. ' * 100}", document=f"/part{at}.md") for at in range(2)]
    firms = [make_chunk(f"{FOUNDER} Firm {at}. {'It hires. ' * 160}", document=f"/firm{at}.md") for at in range(4)]
    panel, asked = answering({**NOT_FOUND, "search": ["Who founded Kestrel Kompressoren in 1961?"]}, NOT_FOUND)
    with library_of([*parts, *firms], embedder, tmp_path) as library:
        settings = ResearchSettings(reader_passages=2, tokens_per_call=1200)
        bench = Bench(Reader, serve(panel), library, settings=settings)
        await bench.run(make_context("x"), {"question": "Borea 12 compressor part oil", "queries": []}, step="oil")
    first, second = (request.prompt for request in asked)
    assert ("Part 0" in first, "Firm" in first) == (True, False)
    assert ("Part" in second, "Firm" in second) == (True, True)
