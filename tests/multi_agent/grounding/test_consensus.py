"""Votes on several answers to one question: the grouping of equal answers, the choice and the reported result."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multi_agent.errors import InvalidResponse
from multi_agent.grounding.consensus import INSUFFICIENT, Candidate, agree, count_votes, group_by_value
from multi_agent.llm.models import build_llm
from multi_agent.values.context import Claim, Computation, Evidence, Synthesis
from multi_agent.values.events import Body, Voted
from support.replies import Request, always, in_turn
from support.scripted_endpoint import ScriptedEndpoint

QUESTION = "How many heat pumps were delivered?"


def quote(at: int, number: int = 1) -> Evidence:
    """Return a quote at offset ``at``."""
    return Evidence(
        number=number,
        document="/docs/report.pdf",
        document_id="report",
        name="report.pdf",
        chunk_id="c",
        start=at,
        end=at + 5,
        quote="9,412",
    )


def candidate(
    short: str,
    voter: str = "Synthesizer",
    weight: float | None = 1.0,
    *,
    quotes: Sequence[int] = (0,),
    confidence: float = 0.9,
    text: str = "",
    sufficient: bool = True,
) -> Candidate:
    """Return an answer with quotes at these offsets."""
    evidence = tuple(quote(at, number) for number, at in enumerate(quotes, 1))
    claim = Claim(text=text or short, evidence=tuple(item.number for item in evidence), supported=True)
    synthesis = Synthesis(
        claims=(claim,),
        short=short,
        evidence=evidence,
        layout="prose",
        sufficient=sufficient,
        confidence=confidence,
        reasoning="It follows.",
        looked_for=(),
        found="",
        missing=(),
    )
    return Candidate(voter=voter, weight=weight, synthesis=synthesis)


class Ballot:
    """A vote with a scripted model. ``published`` has the vote events, ``requests`` the model requests."""

    def __init__(self, endpoint: ScriptedEndpoint, retries: int = 1) -> None:
        self._llm = build_llm(endpoint.settings("ollama"))
        self._retries = retries
        self.published: list[Voted] = []
        self.requests: list[Request] = endpoint.requests

    async def __call__(self, *candidates: Candidate) -> Synthesis:
        return await agree(QUESTION, candidates, self._llm, self._publish, self._retries)

    async def _publish(self, body: Body) -> None:
        assert isinstance(body, Voted)
        self.published.append(body)


def grouping(*groups: Sequence[int]) -> str:
    """Return the model's response with these groups."""
    return json.dumps({"reasoning": "Compared.", "groups": groups})


def by_number(*same: Sequence[str]) -> Callable[[Request], str]:
    """Return a model that looks up the numbers of these answers in its prompt and groups them accordingly."""

    def respond(request: Request) -> str:
        lines = [line.partition(". ") for line in request.messages[1]["content"].splitlines() if line[:1].isdigit()]
        numbers = {words.partition(" (in full")[0]: int(number) for number, _, words in lines}
        return grouping(*([numbers[words] for words in group] for group in same))

    return respond


async def test_a_single_answer_is_returned_as_it_is() -> None:
    only = candidate("9412")
    with ScriptedEndpoint(always("never asked")) as endpoint:
        vote = Ballot(endpoint)
        assert await vote(only) is only.synthesis
    assert (vote.published, vote.requests) == ([], [])


async def test_two_agents_that_disagree_are_weighed() -> None:
    with ScriptedEndpoint(always("never asked")) as endpoint:
        vote = Ballot(endpoint)
        taken = await vote(candidate("9640", "Reader", 1.0), candidate("9412", "Synthesizer", 3.0, confidence=0.8))
    assert (taken.short, taken.confidence) == ("9412", pytest.approx(0.8 * 0.75))
    (told,) = vote.published
    assert [(group.answer, group.voters, group.weight) for group in told.groups] == [
        ("9412", ("Synthesizer",), 3.0),
        ("9640", ("Reader",), 1.0),
    ]
    assert (told.share, told.method, told.tie) == (0.75, "weighted", "")
    assert vote.requests == [], "numbers in one unit differ by value: there is nothing to ask"


