"""Several answers to one question, and the one they agree on.

    synthesis = await agree(question, candidates, llm, publish, retries=2)

Equal answers are put together, by value where they have one and by a model's judgement where they do not; votes are
weighed; the answer taken says in its confidence how many agreed with it. What happened is told as the event ``Voted``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from statistics import fmean
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model

from multi_agent.answer import Status, status_of
from multi_agent.bus import Publish
from multi_agent.context import Synthesis
from multi_agent.errors import InvalidResponse
from multi_agent.events import Voted, VoteGroup
from multi_agent.grounding.equality import are_distinct, parse_value
from multi_agent.llm.llm import LLM
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from vectorstore.models import FrozenModel

Groups = tuple[tuple[int, ...], ...]
"""Positions of candidates, each in one group."""
INSUFFICIENT = "no sufficient answer"


class Candidate(FrozenModel):
    """An answer, and whose it is."""

    voter: str
    weight: float | None = Field(description="of the voter's word; None if it has none")
    synthesis: Synthesis

    @property
    def answers(self) -> bool:
        """Whether it is an answer, and not an account of why there is none."""
        return status_of(self.synthesis) is Status.ANSWERED

    @property
    def words(self) -> str:
        """The answer in short if it has a short form, in full otherwise."""
        return self.synthesis.short.strip() or self.in_full

    @property
    def in_full(self) -> str:
        """All its claims, without the numbers of the evidence, which are its own."""
        return " ".join(claim.text.strip() for claim in self.synthesis.claims)

    @cached_property
    def support(self) -> frozenset[tuple[str, int, int]]:
        """Where the quotes stand that its claims rest on, directly or through a computation."""
        synthesis = self.synthesis
        cited = {number for claim in synthesis.claims for number in claim.evidence}
        used = {number for claim in synthesis.claims for number in claim.computations}
        computed = chain.from_iterable(each.evidence for each in synthesis.computations if each.number in used)
        return frozenset(
            item.place for item in chain((each for each in synthesis.evidence if each.number in cited), computed)
        )


class Consensus(NamedTuple):
    """How a vote ended."""

    groups: Groups
    """The group that won comes first."""
    weights: tuple[float, ...]
    chosen: int
    """Position of the candidate whose answer is taken."""
    share: float
    method: Literal["weighted", "majority"]
    tie: str
    """How a tie was broken; empty if there was none."""


async def agree(question: str, candidates: Sequence[Candidate], llm: LLM, publish: Publish, retries: int) -> Synthesis:
    """The answer that the candidates agree on, most of them at least. A single one is returned as it is.

    The model is asked only if answers differ that may mean the same. Raises LLMError; InvalidResponse if the model's
    groups have faults after they were given back ``retries`` times.
    """
    if len(candidates) == 1:
        return candidates[0].synthesis
    groups = group_by_value(candidates)
    open_groups = _open_groups(candidates, groups)
    if open_groups:
        settled = tuple(group for group in groups if group not in open_groups)
        groups = (*settled, *await _group_by_meaning(question, candidates, open_groups, llm, retries))
    consensus = count_votes(candidates, groups)
    await publish(_told(candidates, consensus))
    return _agreed(candidates, consensus)


# Which answers are the same


def group_by_value(candidates: Sequence[Candidate]) -> Groups:
    """Candidates with equal answers together; all that found no answer are a group, whatever they say instead."""
    groups: dict[object, list[int]] = {}
    for position, candidate in enumerate(candidates):
        value = parse_value(candidate.words) if candidate.answers else INSUFFICIENT
        groups.setdefault(value, []).append(position)
    return tuple(tuple(group) for group in groups.values())


def _open_groups(candidates: Sequence[Candidate], groups: Groups) -> Groups:
    """The groups that may mean the same though their values differ."""
    answering = tuple(group for group in groups if candidates[group[0]].answers)
    values = [parse_value(candidates[group[0]].words) for group in answering]
    return () if len(answering) < 2 or are_distinct(values) else answering


async def _group_by_meaning(
    question: str, candidates: Sequence[Candidate], groups: Groups, llm: LLM, retries: int
) -> Groups:
    """The groups, with those together that mean the same to the model.

    It is shown them in the order of their words: who answered first depends on the hour, and the prompt must not.
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
        f"The model {llm.model!r} did not say which of {len(groups)} answers are the same, in {retries + 1} attempts. "
        f"Faults of the last one: {' '.join(faults)} Try a more capable model, or take no vote."
    )


