"""The answer of a plan that ends in a Reader: its claims after those of the steps that led to it.

Each question of a chain contains the answer to the one before, so the last claims alone do not explain the answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from base.counts import count
from multi_agent.grounding.confidence import WEAK
from multi_agent.values.answer import in_short
from multi_agent.values.context import Claim, ContextUpdate, Evidence, Finding, Place, ResearchContext, Synthesis


def answer_in(update: ContextUpdate) -> Synthesis | None:
    """Return the agent's answer to the question or to a part of it."""
    if update.synthesis:
        return update.synthesis
    return update.findings[-1].synthesis if update.findings else None


def whole_answer(update: ContextUpdate, before: Collection[str], context: ResearchContext) -> Synthesis | None:
    """Return the answer of the last step, led by the claims of the answers that it builds on.

    ``before`` contains the ids of all steps before it. The answer is as sure as the least sure of them, and it is
    insufficient if one of them is. A synthesis already draws them together.
    """
    last = answer_in(update)
    latest = {finding.step: finding for finding in context.findings if finding.step in before}
    if update.synthesis or last is None or not latest or last.clarification:
        return last
    chain = (*latest.values(), update.findings[-1])
    close = [each for each in latest.values() if not each.synthesis.sufficient]
    claims = tuple(claim for each in chain for claim in _renumbered(each.synthesis, context.evidence))
    weakest = min((each.synthesis for each in chain), key=lambda each: each.confidence)
    quotes = count(len({number for claim in claims for number in claim.evidence}), "quote")
    return last.model_copy(
        update={
            "claims": claims,
            "evidence": context.evidence,
            "sufficient": last.sufficient and not close,
            "hopeless": "",
            "confidence": weakest.confidence,
            "basis": weakest.basis if weakest.basis.startswith(WEAK) else f"Follows from {quotes}",
            "looked_for": context.looked_for,
            "missing": (*last.missing, *map(_lacks, close)),
            "reasoning": " ".join(dict.fromkeys(each.synthesis.reasoning for each in chain)),
        }
    )


def _lacks(finding: Finding) -> str:
    return f"{finding.question}: {in_short(finding.synthesis)}"


def _renumbered(synthesis: Synthesis, evidence: Iterable[Evidence]) -> list[Claim]:
    """Return the claims that stand, with the evidence numbers of the context."""
    now = {item.place: item.number for item in evidence}
    places = {item.number: item.place for item in synthesis.evidence}
    return [_cited(claim, places, now) for claim in synthesis.claims if claim.stands]


def _cited(claim: Claim, places: Mapping[int, Place], now: Mapping[Place, int]) -> Claim:
    return claim.model_copy(update={"evidence": tuple(now[places[number]] for number in claim.evidence)})