async def test_answers_equal_by_value_are_grouped_without_a_model() -> None:
    answers = [candidate("12 %", confidence=0.9), candidate("12%", confidence=0.5), candidate("13 %")]
    with ScriptedEndpoint(always("never asked")) as endpoint:
        vote = Ballot(endpoint)
        taken = await vote(*answers)
    assert vote.requests == []
    assert (taken.short, taken.confidence) == ("12 %", pytest.approx(0.7 * 2 / 3))


async def test_one_model_call_compares_differently_worded_answers() -> None:
    answers = [candidate("four"), candidate("4", text="Deliveries fell in 4 countries."), candidate("five")]
    with ScriptedEndpoint(by_number(["four", "4"], ["five"])) as endpoint:
        vote = Ballot(endpoint)
        taken = await vote(*answers)
    assert taken.short == "four"
    assert vote.published[0].share == pytest.approx(2 / 3)
    (request,) = vote.requests
    asked = request.messages[1]["content"]
    assert QUESTION in asked
    assert "1. 4 (in full: Deliveries fell in 4 countries.)\n2. five" in asked
    assert request.schema
    assert request.schema["properties"]["groups"]["items"]["items"]["maximum"] == 3


async def test_the_prompt_does_not_depend_on_the_order_of_answers() -> None:
    answers = [candidate("four"), candidate("4"), candidate("4 in all"), candidate("IV")]
    with ScriptedEndpoint(by_number(["four", "4", "IV"], ["4 in all"])) as endpoint:
        vote = Ballot(endpoint)
        await vote(*answers)
        await vote(*reversed(answers))
    assert vote.requests[0].messages == vote.requests[1].messages


async def test_a_tie_goes_to_the_answer_with_more_quotes() -> None:
    with ScriptedEndpoint(always("never asked")) as endpoint:
        vote = Ballot(endpoint)
        taken = await vote(
            candidate("9640", quotes=(0,), confidence=1.0),
            candidate("9640", quotes=(0,), confidence=1.0),
            candidate("9412", quotes=(0, 10)),
            candidate("9412", quotes=(20,)),
        )
    assert taken.short == "9412"
    assert vote.published[0].tie == "evidence: 3 against 1 quotes"
    assert taken.confidence == pytest.approx(0.45)


async def test_a_tie_that_evidence_does_not_break_goes_to_the_first() -> None:
    with ScriptedEndpoint(always("never asked")) as endpoint:
        vote = Ballot(endpoint)
        taken = await vote(candidate("9640"), candidate("9412"))
    assert taken.short == "9640"
    assert vote.published[0].tie == "order: equal weight and evidence"


async def test_without_all_weights_the_majority_decides() -> None:
    with ScriptedEndpoint(always("never asked")) as endpoint:
        vote = Ballot(endpoint)
        taken = await vote(candidate("9640", "Expert", 9.0), candidate("9412", weight=None), candidate("9412"))
    assert taken.short == "9412"
    assert (vote.published[0].method, vote.published[0].share) == ("majority", pytest.approx(2 / 3))


async def test_candidates_without_an_answer_form_one_group() -> None:
    answers = [
        candidate("", text="Only the third quarter is stated.", sufficient=False, confidence=0.8),
        candidate("9412"),
        candidate("9,412", text="There is a preliminary count.", sufficient=False, confidence=0.6),
    ]
    with ScriptedEndpoint(always("never asked")) as endpoint:
        vote = Ballot(endpoint)
        taken = await vote(*answers)
    assert not taken.sufficient
    assert taken.confidence == pytest.approx(0.7 * 2 / 3)
    assert [group.answer for group in vote.published[0].groups] == ["no sufficient answer", "9412"]
    assert vote.requests == []


async def test_the_best_supported_then_most_confident_answer_is_chosen() -> None:
    with ScriptedEndpoint(always("never asked")) as endpoint:
        vote = Ballot(endpoint)
        by_evidence = await vote(candidate("9412", confidence=0.9), candidate("9412", quotes=(0, 10), confidence=0.1))
        by_confidence = await vote(
            candidate("9412", confidence=0.1, text="a"), candidate("9412", confidence=0.9, text="b")
        )
    assert len(by_evidence.evidence) == 2
    assert by_evidence.confidence == pytest.approx(0.5)
    assert by_confidence.claims[0].text == "b"


