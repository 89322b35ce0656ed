"""The response of an agent that writes an answer, and the answer built from its checked claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.grounding.confidence import SHARE_RIGHT, Signal, describe_basis, signal_of
from multi_agent.grounding.judged import Judged, Statement
from multi_agent.grounding.support import SupportRules
from multi_agent.grounding.terms import words_of
from multi_agent.values.answer import holds, is_partial
from multi_agent.values.context import AnswerPart, Claim, Computation, Evidence, PartVerdict, Place, Synthesis
from vectorstore.models import Chunk


class ResponseClaim(BaseModel):
    # Subclasses put ``text`` after the numbers: the model cites first. No docstring: the schema would show it.
    model_config = ConfigDict(extra="forbid")

    @property
    def references(self) -> Sequence[int]:
        """The numbers of everything that the claim cites: sentences, quotes, pictures or computations."""
        raise NotImplementedError


class ResponsePart(BaseModel):
    # No docstring: the schema would show it.
    model_config = ConfigDict(extra="forbid")

    part: str = Field(description="what it asks for, in a few words")
    claims: list[int] = Field(description="the claims that answer it, counted from 1; [] if none does")
    verdict: PartVerdict


ClaimT = TypeVar("ClaimT", bound=ResponseClaim)
_NAMES_SHOWN = 5
NOT_ANSWERED = "What was read does not answer the question."
_ABSENT = "Nothing was found, and the question says what to answer then."


class WrittenResponse(BaseModel, Generic[ClaimT]):
    # The bare answer comes first: a model of 1.5 billion parameters finds it, then the sentences that state it. With
    # claims first, it wrote none or cited sentences at random. The verdict comes last, so that it follows from the
    # rest. No docstring: the schema would show it to the model.
    model_config = ConfigDict(extra="forbid")

    short: str = Field(
        description='the bare answer in the fewest words, or what comes closest; several divided by "; "'
    )
    claims: list[ClaimT] = Field(description="what answers the question, or comes closest")
    reasoning: str = Field(
        default="", description="how what is cited leads to the claims, in one sentence; empty if it states them itself"
    )
    missing: str = Field(description="how what comes closest differs, or what is missing; empty if nothing")
    sufficient: bool = Field(description="whether the claims answer the question as it was asked")
    layout: Literal["prose", "list", "numbered_list"] = "prose"
    parts: list[ResponsePart] = Field(default=[], description="only if the question asks several things: each of them")


def build_synthesis(
    response: WrittenResponse[Any],
    judged: Sequence[Judged],
    question: str,
    rules: SupportRules,
    *,
    evidence: tuple[Evidence, ...],
    computations: tuple[Computation, ...] = (),
    looked_for: tuple[str, ...],
    found: str,
) -> Synthesis:
    """Return the answer. ``evidence`` is numbered and contains the evidence of all claims.

    An answer without a claim that stands, or with a contradicted one, is insufficient, regardless of the model's
    verdict, unless the question defines it (``answers_absence``). The confidence, ``looked_for`` and ``found`` come
    from the run, not from the model.
    """
    numbers = {item.place: item.number for item in evidence}
    absent = answers_absence(response, question)
    claims = () if absent else tuple(_claim(each, numbers) for each in judged)
    parts = () if absent else _parts(response, judged)
    partial = is_partial(parts) and holds(claims)
    unsaid = any(not each.stands for each in judged[len(response.claims) :])  # the bare answer
    sufficient = absent or (response.sufficient and holds(claims) and not partial and not unsaid)
    missing = f"No quote states “{response.short.strip()}”." if unsaid else response.missing.strip()
    signal = Signal.ABSENT if absent else signal_of(judged, question, sufficient=sufficient or partial)
    return Synthesis(
        claims=claims,
        short=response.short.strip(),
        evidence=evidence,
        computations=computations,
        layout=response.layout,
        sufficient=sufficient,
        confidence=SHARE_RIGHT[signal],
        basis=describe_basis(signal, judged, computations),
        explanation=_explanation(response, Statement(response.reasoning.strip(), evidence, computations), rules),
        reasoning=_ABSENT if absent else _reasoning(judged, sufficient=sufficient or partial),
        looked_for=looked_for,
        found=found,
        missing=(missing,) if missing else (),
        parts=parts,
    )


def _explanation(response: WrittenResponse[Any], written: Statement, rules: SupportRules) -> str:
    """Return how the evidence leads to the claims, in the words of the model if the evidence has their figures."""
    if not written.text:
        return "The quotes state it." if response.claims and written.evidence and not written.computations else ""
    judged = rules.judge(written)
    wrong = judged.contradicted or not judged.stands
    return f"The explanation of the model was left out. {judged.reason}" if wrong else written.text


def describe_answer(question: str, synthesis: Synthesis) -> str:
    """Return what an agent says about its answer: what was read, how it leads to the claims, and the checks."""
    return " ".join(filter(None, (question, synthesis.found, synthesis.explanation, synthesis.reasoning)))


def _parts(response: WrittenResponse[Any], judged: Sequence[Judged]) -> tuple[AnswerPart, ...]:
    """Return the parts of the question. Only a claim that stands answers a part, regardless of the model's verdict."""
    standing = {number for number, each in enumerate(judged, 1) if each.stands}
    parts = response.parts if len(response.parts) > 1 else ()
    return tuple(AnswerPart(part=each.part.strip(), verdict=_verdict(each, standing)) for each in parts)


