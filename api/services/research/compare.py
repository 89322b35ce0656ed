"""Compares the plans, queries, passages, evidence, claims and costs of two runs, and finds their first difference."""

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from pydantic import Field

from api.auth.permissions import Caller
from api.services.research.runs import find_run
from base.models import FrozenModel
from multi_agent.errors import RunUnderWay
from multi_agent.grounding.quotes import fold
from multi_agent.model import Usage
from multi_agent.orchestrator.rerun.difference import Difference, first_difference
from multi_agent.storage.recording import last_try
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.answer import Answer
from multi_agent.values.context import Claim
from multi_agent.values.events import Event, PlanMade, PlanRevised
from multi_agent.values.evidence_events import Searched
from multi_agent.values.plan import Plan
from vectorstore.models import PrintedPages

T = TypeVar("T")


class Items(FrozenModel, Generic[T]):
    """The items that both runs have, and the items that only one of them has, in the order of the runs."""

    both: tuple[T, ...]
    lost: tuple[T, ...] = Field(description="only in the first run")
    won: tuple[T, ...] = Field(description="only in the second run")


class ComparedPassage(FrozenModel):
    """A passage that a search found."""

    name: str = Field(description="name of the document")
    pages: tuple[int, ...]
    printed_pages: PrintedPages = ""
    excerpt: str


class ComparedQuote(FrozenModel):
    """A quote that supports an answer."""

    document: str
    pages: tuple[int, ...]
    printed_pages: PrintedPages = ""
    quote: str


class ComparedClaim(FrozenModel):
    """A pair of matching claims of the first and the second run. Null for a claim without a match."""

    first: str | None
    second: str | None
    same_text: bool = Field(description="false if the claims match only by their evidence, or if there is no match")


class ComparedRun(FrozenModel):
    """One of the runs."""

    run: RunSummary
    answer: str
    plans: tuple[Plan, ...] = Field(description="the plan and its revisions")
    usage: Usage


class RunComparison(FrozenModel):
    """Two runs side by side."""

    first: ComparedRun
    second: ComparedRun
    difference: Difference | None = Field(description="the first event that differs; null if all are the same")
    same_plan: bool
    queries: Items[str]
    passages: Items[ComparedPassage]
    evidence: Items[ComparedQuote]
    claims: tuple[ComparedClaim, ...]


def compare_runs(trace: Trace, first: str, second: str, caller: Caller) -> RunComparison:
    """Compare two ended runs that the caller may read. Raises RunNotFound, RunUnderWay."""
    (mine, ours), (other, theirs) = (_load(trace, run_id, caller) for run_id in (first, second))
    before, after = trace.answer(mine.run_id), trace.answer(other.run_id)
    compared = [_compared_run(*each) for each in ((mine, before, ours), (other, after, theirs))]
    return RunComparison(
        first=compared[0],
        second=compared[1],
        difference=first_difference(ours, theirs),
        same_plan=compared[0].plans == compared[1].plans,
        queries=_items(_queries(ours), _queries(theirs)),
        passages=_items(_passages(ours), _passages(theirs)),
        evidence=_items(_evidence(before), _evidence(after)),
        claims=match_claims(before, after),
    )


def match_claims(first: Answer, second: Answer) -> tuple[ComparedClaim, ...]:
    """Match the claims of two answers. First match claims with the same words, then claims that share a quote."""
    left, right = list(first.claims), list(second.claims)
    pairs: list[tuple[Claim, Claim | None]] = []
    for claim in left:
        same = next((each for each in right if fold(each.text) == fold(claim.text)), None)
        pairs.append((claim, same))
        if same:
            right.remove(same)
    found: list[ComparedClaim] = []
    for claim, same in pairs:
        other = same or next((each for each in right if _quotes(claim, first) & _quotes(each, second)), None)
        if other and not same:
            right.remove(other)
        found.append(ComparedClaim(first=claim.text, second=other and other.text, same_text=same is not None))
    return (*found, *(ComparedClaim(first=None, second=claim.text, same_text=False) for claim in right))


def _load(trace: Trace, run_id: str, caller: Caller) -> tuple[RunSummary, list[Event]]:
    run = find_run(trace, run_id, caller)
    if not run.ended:
        raise RunUnderWay(f"Run {run.run_id!r} has not ended. Wait for its end, or cancel it, to compare it.")
    return run, last_try(trace.events(run.run_id))


def _compared_run(run: RunSummary, answer: Answer, events: Iterable[Event]) -> ComparedRun:
    plans = tuple(event.body.plan for event in events if isinstance(event.body, PlanMade | PlanRevised))
    return ComparedRun(run=run, answer=answer.answer or answer.reasoning, plans=plans, usage=answer.usage)


def _searches(events: Iterable[Event]) -> list[Searched]:
    return [event.body for event in events if isinstance(event.body, Searched)]


def _queries(events: Iterable[Event]) -> list[str]:
    return [query for search in _searches(events) for query in search.queries]


def _passages(events: Iterable[Event]) -> list[ComparedPassage]:
    return [
        ComparedPassage(**found.model_dump(include=set(ComparedPassage.model_fields)))
        for search in _searches(events)
        for found in search.passages
    ]


def _evidence(answer: Answer) -> list[ComparedQuote]:
    return [
        ComparedQuote(document=each.document, **each.model_dump(include={"pages", "printed_pages", "quote"}))
        for each in answer.evidence
    ]


def _quotes(claim: Claim, answer: Answer) -> set[tuple[str, str]]:
    """Return the evidence of the claim in a form that can be compared between two answers."""
    return {(each.document, fold(each.quote)) for each in answer.evidence if each.number in claim.evidence}


def _items(first: Sequence[T], second: Sequence[T]) -> Items[T]:
    """Compare two lists without their repetitions."""
    ours, theirs = dict.fromkeys(first), dict.fromkeys(second)
    return Items(
        both=tuple(each for each in ours if each in theirs),
        lost=tuple(each for each in ours if each not in theirs),
        won=tuple(each for each in theirs if each not in ours),
    )
