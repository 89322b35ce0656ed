"""The Reader with page pictures: when it sends them, and how it treats the words that the model reads there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from api.services.research.library import CollectionLibrary
from multi_agent.agents.reader import Reader
from multi_agent.errors import PictureUnavailable
from multi_agent.grounding.confidence import SHARE_RIGHT, Signal
from multi_agent.grounding.pictures import PagePictures
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import ResearchSettings
from multi_agent.values.context import PictureSource
from support.chunks import make_chunk
from support.files import make_png
from support.kits import Bench, library_of, make_context
from support.panel import READING, Panel, synthesis
from support.replies import PROTOCOLS, Protocol, Reply, Request
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import PICTURED_PAGES, Chunk, PageSpan

CHART = "Sales of the Borea 12 by quarter, as the chart shows.\nThe chart has one bar for each quarter."
PROSE = "The Borea 12 heats a house.\nIts warranty is seven years."
QUESTION = "What were the sales of the Borea 12 in the second quarter?"
INPUTS: dict[str, Any] = {"question": QUESTION, "queries": []}
Serve = Callable[..., EndpointSettings]


class Drawn:
    """Draws each page in a different size and records the pages."""

    def __init__(self) -> None:
        self.pages: list[tuple[str, int]] = []

    def __call__(self, chunk: Chunk, page: int) -> bytes:
        self.pages.append((chunk.name, page))
        return make_png(100 + page)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[CollectionLibrary]:
    """Yield a library with a report whose page 4 has a chart, and a manual without charts."""
    spans = (PageSpan(number=3, start=0, end=20), PageSpan(number=4, start=20, end=len(CHART)))
    chunks = [
        make_chunk(CHART, document="/docs/report.pdf", page_spans=spans, metadata={PICTURED_PAGES: "1, 4-6"}),
        make_chunk(PROSE, document="/docs/manual.pdf", page_spans=(PageSpan(number=1, start=0, end=len(PROSE)),)),
    ]
    with library_of(chunks, embedder, tmp_path_factory.mktemp("charts")) as library:
        yield library


@pytest.fixture
def drawn() -> Drawn:
    return Drawn()


@pytest.fixture
def library(opened: CollectionLibrary, drawn: Drawn) -> CollectionLibrary:
    return replace(opened, draw=drawn)


class Model:
    """A model that answers with these claims and records the requests."""

    def __init__(self, *claims: dict[str, Any], short: str = "42") -> None:
        self._answer = json.dumps(synthesis(list(claims), sufficient=True, short=short))
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Reply | str:
        self.asked.append(request)
        return Panel(roles={READING: lambda _: self._answer})(request)


class Seeing:
    """A model that takes pictures."""

    async def takes_pictures(self) -> bool:
        return True


def library_drawing(drawn: Drawn) -> CollectionLibrary:
    return CollectionLibrary("none", lambda: (), cast(Any, None), drawn)


def pictured(name: str, text: str) -> Chunk:
    """Return a passage that is a page with a figure."""
    spans = (PageSpan(number=1, start=0, end=len(text)),)
    return make_chunk(text, document=f"/docs/{name}.pdf", page_spans=spans, metadata={PICTURED_PAGES: "1"})


def read(words: str, picture: int = 1, region: list[float] | None = None) -> dict[str, Any]:
    """Return a reading: the words and region that the model reads in a picture."""
    return {"picture": picture, "words": words, "region": region}


def seen(text: str, *readings: dict[str, Any], sentences: tuple[int, ...] = ()) -> dict[str, Any]:
    """Return a claim with picture readings as evidence."""
    return {"sentences": list(sentences), "text": text, "pictures": list(readings)}


SOLD = seen("42 were sold in the second quarter.", read("Q2 42", region=[0.1, 0.2, 0.5, 0.6]))


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_picture_reading_is_marked(
    protocol: Protocol, serve: Serve, library: CollectionLibrary, drawn: Drawn
) -> None:
    model = Model(SOLD)
    bench = Bench(Reader, serve(model, protocol, sees=True), library)
    found = (await bench.run(make_context(), INPUTS)).findings[0].synthesis

    assert model.asked[-1].pictures == [make_png(104)]
    assert drawn.pages == [("report.pdf", 4)]
    [evidence] = found.evidence
    assert (evidence.name, evidence.pages, evidence.quote) == ("report.pdf", (4,), "Q2 42")
    assert evidence.picture == PictureSource(page=4, region=(0.1, 0.2, 0.5, 0.6))
    assert (evidence.start, evidence.end) == (20, 20)
    [claim] = found.claims
    assert (claim.stands, claim.pictured, claim.evidence) == (True, True, (1,))
    assert found.sufficient
    assert found.confidence == SHARE_RIGHT[Signal.PICTURED]
    assert found.reasoning == "A model read 1 claim in pictures of pages; no rule can verify that."
    [checked] = bench.of_type("claim_checked")
    assert (checked.method, checked.supported) == ("picture", True)
    assert "no rule can verify" in checked.reason


async def test_the_prompt_ends_with_the_list_of_pictures(serve: Serve, library: CollectionLibrary) -> None:
    model = Model(SOLD)
    await Bench(Reader, serve(model, sees=True), library).run(make_context(), INPUTS)
    text = model.asked[-1].messages[-1]["content"]
    before, introduced, after = text.partition("\n\nWith this message come pictures of pages, in this order:\n")
    assert introduced
    assert after.startswith("[P1] picture of report.pdf, page 4\n")
    plain = Model(seen("42."), short="")
    await Bench(Reader, serve(plain), library).run(make_context(), INPUTS)
    assert plain.asked[-1].messages[-1]["content"] == before, (
        "without image support, the prompt has no list of pictures"
    )
    assert "pictures" not in plain.asked[-1].messages[0]["content"]


async def test_vision_off_draws_and_sends_no_pictures(serve: Serve, library: CollectionLibrary, drawn: Drawn) -> None:
    model = Model()
    await Bench(Reader, serve(model, sees=True, vision="off"), library).run(make_context(), INPUTS)
    assert drawn.pages == []
    assert [request.pictures for request in model.asked] == [[]]


async def test_an_endpoint_is_not_asked_without_pictured_pages(
    serve: Serve, library: CollectionLibrary, drawn: Drawn
) -> None:
    model = Model(seen("It heats.", sentences=(1,)))
    inputs = {**INPUTS, "documents": ["manual.pdf"]}
    await Bench(Reader, serve(model, sees=True), library).run(make_context(), inputs)
    assert len(model.asked) == 1
    assert drawn.pages == []


@pytest.mark.parametrize(("words", "sent"), [(300, [("scan.pdf", 1)]), (301, [])])
async def test_a_scan_with_the_text_of_a_whole_page_needs_no_picture(words: int, sent: list[tuple[str, int]]) -> None:
    drawn = Drawn()
    scan = pictured("scan", "word " * words)
    pictures = await PagePictures.load([scan], [scan], 2, library_drawing(drawn), Seeing())  # type: ignore[arg-type]
    assert (drawn.pages, bool(pictures)) == (sent, bool(sent))


async def test_only_pages_of_the_best_passages_are_sent(
    serve: Serve, embedder: Embedder, tmp_path_factory: pytest.TempPathFactory, drawn: Drawn
) -> None:
    chunks = [pictured(f"report{at}", f"Sales of the Borea 12 {'and the Vento ' * at}by quarter.") for at in range(6)]
    with library_of(chunks, embedder, tmp_path_factory.mktemp("six")) as opened:
        settings = ResearchSettings(pictures_per_call=8)
        bench = Bench(Reader, serve(Model(), sees=True), replace(opened, draw=drawn), settings)
        update = await bench.run(make_context(), INPUTS)
    best = [next(chunk.name for chunk in chunks if chunk.id == each) for each in update.ranking[:3]]
    assert drawn.pages == [(name, 1) for name in best]
    assert len(update.chunks) == len(chunks)


async def test_the_number_of_pictures_per_call_is_limited(
    serve: Serve, library: CollectionLibrary, drawn: Drawn
) -> None:
    model = Model()
    none = ResearchSettings(pictures_per_call=0)
    await Bench(Reader, serve(model, sees=True), library, none).run(make_context(), INPUTS)
    assert drawn.pages == []


def test_the_default_number_of_pictures_depends_on_the_context_window() -> None:
    windows = (4_096, 16_384, 1_000_000)
    assert [ResearchSettings().for_window(window, window // 2).pictures_per_call for window in windows] == [1, 2, 4]
    assert ResearchSettings(pictures_per_call=3).for_window(4_096, 3_072).pictures_per_call == 3


async def test_a_claim_must_agree_with_the_words_read(serve: Serve, library: CollectionLibrary) -> None:
    model = Model(seen("58 were sold in the second quarter.", read("Q2 42")), short="58")
    found = (await Bench(Reader, serve(model, sees=True), library).run(make_context(), INPUTS)).findings[0].synthesis
    assert (found.sufficient, found.claims[0].supported, found.claims[0].pictured) == (False, False, False)


async def test_a_claim_that_a_sentence_also_supports_is_verified(serve: Serve, library: CollectionLibrary) -> None:
    model = Model(seen("The warranty is seven years.", read("7 years"), sentences=(2,)), short="seven years")
    found = (await Bench(Reader, serve(model, sees=True), library).run(make_context(), INPUTS)).findings[0].synthesis
    assert (found.claims[0].supported, found.claims[0].pictured) == (True, False)
    assert [item.quote for item in found.evidence] == ["Its warranty is seven years.", "7 years"]


async def test_two_readings_of_one_page_are_two_pieces_of_evidence(serve: Serve, library: CollectionLibrary) -> None:
    model = Model(SOLD, seen("30 were sold in the first.", read("Q1 30")))
    found = (await Bench(Reader, serve(model, sees=True), library).run(make_context(), INPUTS)).findings[0].synthesis
    assert [claim.evidence for claim in found.claims] == [(1,), (2,)]
    assert [item.quote for item in found.evidence] == ["Q2 42", "Q1 30"]


async def test_invalid_pictures_and_regions_are_dropped_with_an_event(serve: Serve, library: CollectionLibrary) -> None:
    model = Model(seen("42 were sold in the second quarter.", read("Q2 42", region=[40, 50, 90, 80]), read("42", 7)))
    bench = Bench(Reader, serve(model, sees=True), library)
    [evidence] = (await bench.run(make_context(), INPUTS)).findings[0].synthesis.evidence
    assert evidence.picture == PictureSource(page=4)
    assert [event.reason for event in bench.of_type("evidence_rejected")] == ["There is no picture P7; 1 were shown."]
    assert bench.of_type("response_repaired")[0].repairs == (
        "the region [40.0, 50.0, 90.0, 80.0] of picture P1 is none; it was left out",
    )


async def test_a_draft_claim_is_also_marked(serve: Serve, library: CollectionLibrary) -> None:
    bench = Bench(Reader, serve(Model(SOLD), sees=True), library)
    await bench.run(make_context(), INPUTS, streams_claims=True)
    [drafted] = bench.of_type("claim_drafted")
    assert (drafted.claim.stands, drafted.claim.pictured) == (True, True)
    assert drafted.evidence[0].picture.page == 4


async def test_a_page_that_cannot_be_drawn_is_an_error(serve: Serve, opened: CollectionLibrary) -> None:
    with pytest.raises(PictureUnavailable, match=r"Page 4 of 'report\.pdf' cannot be drawn"):
        await Bench(Reader, serve(Model(SOLD), sees=True), opened).run(make_context(), INPUTS)
