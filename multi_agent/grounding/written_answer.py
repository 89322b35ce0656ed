"""The response of an agent that writes an answer, and the answer that its checked claims give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.context import Claim, Computation, Evidence, Place, Synthesis
from multi_agent.grounding.confidence import SHARE_RIGHT, signal_of
from multi_agent.grounding.support import Judged
from vectorstore.models import Chunk

ClaimT = TypeVar("ClaimT", bound=BaseModel)
_NAMES_SHOWN = 5


class WrittenResponse(BaseModel, Generic[ClaimT]):
    # The bare answer comes first: a model of 1.5 billion parameters finds it, and then the sentences that state it.
    # Asked for claims first, it wrote none or pointed at random. The verdict comes last, so that it follows from the
    # rest. A docstring would be shown to the model.
    model_config = ConfigDict(extra="forbid")

    short: str = Field(
        description='the bare answer in the fewest words; several divided by "; "; empty if there is none'
    )
    claims: list[ClaimT] = Field(description="what answers the question, or comes closest")
    missing: str = Field(description="what is needed to answer; empty if nothing")
    sufficient: bool = Field(description="whether the claims answer the question as it was asked")
    layout: Literal["prose", "list", "numbered_list"] = "prose"


def build_synthesis(
    response: WrittenResponse[Any],
    judged: Sequence[Judged],
    question: str,
    *,
    evidence: tuple[Evidence, ...],
    computations: tuple[Computation, ...] = (),
    looked_for: tuple[str, ...],
    found: str,
) -> Synthesis:
    """Return the answer. ``evidence`` is numbered and holds that of all claims.

    An answer without any supported claim is insufficient, whatever the model says. The confidence, and what was
    searched and read, are facts of the run, not the model's words.
    """
    numbers = {item.place: item.number for item in evidence}
    claims = tuple(_claim(each, numbers) for each in judged)
    sufficient = response.sufficient and any(claim.supported for claim in claims)
    missing = response.missing.strip()
    return Synthesis(
        claims=claims,
        short=response.short.strip(),
        evidence=evidence,
        computations=computations,
        layout=response.layout,
        sufficient=sufficient,
        confidence=SHARE_RIGHT[signal_of(judged, question, sufficient=sufficient)],
        reasoning=_reasoning(judged, sufficient=sufficient),
        looked_for=looked_for,
        found=found,
        missing=(missing,) if missing else (),
    )


def describe_read(chunks: Sequence[Chunk]) -> str:
    """Return how many passages of which documents were read."""
    if not chunks:
        return "No passage was found."
    names = list(Counter(chunk.name for chunk in chunks))
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    passages = "1 passage" if len(chunks) == 1 else f"{len(chunks)} passages"
    return f"Read {passages} of {', '.join(names[:_NAMES_SHOWN])}{more}."


def _claim(judged: Judged, numbers: dict[Place, int]) -> Claim:
    statement = judged.statement
    return Claim(
        text=statement.text,
        evidence=tuple(sorted({numbers[item.place] for item in statement.evidence})),
        computations=tuple(dict.fromkeys(each.number for each in statement.computations)),
        supported=bool(judged.supported),
        pictured=judged.pictured,
    )


def _reasoning(judged: Sequence[Judged], *, sufficient: bool) -> str:
    """Return how the claims were checked, or why the answer is insufficient."""
    rejected = [f"Not supported: “{each.statement.text}” {each.reason}" for each in judged if not each.supported]
    if sufficient:
        checked = sum(each.method == "model" for each in judged if each.supported)
        seen = sum(each.pictured for each in judged)
        by_rule = (
            len(judged) - len(rejected) - checked - sum(each.pictured and each.method == "rule" for each in judged)
        )
        facts = [f"Rules found {_count(by_rule)} in the quotes." if by_rule else ""]
        facts += [f"A check call confirmed {_count(checked)}." if checked else ""]
        facts += [f"A model read {_count(seen)} in pictures of pages; no rule can verify that." if seen else ""]
    else:
        facts = ["What was read does not answer the question."]
    return " ".join(filter(None, (*facts, *rejected)))


def _count(claims: int) -> str:
    return "1 claim" if claims == 1 else f"{claims} claims"