def _verdict(part: ResponsePart, standing: Set[int]) -> PartVerdict:
    lacks_claim = part.verdict == "answered" and standing.isdisjoint(part.claims)
    return "not_found" if lacks_claim else part.verdict


def unread_answer(looked_for: tuple[str, ...], reason: str, missing: str, hopeless: str = "") -> Synthesis:
    """Return the answer of a search after which no model was asked."""
    return Synthesis(
        claims=(),
        evidence=(),
        layout="prose",
        sufficient=False,
        confidence=0.0,
        reasoning=reason,
        looked_for=looked_for,
        found=describe_read(()),
        missing=(missing,),
        hopeless=hopeless,
    )


def answers_absence(response: WrittenResponse[Any], question: str) -> bool:
    """Return whether the question defines this answer for the case that nothing is found, such as "otherwise N/A".

    The question contains the words of the answer, and no quote supports it.
    """
    short = words_of(response.short)
    says_nothing_else = all(words_of(claim.text) == short and not claim.references for claim in response.claims)
    is_absent = is_foreseen(response.short, question) and says_nothing_else and bool(response.missing.strip())
    return response.sufficient and is_absent


def is_foreseen(short: str, question: str) -> bool:
    """Return whether the question contains the words of the answer."""
    return f" {' '.join(words_of(short))} " in f" {' '.join(words_of(question))} "


def describe_read(chunks: Sequence[Chunk], computations: Sequence[Computation] = ()) -> str:
    """Return a sentence with the number of passages read and their documents, web pages and tools.

    Without a passage, it names what the computations were made from.
    """
    if not chunks:
        asked = dict.fromkeys(each.source for each in computations if each.source)
        return f"Asked {' and '.join(asked)}." if asked else "No passage was found."
    names = list(Counter(chunk.name for chunk in chunks))
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    passages = "1 passage" if len(chunks) == 1 else f"{len(chunks)} passages"
    return f"Read {passages} of {', '.join(names[:_NAMES_SHOWN])}{more}."


def _claim(judged: Judged, numbers: dict[Place, int]) -> Claim:
    statement = judged.statement
    return judged.claim(statement.text, tuple(sorted({numbers[item.place] for item in statement.evidence})))


def _reasoning(judged: Sequence[Judged], *, sufficient: bool) -> str:
    """Return how the claims were checked, or that the answer is insufficient, and why claims were rejected."""
    rejected = [
        f"{_refused(each)}: “{each.statement.text}” {each.reason}"
        for each in judged
        if not (each.supported or (each.stands and each.pictured))
    ]
    if sufficient:
        checked = sum(each.method == "model" for each in judged if each.supported)
        seen = sum(each.pictured for each in judged)
        by_rule = sum(each.method == "rule" and not each.pictured for each in judged if each.supported)
        where = "quotes" if any(each.statement.evidence for each in judged) else "computations"
        facts = [f"Rules found {_count(by_rule)} in the {where}." if by_rule else ""]
        facts += [f"A check call confirmed {_count(checked)}." if checked else ""]
        facts += [f"A model read {_count(seen)} in pictures of pages; no rule can verify that." if seen else ""]
    else:
        facts = [NOT_ANSWERED]
    return " ".join(filter(None, (*facts, *rejected)))


def _refused(judged: Judged) -> str:
    return "Contradicted" if judged.contradicted else "Not checked" if judged.stands else "Not supported"


def _count(claims: int) -> str:
    return "1 claim" if claims == 1 else f"{claims} claims"
