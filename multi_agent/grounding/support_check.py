"""Judges all claims of an answer. Rules decide first. One model call judges open claims and checks the rules.

The call compares each claim with its quotes and names the difference before the verdict. Of the claims that the rules
leave open, a careful reader rejected 169 of 169 wrong ones and confirmed 138 of 140 right ones. Of the 6 wrong ones
among 350 that the rules support, he contradicted 5. A weak model agrees with every claim that it is shown, so only
models that pass the self-test of ``claim_trial.py`` are asked.

    judged = await SupportCheck(rules, question, agent, llm, publish, ask=True).judge(statements)
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.errors import InvalidResponse, PromptTooLong
from multi_agent.grounding.judged import COMPUTED, WORD_FOR_WORD, Judged, Statement
from multi_agent.grounding.support import PICTURED, SupportRules, mark_pictured
from multi_agent.grounding.terms import TermIndex, find_terms
from multi_agent.model import LLM
from multi_agent.prompt import Prompt
from multi_agent.values.bus import Publish
from multi_agent.values.events import ResponseRepaired
from multi_agent.values.evidence_events import ClaimChecked

_SAY = {"stated": "state it", "contradicted": "contradict it", "not_stated": "do not state it"}


class ClaimVerdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    difference: str = Field(description="what the quotes do not say, or say otherwise; empty if nothing")
    verdict: Literal["stated", "contradicted", "not_stated"]


class ClaimCheck(BaseModel):
    model_config = ConfigDict(extra="forbid")

    verdicts: list[ClaimVerdict] = Field(description="one for each claim, in order")


class SupportCheck:
    """Judges all claims of an answer. With ``ask``, one model call judges all but copies and computations.

    Without ``ask``, a claim that the rules leave open is shown as not checked.
    """

    def __init__(
        self, rules: SupportRules, question: str, agent: str, llm: LLM, publish: Publish, *, ask: bool
    ) -> None:
        self._rules, self._question, self._agent = rules, question, agent
        self._llm, self._publish, self._ask = llm, publish, ask

    async def judge(self, statements: Iterable[Statement], bare: str = "") -> list[Judged]:
        """Return a verdict per statement, in order. Publish repairs, rejections, model checks and pictured claims.

        ``bare`` is the short answer, which people read first. If the statements do not say it, it gets a verdict, too.
        """
        judged = await asyncio.to_thread(self._apply_rules, statements, bare)
        if repairs := tuple(each.repair.strip() for each in judged if each.repair):
            await self._publish(ResponseRepaired(caller=self._agent, repairs=repairs))
        judged = [mark_pictured(each, self._rules) for each in await self._settle(judged)]
        for each in judged:
            if each.method == "model" or each.pictured or not each.stands:
                await self._publish(
                    ClaimChecked(
                        agent=self._agent,
                        claim=each.statement.text,
                        supported=each.stands,
                        method="picture" if each.pictured else each.method,
                        reason=f"{each.reason} {PICTURED}" if each.pictured else each.reason,
                    )
                )
        return judged

    def _apply_rules(self, statements: Iterable[Statement], bare: str) -> list[Judged]:
        judged = [self._rules.judge(statement) for statement in statements]
        return [*judged, *self._unsaid(bare, judged)]

    def _unsaid(self, bare: str, judged: Sequence[Judged]) -> list[Judged]:
        """Return the bare answer with its verdict, if the statements that stand say none of it, or not its figures.

        A figure may count what the statements list. The bare answer may rest on other evidence than theirs.
        """
        standing = [each.statement for each in judged if each.stands]
        said = TermIndex("\n".join((self._question, *(each.text for each in standing))))
        terms = find_terms(bare)
        figures = [term for term in terms if term.kind == "figure"]
        telling = figures if 2 * len(figures) >= len(terms) else terms
        evidence = tuple({item.place: item for each in standing for item in each.evidence}.values())
        counted = {str(len(standing)), str(len(evidence))}
        if standing and (not terms or any(term in said or term.text in counted for term in telling)):
            return []
        computations = tuple(item for each in standing for item in each.computations)
        alone = self._rules.judge(Statement(bare, ()))
        found = self._rules.judge(Statement(bare, evidence, computations)) if standing else alone
        if not bare or (judged and not (standing or alone.stands)):  # it falls with what says it
            return []
        return [found if found.stands or not alone.stands else alone]

    async def _settle(self, judged: Sequence[Judged]) -> list[Judged]:
        asked = [each for each in judged if _is_asked(each)]
        if not asked or not self._ask:
            return list(judged)
        verdicts = iter(await self._ask_model(asked))
        return [next(verdicts) if _is_asked(each) else each for each in judged]

    async def _ask_model(self, judged: Sequence[Judged]) -> list[Judged]:
        """Return the claims with their verdicts. If they do not fit into one call, each half of them gets its own."""
        try:
            return await ask_model(judged, self._rules, self._question, self._llm)
        except InvalidResponse:
            return [_unjudged(each, "The check call gave no valid response.") for each in judged]
        except PromptTooLong:
            if len(judged) < 2:
                return [_unjudged(each, "The check call did not fit into the window.") for each in judged]
            middle = len(judged) // 2
            return [*await self._ask_model(judged[:middle]), *await self._ask_model(judged[middle:])]


async def ask_model(judged: Sequence[Judged], rules: SupportRules, question: str, llm: LLM) -> list[Judged]:
    """Return the claims with the verdicts of rules and model, in order. Raises InvalidResponse and PromptTooLong."""
    claims = [
        f"Claim {number}: {' '.join(each.statement.text.split())}\n{rules.describe_evidence(each.statement)}"
        for number, each in enumerate(judged, 1)
    ]
    messages = Prompt.shipped("claim_check").render(question=question, claims="\n\n".join(claims))
    verdicts = (await llm.complete(messages, ClaimCheck)).value.verdicts[: len(judged)]
    return [_decided(each, verdict) for each, verdict in zip_longest(judged, verdicts)]


def _is_asked(judged: Judged) -> bool:
    """Return whether the model judges the claim: the rules leave it open, contradict it, or compared its words."""
    if judged.supported is None or judged.contradicted:
        return True
    compared = bool(judged.supported) and not judged.statement.computations
    return compared and bool(judged.shown) and not judged.shown.startswith((WORD_FOR_WORD, COMPUTED))


def _decided(judged: Judged, verdict: ClaimVerdict | None) -> Judged:
    """Return the claim with both verdicts. It is open where rules and model disagree, or where the model is unclear."""
    if verdict is None:
        return _unjudged(judged, "The check call did not judge it.")
    found = verdict.difference.strip()
    stated, contradicted = verdict.verdict == "stated", verdict.verdict == "contradicted"
    reason = (
        f"The check call found: {found}" if found else f"The check call says that its quotes {_SAY[verdict.verdict]}."
    )
    if judged.contradicted and stated and not found:
        doubted = judged._replace(supported=None, contradicted=False, missing=(), method="model")
        return doubted._replace(reason=f"{judged.reason} {reason}")
    if judged.contradicted or (judged.supported and stated):
        return judged
    unclear = found if stated else judged.supported and not contradicted
    supported = None if unclear else stated
    return judged._replace(supported=supported, contradicted=contradicted, reason=reason, method="model")


def _unjudged(judged: Judged, reason: str) -> Judged:
    return judged._replace(reason=f"{judged.reason} {reason}") if judged.supported is None else judged
