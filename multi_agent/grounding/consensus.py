"""Chooses one of several answers to a question by a vote.

    synthesis = await agree(question, candidates, llm, publish, retries=2)

Answers are grouped by value. If values cannot decide, a model groups them by meaning. Votes are weighted. The
confidence of the chosen answer is scaled by its share of the votes. The result is published as the event ``Voted``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from statistics import fmean
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model

from base.counts import count
from base.models import FrozenModel
from multi_agent.errors import InvalidResponse
from multi_agent.grounding.equality import are_distinct, parse_value
from multi_agent.model import LLM
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.values.answer import Status, VoteGroup, status_of
from multi_agent.values.bus import Publish
from multi_agent.values.context import Place, Synthesis
from multi_agent.values.events import Voted

Groups = tuple[tuple[int, ...], ...]
"""Groups of candidate positions. Each candidate is in one group."""
INSUFFICIENT = "no sufficient answer"


class Candidate(FrozenModel):
    """An answer and its voter."""

    voter: str
    weight: float | None = Field(description="weight of the vote; None if the voter has none")
    synthesis: Synthesis

    @property
    def answers(self) -> bool:
        """Whether the question is answered."""
        return status_of(self.synthesis) is Status.ANSWERED

    @property
    def words(self) -> str:
        """The short form of the answer, or the full answer if it has none."""
        return self.synthesis.short.strip() or self.in_full

    @property
    def in_full(self) -> str:
        """All claims, without their evidence numbers."""
        return " ".join(claim.text.strip() for claim in self.synthesis.claims)

    @cached_property
    def support(self) -> frozenset[Place]:
        """Places of the quotes that support the claims, directly or through a computation."""
        return frozenset(item.place for item in self.synthesis.cited)


class Consensus(NamedTuple):
    """The result of a vote."""

    groups: Groups
    """The winning group is first."""
    weights: tuple[float, ...]
    chosen: int
    """Position of the chosen candidate."""
    share: float
    method: Literal["weighted", "majority"]
    tie: str
    """How a tie was broken; empty without a tie."""


async def agree(question: str, candidates: Sequence[Candidate], llm: LLM, publish: Publish, retries: int) -> Synthesis:
    """Return the answer of the winning group. A single candidate wins without a vote.

    The model is called only if answers with different values may mean the same. Raises LLMError, or InvalidResponse if
    the model's groups are still invalid after ``retries`` retries.
    """
    if len(candidates) == 1:
        return candidates[0].synthesis
    groups = group_by_value(candidates)
    undecided = _undecided_groups(candidates, groups)
    if undecided:
        decided = tuple(group for group in groups if group not in undecided)
        groups = (*decided, *await _group_by_meaning(question, candidates, undecided, llm, retries))
    consensus = count_votes(candidates, groups)
    await publish(_voted_event(candidates, consensus))
    return _agreed_synthesis(candidates, consensus)


# Grouping


def group_by_value(candidates: Sequence[Candidate]) -> Groups:
    """Group candidates with equal values. All candidates without an answer form one group."""
    groups: dict[object, list[int]] = {}
    for position, candidate in enumerate(candidates):
        value = parse_value(candidate.words) if candidate.answers else INSUFFICIENT
        groups.setdefault(value, []).append(position)
    return tuple(tuple(group) for group in groups.values())


def _undecided_groups(candidates: Sequence[Candidate], groups: Groups) -> Groups:
    """Return the groups that may mean the same although their values differ."""
    answering = tuple(group for group in groups if candidates[group[0]].answers)
    values = [parse_value(candidates[group[0]].words) for group in answering]
    return () if len(answering) < 2 or are_distinct(values) else answering


async def _group_by_meaning(
    question: str, candidates: Sequence[Candidate], groups: Groups, llm: LLM, retries: int
) -> Groups:
    """Merge the groups that mean the same according to the model.

    The prompt lists the answers in alphabetical order, so that it does not depend on the order in which they arrived.
    """
    prompt = Prompt.shipped("consensus")
    shown = sorted((min(_shown(candidates[position]) for position in group), group) for group in groups)
    answers = "\n".join(f"{number}. {words}" for number, (words, _) in enumerate(shown, 1))
    messages = prompt.render(question=question, answers=answers)
    for _ in range(retries + 1):
        response: Any = (await llm.complete(messages, grouping_model(len(groups)))).value
        faults = _grouping_faults(response.groups, len(groups))
        if not faults:
            return tuple(
                tuple(sorted(chain.from_iterable(shown[number - 1][1] for number in same))) for same in response.groups
            )
        messages += prompt.again(response.model_dump_json(), faults=bullets(faults))
    raise InvalidResponse(
        f"The model {llm.model!r} did not say which of {len(groups)} answers are the same, in "
        f"{count(retries + 1, 'attempt')}. Faults of the last one: {' '.join(faults)} Try a more capable model, or ask "
        "without a vote."
    )


def _shown(candidate: Candidate) -> str:
    short = candidate.synthesis.short.strip()
    return f"{short} (in full: {candidate.in_full})" if short and candidate.in_full else candidate.words


def grouping_model(answers: int) -> type[BaseModel]:
    """Return the response type for grouping ``answers`` numbered answers."""
    number: Any = Annotated[int, Field(ge=1, le=answers)]
    group: Any = Annotated[list[number], Field(min_length=1)]
    return create_model(
        "Grouping",
        __config__=ConfigDict(extra="forbid"),
        reasoning=(str, Field(description="what the answers have in common and where they differ, in a few words")),
        groups=(list[group], Field(min_length=1, description="the numbers of the answers, same answers together")),
    )


def _grouping_faults(groups: Sequence[Sequence[int]], answers: int) -> list[str]:
    named = list(chain.from_iterable(groups))
    duplicates = sorted({number for number in named if named.count(number) > 1})
    missing = sorted(set(range(1, answers + 1)) - set(named))
    return [f"Answer {number} stands in a group more than once." for number in duplicates] + [
        f"Answer {number} stands in no group." for number in missing
    ]


# Voting


def count_votes(candidates: Sequence[Candidate], groups: Groups) -> Consensus:
    """Count the weighted votes. If a voter has no weight, or all weights are 0, every vote counts as 1.

    A tie goes to the group with more distinct quotes, then to the first group. Among different agents, those without an
    answer abstain if another agent has one, so that they cannot outvote a verified answer.
    """
    given = [candidate.weight for candidate in candidates]
    weighted = None not in given and any(given)
    # Fractions, because sums of floats depend on their order.
    weights = [Fraction(str(weight)) if weighted else Fraction(1) for weight in given]
    totals = {group: sum((weights[position] for position in group), Fraction()) for group in groups}
    support = {group: len(frozenset().union(*(candidates[each].support for each in group))) for group in groups}
    answering = {group for group in groups if candidates[group[0]].answers}
    differ = len({candidate.voter for candidate in candidates}) > 1
    counted = answering if differ and answering else {*groups}
    ranked = tuple(
        sorted(groups, key=lambda group: (group not in counted, -totals[group], -support[group], min(group)))
    )
    tied = [group for group in ranked if group in counted and totals[group] == totals[ranked[0]]]
    return Consensus(
        groups=ranked,
        weights=tuple(float(totals[group]) for group in ranked),
        chosen=_best(candidates, ranked[0]),
        share=float(totals[ranked[0]] / sum(totals[group] for group in counted)),
        method="weighted" if weighted else "majority",
        tie=_tie([support[group] for group in tied]),
    )


def _best(candidates: Sequence[Candidate], group: Iterable[int]) -> int:
    """Return the position with the most quotes in a group, then the highest confidence, then the first."""
    return min(group, key=lambda at: (-len(candidates[at].support), -candidates[at].synthesis.confidence, at))


def _tie(support: Sequence[int]) -> str:
    """Describe how a tie was broken. ``support`` is the number of quotes of each tied group, the winner's first."""
    if len(support) < 2:
        return ""
    first, second = support[:2]
    if first > second:
        return f"evidence: {first} against {second} quotes"
    return "order: equal weight and evidence"


def _voted_event(candidates: Sequence[Candidate], consensus: Consensus) -> Voted:
    groups = tuple(
        VoteGroup(
            answer=best.words if (best := candidates[_best(candidates, group)]).answers else INSUFFICIENT,
            voters=tuple(candidates[position].voter for position in group),
            weight=weight,
        )
        for group, weight in zip(consensus.groups, consensus.weights, strict=True)
    )
    return Voted(groups=groups, share=consensus.share, method=consensus.method, tie=consensus.tie)


def _agreed_synthesis(candidates: Sequence[Candidate], consensus: Consensus) -> Synthesis:
    stated = fmean(candidates[position].synthesis.confidence for position in consensus.groups[0])
    chosen = candidates[consensus.chosen].synthesis
    return chosen.model_copy(update={"confidence": stated * consensus.share})
