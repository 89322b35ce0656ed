"""Picture evidence in later steps: the evidence and its claims stay marked."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from multi_agent.agents.synthesizer import Synthesizer
from multi_agent.grounding.citations import cite
from multi_agent.grounding.confidence import SHARE_RIGHT, Signal
from multi_agent.grounding.pictures import PagePictures, PictureReading, ShownPicture
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Picture
from multi_agent.prompts.show_passages import number_units
from multi_agent.values.answer import known_so_far
from multi_agent.values.context import Claim, Evidence, Finding, PictureSource, ResearchContext
from multi_agent.values.context_merge import number_evidence
from support.chunks import make_chunk
from support.kits import Bench, make_context
from support.panel import synthesis
from support.replies import Request
from vectorstore.models import DESCRIBED_PAGE, PageSpan

TEXT = "The report has a chart.\nIts warranty is seven years."
CHUNK = make_chunk(TEXT, document="/docs/report.pdf", page_spans=(PageSpan(number=4, start=0, end=len(TEXT)),))


def read_in_picture(words: str) -> Evidence:
    """Return evidence with words that a model read in the picture of page 4."""
    quote = cite([1], number_units([CHUNK])).evidence[0]
    return quote.model_copy(update={"quote": words, "start": 0, "end": 0, "picture": PictureSource(page=4)})


def known() -> ResearchContext:
    evidence = number_evidence([read_in_picture("Q2 42"), *cite([2], number_units([CHUNK])).evidence])
    return make_context("What is in the report?", chunks=(CHUNK,), evidence=evidence)


async def test_the_synthesizer_prompt_and_claims_mark_picture_evidence(serve: Callable[..., EndpointSettings]) -> None:
    asked: list[Request] = []
    claims = [
        {"text": "42 were sold in the second quarter, Q2.", "evidence": [1]},
        {"text": "The warranty is seven years.", "evidence": [2]},
        {"text": "Seven years, and 42 in Q2.", "evidence": [1, 2]},
    ]

    def write(request: Request) -> str:
        asked.append(request)
        return json.dumps(synthesis(claims, sufficient=True))

    bench = Bench(Synthesizer, serve(write))
    await bench.run(known(), streams_claims=True)
    assert "[1] report.pdf, page 4 (read from the picture of page 4, not verified): Q2 42" in asked[0].prompt
    assert "[2] report.pdf, page 4: Its warranty is seven years." in asked[0].prompt
    answer = bench.context.synthesis
    assert answer is not None
    assert [(claim.stands, claim.pictured) for claim in answer.claims] == [(True, True), (True, False), (True, True)]
    assert [drafted.claim.pictured for drafted in bench.of_type("claim_drafted")] == [True, False, True]
    assert answer.confidence == SHARE_RIGHT[Signal.PICTURED]


async def test_an_earlier_step_does_not_confirm_a_reading(serve: Callable[..., EndpointSettings]) -> None:
    text = "Seven years, and 42 in Q2."
    finding = known_so_far(known(), "").model_copy(
        update={"claims": (Claim(text=text, evidence=(1,), supported=True, pictured=True),)}
    )
    context = known().model_copy(update={"findings": (Finding(step="read", question="What?", synthesis=finding),)})
    answer = json.dumps(synthesis([{"text": text, "evidence": [1, 2]}], sufficient=True))
    bench = Bench(Synthesizer, serve(lambda _: answer))
    await bench.run(context)
    assert bench.context.synthesis is not None
    assert [claim.pictured for claim in bench.context.synthesis.claims] == [True]


@pytest.mark.parametrize(
    ("region", "kept"),
    [
        ([0.0, 0.0, 1.0, 1.0], True),
        ([0.1, 0.2, 0.5, 0.6], True),
        ([0.1, 0.2, 1.01, 0.6], False),  # beyond the page
        ([0.1, 0.2, 0.5, 1.01], False),
        ([-0.1, 0.2, 0.5, 0.6], False),
        ([0.1, -0.2, 0.5, 0.6], False),
        ([0.5, 0.2, 0.5, 0.6], False),  # empty
        ([0.1, 0.6, 0.5, 0.6], False),
        ([0.1, 0.2, 0.5], False),
    ],
)
def test_only_a_region_on_the_page_of_a_shown_picture_is_kept(region: list[float], kept: bool) -> None:
    pictures = PagePictures([ShownPicture(CHUNK, 4, Picture(sha256="", size=1, width=1, height=1))])
    readings = [PictureReading(picture=number, words=" Q2 42 ", region=region) for number in (0, 1, 2)]
    [item] = pictures.evidence(readings)
    assert (item.quote, item.picture) == ("Q2 42", PictureSource(page=4, region=tuple(region) if kept else None))


def test_readings_of_one_page_are_distinguished_by_their_words() -> None:
    numbered = number_evidence([read_in_picture("Q2 42"), read_in_picture("Q1 30"), read_in_picture("Q2 42")])
    assert [(item.number, item.quote) for item in numbered] == [(1, "Q2 42"), (2, "Q1 30")]


def test_claims_of_a_run_that_ends_early_are_marked() -> None:
    assert [claim.pictured for claim in known_so_far(known(), "The budget is used up.").claims] == [True, False]


def test_a_quote_from_a_description_counts_as_picture_evidence() -> None:
    described = CHUNK.model_copy(update={"metadata": {DESCRIBED_PAGE: 4}})
    [quote] = cite([2], number_units([described])).evidence
    assert (quote.quote, quote.picture) == ("Its warranty is seven years.", PictureSource(page=4))
    assert (quote.start, quote.end) == (24, 52), "the offsets point into the indexed description"
