"""Claims are told one by one while the answer is written, each as it is in the finished answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from api.services.library import CollectionLibrary
from multi_agent.agents.reader import Reader, response_model
from multi_agent.agents.synthesizer import Synthesizer
from multi_agent.context import Claim, Evidence
from multi_agent.events import Body, ClaimDrafted, DraftWithdrawn
from multi_agent.grounding.draft_claims import Checked, telling
from multi_agent.llm.settings import EndpointSettings
from multi_agent.tasks import TaskData
from support.chunks import make_chunk
from support.kits import Bench, library_of, make_context
from support.panel import synthesis
from support.scripted_endpoint import always, in_pieces
from vectorstore.embedding.embedder import Embedder

Serve = Callable[..., EndpointSettings]
TASK = TaskData(task_id="t", run_id="r", step="s", agent="Reader", instruction="Do it.", streams_claims=True)
HARD = 'It says {"claims": [{}]} \\ "]}" and ✓ {'


def claim(text: str, *quotes: str) -> dict[str, Any]:
    return {"text": text, "quotes": [{"passage": 1, "quote": quote, "shows": "it"} for quote in quotes]}


ANSWER = synthesis([claim(HARD, "a", HARD), claim("Two."), claim("Three.", "c")], sufficient=True, short="3")


def check(written: Any) -> Checked:
    return Checked(Claim(text=written.text, supported=bool(written.quotes)), ())


async def told_of(*texts: str, task: TaskData = TASK) -> list[Body]:
    """What is told of a response, or of several tries of one, heard character by character."""
    published: list[Body] = []

    async def publish(body: Body) -> None:
        published.append(body)

    hear = telling(task, "Reader", response_model(5), check, publish)
    assert hear
    for text in texts:
        for end in range(len(text) + 1):
            await hear(text[:end])
    return published


def words(told: Sequence[Body]) -> list[str]:
    return [body.claim.text for body in told if isinstance(body, ClaimDrafted)]


@pytest.mark.parametrize("indent", [None, 2])
async def test_each_claim_is_told_once_with_how_the_answer_is_set(indent: int | None) -> None:
    told = await told_of(json.dumps(ANSWER, indent=indent, ensure_ascii=False))
    assert words(told) == [HARD, "Two.", "Three."]
    first = told[0]
    assert isinstance(first, ClaimDrafted)
    assert (first.layout, first.short, first.claim.supported) == ("prose", "3", True)


async def test_a_claim_is_told_with_its_last_brace_and_not_before() -> None:
    text = json.dumps(ANSWER)
    end = text.index('}]}, {"text": "Two."') + len("}]}")
    assert words(await told_of(text[: end - 1])) == []
    assert words(await told_of(text[:end])) == [HARD]


async def test_claims_that_come_all_at_once_are_told_in_order() -> None:
    published: list[Body] = []

    async def publish(body: Body) -> None:
        published.append(body)

    hear = telling(TASK, "Reader", response_model(5), check, publish)
    assert hear
    await hear("")
    await hear(json.dumps(ANSWER))
    assert words(published) == [HARD, "Two.", "Three."]


async def test_a_second_try_withdraws_the_claims_of_the_first() -> None:
    text = json.dumps(ANSWER)
    told = await told_of(text[:-8], text)
    assert [type(body) for body in told] == [ClaimDrafted] * 2 + [DraftWithdrawn] + [ClaimDrafted] * 3
    assert told[2] == DraftWithdrawn(agent="Reader", claims=2)


async def test_a_try_that_told_nothing_withdraws_nothing() -> None:
    assert [type(body) for body in await told_of("{", "", json.dumps(ANSWER))] == [ClaimDrafted] * 3


@pytest.mark.parametrize(
    "text",
    [
        "I think {this} is [{hard}].",
        json.dumps({**ANSWER, "claims": [{"text": "", "quotes": []}]}),
        json.dumps({**ANSWER, "claims": [claim("It is.", "a") | {"sure": True}]}),
        json.dumps({**ANSWER, "layout": "poem"}),
        json.dumps([ANSWER]),
        '{"claims": "[{}"}',
        "[" * 10_000,
    ],
    ids=["prose", "an empty claim", "a field too many", "an unknown layout", "a list", "no list", "brackets"],
)
async def test_what_will_not_be_accepted_is_not_told(text: str) -> None:
    assert await told_of(text) == []


async def test_a_claim_in_passing_is_told_only_when_its_task_is_done() -> None:
    async def publish(_: Body) -> None:
        raise AssertionError

    assert telling(TASK.model_copy(update={"told": False}), "Reader", response_model(5), check, publish) is None


BOOK = "The pump is blue.\nIt weighs 12 kg.\nIt comes from Graz."
CHUNK = make_chunk(BOOK, document="/docs/pump.md")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[CollectionLibrary]:
    """One document of one passage."""
    with library_of([CHUNK], embedder, tmp_path_factory.mktemp("books")) as library:
        yield library


class TestTheReader:
    @pytest.fixture
    def read(self, serve: Serve, books: CollectionLibrary) -> Callable[..., Any]:
        """Lets it answer with these claims."""

        async def read(*claims: dict[str, Any]) -> Bench:
            reply = in_pieces(json.dumps(synthesis(list(claims), sufficient=True)), 7)
            bench = Bench(Reader, serve(always(reply)), books)
            await bench.turn(make_context(), {"question": "What is it?", "queries": []}, streams_claims=True)
            return bench

        return read

    async def test_tells_the_quotes_that_stand_in_their_passages_and_those_that_do_not(
        self, read: Callable[..., Any]
    ) -> None:
        bench = await read(
            claim("Heavy.", "It weighs 12 kg."), claim("Red.", "The pump is red."), claim("Blue.", "pump is blue")
        )
        heavy, red, blue = bench.of_type("claim_drafted")
        assert [(each.quote, each.document) for each in heavy.evidence] == [("It weighs 12 kg.", "/docs/pump.md")]
        assert (heavy.claim.supported, heavy.claim.evidence, heavy.dropped) == (True, (1,), ())
        assert (red.claim.supported, red.evidence, red.dropped) == (False, (), ("The pump is red.",))
        assert BOOK[blue.evidence[0].start : blue.evidence[0].end] == "pump is blue"
        assert blue.claim.evidence == (2,), "the numbers of the answer are not known yet"

    async def test_tells_what_the_finished_answer_says(self, read: Callable[..., Any]) -> None:
        bench = await read(claim("Blue.", "pump is blue"), claim("Red.", "red"), claim("Odd."))
        [finding] = bench.context.findings
        drafted = [(each.claim.text, each.claim.supported) for each in bench.of_type("claim_drafted")]
        assert drafted == [(each.text, each.supported) for each in finding.synthesis.claims]
        assert [each.quote for each in bench.of_type("evidence_rejected")] == ["red"], "told once, as ever"


async def test_the_synthesizer_tells_its_claims_with_the_evidence_that_they_name(serve: Serve) -> None:
    places = {"document": "/docs/pump.md", "document_id": CHUNK.document_id, "name": "pump.md", "chunk_id": CHUNK.id}
    evidence = tuple(
        Evidence(number=number, start=at, end=at + 3, quote=BOOK[at : at + 3], **places)
        for number, at in enumerate((0, 4, 9), 1)
    )
    claims = [{"text": "One.", "evidence": [3, 1]}, {"text": "Two.", "evidence": []}]
    reply = in_pieces(json.dumps(synthesis(claims, sufficient=True)), 7)
    bench = Bench(Synthesizer, serve(always(reply)))
    await bench.turn(make_context(chunks=(CHUNK,), evidence=evidence), streams_claims=True)
    one, two = bench.of_type("claim_drafted")
    assert bench.context.synthesis
    assert (one.claim, two.claim) == bench.context.synthesis.claims
    assert one.evidence == (evidence[0], evidence[2])
    assert (two.claim.supported, two.evidence) == (False, ())
