"""Draft claims are published one by one while the answer is written, and match the finished answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from api.services.research.library import CollectionLibrary
from multi_agent.agents.reader import Reader, ReaderAnswer
from multi_agent.agents.synthesizer import Synthesizer
from multi_agent.grounding import support
from multi_agent.grounding.draft_claims import CheckedClaim, draft_callback
from multi_agent.grounding.meaning import checking
from multi_agent.llm.settings import EndpointSettings
from multi_agent.values.context import Claim, Evidence
from multi_agent.values.events import Body
from multi_agent.values.evidence_events import ClaimDrafted, DraftWithdrawn
from multi_agent.values.tasks import TaskData
from support.chunks import make_chunk
from support.kits import Bench, library_of, make_context
from support.panel import synthesis
from support.replies import always, in_pieces
from vectorstore.embedding.embedder import Embedder

Serve = Callable[..., EndpointSettings]
TASK = TaskData(task_id="t", run_id="r", step="s", agent="Reader", instruction="Do it.", streams_claims=True)
HARD = 'It says {"claims": [{}]} \\ "]}" and ✓ {'


def claim(text: str, *sentences: int) -> dict[str, Any]:
    return {"sentences": sentences, "text": text}


ANSWER = synthesis([claim(HARD, 1, 5), claim("Two."), claim("Three.", 3)], sufficient=True, short="3")


def check(written: Any) -> CheckedClaim:
    return CheckedClaim(Claim(text=written.text, supported=bool(written.sentences)), ())


async def stream(*texts: str, task: TaskData = TASK) -> list[Body]:
    """Return the events published while these attempts at a response arrive character by character."""
    published: list[Body] = []

    async def publish(body: Body) -> None:
        published.append(body)

    on_text = draft_callback(task, "Reader", ReaderAnswer, check, publish)
    assert on_text
    for text in texts:
        for end in range(len(text) + 1):
            await on_text(text[:end])
    return published


def texts(events: Sequence[Body]) -> list[str]:
    return [body.claim.text for body in events if isinstance(body, ClaimDrafted)]


@pytest.mark.parametrize("indent", [None, 2])
async def test_each_claim_is_published_once(indent: int | None) -> None:
    events = await stream(json.dumps(ANSWER, indent=indent, ensure_ascii=False))
    assert texts(events) == [HARD, "Two.", "Three."]
    first = events[0]
    assert isinstance(first, ClaimDrafted)
    assert (first.layout, first.short, first.claim.supported) == ("prose", "", True), "they are written last"


async def test_a_claim_is_published_with_its_closing_brace() -> None:
    text = json.dumps(ANSWER)
    end = text.index('}, {"sentences": [], "text": "Two."') + len("}")
    assert texts(await stream(text[: end - 1])) == []
    assert texts(await stream(text[:end])) == [HARD]


async def test_claims_that_arrive_at_once_are_published_in_order() -> None:
    published: list[Body] = []

    async def publish(body: Body) -> None:
        published.append(body)

    on_text = draft_callback(TASK, "Reader", ReaderAnswer, check, publish)
    assert on_text
    await on_text("")
    await on_text(json.dumps(ANSWER))
    assert texts(published) == [HARD, "Two.", "Three."]


async def test_a_second_attempt_withdraws_the_claims_of_the_first() -> None:
    text = json.dumps(ANSWER)
    events = await stream(text[: text.index("Three.")], text)
    assert [type(body) for body in events] == [ClaimDrafted] * 2 + [DraftWithdrawn] + [ClaimDrafted] * 3
    assert events[2] == DraftWithdrawn(agent="Reader", claims=2)


async def test_an_attempt_without_claims_withdraws_nothing() -> None:
    assert [type(body) for body in await stream("{", "", json.dumps(ANSWER))] == [ClaimDrafted] * 3


@pytest.mark.parametrize(
    "text",
    [
        "I think {this} is [{hard}].",
        json.dumps({**ANSWER, "claims": [claim("")]}),
        json.dumps({**ANSWER, "claims": [claim("It is.", 1) | {"sure": True}]}),
        json.dumps([ANSWER]),
        '{"claims": "[{}"}',
        "[" * 10_000,
    ],
    ids=["prose", "an empty claim", "a field too many", "a list", "no list", "brackets"],
)
async def test_claims_of_an_invalid_response_are_not_published(text: str) -> None:
    assert await stream(text) == []


async def test_a_task_without_drafts_gets_no_callback() -> None:
    async def publish(_: Body) -> None:
        raise AssertionError

    assert (
        draft_callback(TASK.model_copy(update={"streams_claims": False}), "Reader", ReaderAnswer, check, publish)
        is None
    )


BOOK = "The pump is blue.\nIt weighs 12 kilograms.\nIt comes from Graz."
CHUNK = make_chunk(BOOK, document="/docs/pump.md")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[CollectionLibrary]:
    """A library of one document with one passage."""
    with library_of([CHUNK], embedder, tmp_path_factory.mktemp("books")) as library:
        yield library


class TestTheReader:
    @pytest.fixture
    def read(self, serve: Serve, books: CollectionLibrary) -> Callable[..., Any]:
        """Run the Reader with a model that answers with these claims."""

        async def read(*claims: dict[str, Any]) -> Bench:
            reply = in_pieces(json.dumps(synthesis(list(claims), sufficient=True)), 7)
            bench = Bench(Reader, serve(always(reply)), books)
            await bench.run(make_context(), {"question": "What is it?", "queries": []}, streams_claims=True)
            return bench

        return read

    async def test_publishes_claims_with_their_sentences(self, read: Callable[..., Any]) -> None:
        bench = await read(claim("It has 12 kilograms.", 2), claim("It is red.", 9), claim("A kind from Graz.", 3))
        heavy, red, graz = bench.of_type("claim_drafted")
        assert [(each.quote, each.document) for each in heavy.evidence] == [
            ("It weighs 12 kilograms.", "/docs/pump.md")
        ]
        assert (heavy.claim.supported, heavy.claim.evidence, heavy.dropped) == (True, (1,), ())
        assert (red.claim.supported, red.evidence, red.dropped) == (False, (), ("[9]",))
        assert BOOK[graz.evidence[0].start : graz.evidence[0].end] == "It comes from Graz."
        assert graz.claim.evidence == (2,), "evidence is numbered in order of arrival until the answer is complete"

    async def test_publishes_the_claims_of_the_finished_answer(self, read: Callable[..., Any]) -> None:
        bench = await read(claim("It is from Graz.", 3), claim("It is red.", 9), claim("Odd."))
        [finding] = bench.context.findings
        drafted = [(each.claim.text, each.claim.supported) for each in bench.of_type("claim_drafted")]
        assert drafted == [(each.text, each.supported) for each in finding.synthesis.claims]
        assert [each.quote for each in bench.of_type("evidence_rejected")] == ["[9]"], "published once"

    async def test_the_rules_read_each_claim_once_and_beside_the_event_loop(
        self, read: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """200 claims take the rules seconds, in which other runs, searches and cancels would wait."""
        compared: list[tuple[str, int]] = []

        def recorded(claim: str, *arguments: Any, **named: Any) -> Any:
            compared.append((claim, threading.get_ident()))
            return checking.check(claim, *arguments, **named)

        monkeypatch.setattr(support, "check", recorded)
        await read(claim("It has 12 kilograms.", 2), claim("It is from Graz.", 3))
        assert [text for text, _ in compared] == ["It has 12 kilograms.", "It is from Graz."]
        assert threading.get_ident() not in {thread for _, thread in compared}


async def test_the_synthesizer_publishes_claims_with_their_evidence(serve: Serve) -> None:
    places = {"document": "/docs/pump.md", "document_id": CHUNK.document_id, "name": "pump.md", "chunk_id": CHUNK.id}
    evidence = tuple(
        Evidence(number=number, start=at, end=at + 4, quote=BOOK[at : at + 4], **places)
        for number, at in enumerate((0, 4, 12), 1)
    )
    claims = [{"text": "The blue.", "evidence": [3, 1]}, {"text": "Two.", "evidence": []}]
    reply = in_pieces(json.dumps(synthesis(claims, sufficient=True)), 7)
    bench = Bench(Synthesizer, serve(always(reply)))
    await bench.run(make_context(chunks=(CHUNK,), evidence=evidence), streams_claims=True)
    one, two = bench.of_type("claim_drafted")
    assert bench.context.synthesis
    first, second = bench.context.synthesis.claims
    assert (first.evidence, one.claim) == ((1, 3), first.model_copy(update={"evidence": (1, 2)}))  # in reading order
    assert one.evidence == (evidence[0], evidence[2].model_copy(update={"number": 2}))
    assert (two.claim, two.claim.supported, two.evidence) == (second, False, ())