def _shown(candidate: Candidate) -> str:
    short = candidate.synthesis.short.strip()
    return f"{short} (in full: {candidate.in_full})" if short and candidate.in_full else candidate.words


def grouping_model(answers: int) -> type[BaseModel]:
    """The model's response where answers are numbered up to ``answers``: groups can name no other."""
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
    doubled = sorted({number for number in named if named.count(number) > 1})
    lacking = sorted(set(range(1, answers + 1)) - set(named))
    return [f"Answer {number} stands in a group more than once." for number in doubled] + [
        f"Answer {number} stands in no group." for number in lacking
    ]


# What they agree on


def count_votes(candidates: Sequence[Candidate], groups: Groups) -> Consensus:
    """Weigh the groups. If a voter has no weight, or none has any, each counts as one.

    A tie goes to the group with more distinct quotes behind it, then to the one that was there first.
    """
    given = [candidate.weight for candidate in candidates]
    weighted = None not in given and any(given)
    # Fractions, because sums of floats depend on their order.
    weights = [Fraction(str(weight)) if weighted else Fraction(1) for weight in given]
    totals = {group: sum((weights[position] for position in group), Fraction()) for group in groups}
    support = {group: _support(candidates, group) for group in groups}
    ranked = tuple(sorted(groups, key=lambda group: (-totals[group], -support[group], min(group))))
    return Consensus(
        groups=ranked,
        weights=tuple(float(totals[group]) for group in ranked),
        chosen=_best(candidates, ranked[0]),
        share=float(totals[ranked[0]] / sum(totals.values())),
        method="weighted" if weighted else "majority",
        tie=_tie([support[group] for group in ranked if totals[group] == totals[ranked[0]]]),
    )


def _support(candidates: Sequence[Candidate], group: Iterable[int]) -> int:
    return len(frozenset().union(*(candidates[position].support for position in group)))


def _best(candidates: Sequence[Candidate], group: Iterable[int]) -> int:
    """Of answers that are the same: the best supported, then the most confident, then the first."""
    return min(group, key=lambda at: (-len(candidates[at].support), -candidates[at].synthesis.confidence, at))


def _tie(support: Sequence[int]) -> str:
    """How a tie was broken between groups of equal weight with this many quotes, the one that was taken first."""
    if len(support) < 2:
        return ""
    first, second = support[:2]
    if first > second:
        return f"evidence: {first} against {second} quotes"
    return "order: equal weight and evidence"


def _told(candidates: Sequence[Candidate], consensus: Consensus) -> Voted:
    groups = tuple(
        VoteGroup(
            answer=_in_short(candidates[_best(candidates, group)]),
            voters=tuple(candidates[position].voter for position in group),
            weight=weight,
        )
        for group, weight in zip(consensus.groups, consensus.weights, strict=True)
    )
    return Voted(groups=groups, share=consensus.share, method=consensus.method, tie=consensus.tie)


def _in_short(candidate: Candidate) -> str:
    return candidate.words if candidate.answers else INSUFFICIENT


def _agreed(candidates: Sequence[Candidate], consensus: Consensus) -> Synthesis:
    stated = fmean(candidates[position].synthesis.confidence for position in consensus.groups[0])
    chosen = candidates[consensus.chosen].synthesis
    return chosen.model_copy(update={"confidence": stated * consensus.share})