def test_quotes_of_a_computation_support_its_claim() -> None:
    plain = candidate("9412", quotes=(0,))
    computation = Computation(
        number=1, purpose="sum", sql="SELECT 1", columns=("n",), rows=((1,),), evidence=(quote(50), quote(60), quote(0))
    )
    claims = (plain.synthesis.claims[0].model_copy(update={"computations": (1,)}),)
    computed = plain.synthesis.model_copy(update={"claims": claims, "computations": (computation,)})
    assert len(Candidate(voter="Analyst", weight=1, synthesis=computed).support) == 3


async def test_invalid_groups_are_sent_back_to_the_model() -> None:
    with ScriptedEndpoint(in_turn(grouping([1], [1, 2]), grouping([1, 3], [2]))) as endpoint:
        vote = Ballot(endpoint)
        taken = await vote(candidate("a"), candidate("b"), candidate("c"))
    assert taken.short == "a"
    again = vote.requests[1].messages[-1]["content"]
    assert "Answer 1 stands in a group more than once." in again
    assert "Answer 3 stands in no group." in again


async def test_invalid_groups_raise_after_all_retries() -> None:
    with ScriptedEndpoint(always(grouping([1]))) as endpoint:
        vote = Ballot(endpoint, retries=2)
        with pytest.raises(InvalidResponse, match=r"3 attempts.*Answer 2 stands in no group"):
            await vote(candidate("a"), candidate("b"))
    assert len(vote.requests) == 3
    assert vote.published == []


async def test_the_model_cannot_name_unknown_answers() -> None:
    with ScriptedEndpoint(in_turn(grouping([1, 2, 3]), grouping([1, 2]))) as endpoint:
        vote = Ballot(endpoint)
        await vote(candidate("a"), candidate("b"))
    assert len(vote.requests) == 2
    assert vote.published[0].share == 1.0


_weights = st.one_of(st.none(), st.floats(0, 100, allow_nan=False))
_candidates = st.lists(
    st.builds(
        candidate,
        short=st.sampled_from(["1", "1.0", "2", "3 %", "3%", "Graz", "GRAZ ", "2025-03-17", "17 March 2025"]),
        weight=_weights,
        quotes=st.lists(st.integers(0, 5), unique=True, max_size=3),
        confidence=st.floats(0, 1),
        sufficient=st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@given(_candidates)
def test_every_candidate_stands_in_one_group(candidates: list[Candidate]) -> None:
    groups = group_by_value(candidates)
    assert sorted(position for group in groups for position in group) == list(range(len(candidates)))
    assert all(groups)


@given(_candidates)
def test_no_weight_is_lost(candidates: list[Candidate]) -> None:
    consensus = count_votes(candidates, group_by_value(candidates))
    weights = [candidate.weight for candidate in candidates]
    expected = sum(weights) if consensus.method == "weighted" else len(candidates)  # type: ignore[arg-type]
    assert sum(consensus.weights) == pytest.approx(expected)
    assert 0 < consensus.share <= 1
    assert consensus.chosen in consensus.groups[0]


@given(_candidates, st.randoms(use_true_random=False))
def test_order_matters_only_as_the_last_tie_breaker(candidates: list[Candidate], chance: random.Random) -> None:
    shuffled = chance.sample(candidates, len(candidates))
    first, second = (count_votes(each, group_by_value(each)) for each in (candidates, shuffled))
    assert (first.method, first.share, first.tie) == (second.method, second.share, second.tie)
    if not first.tie.startswith("order"):
        assert _members(candidates, first.groups[0]) == _members(shuffled, second.groups[0])


def _members(candidates: Sequence[Candidate], group: Sequence[int]) -> list[Any]:
    return sorted(candidates[position].model_dump_json() for position in group)


async def test_agents_without_an_answer_abstain_if_another_agent_has_one() -> None:
    with ScriptedEndpoint(always("never asked")) as endpoint:
        vote = Ballot(endpoint)
        unknowing = [candidate("", name, text="Nothing.", sufficient=False) for name in ("Reader", "WebResearcher")]
        chosen = await vote(*unknowing, candidate("397.8", "Utility", confidence=0.7))
    assert (chosen.short, chosen.confidence) == ("397.8", 0.7)
    [voted] = vote.published
    assert (voted.share, voted.tie) == (1.0, "")
    assert [(group.answer, group.weight) for group in voted.groups] == [("397.8", 1.0), (INSUFFICIENT, 2.0)]
