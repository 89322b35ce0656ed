"""Judges all claims of an answer. Rules decide first. One model call can judge the open claims.

The call does not ask for a verdict. It asks for the answer in the quotes and compares this answer with the claim. When
asked for a verdict, a model with 1.5 billion parameters confirmed all 10 claims, of which 5 were wrong, with 50 tokens
each. When asked for the answer, it rejected all 5 wrong claims and confirmed 2 of the 5 right ones with 10 tokens each.

    judged = await SupportCheck(rules, question, agent, llm, publish, ask=True).judge(statements)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.errors import InvalidResponse
from multi_agent.grounding.judged import Judged, Statement
from multi_agent.grounding.meaning.checking import check
from multi_agent.grounding.support import PICTURED, SupportRules, mark_pictured
from multi_agent.grounding.terms import Term, TermIndex, find_terms, words_of
from multi_agent.model import LLM
from multi_agent.prompt import Prompt
from multi_agent.values.bus import Publish
from multi_agent.values.events import ResponseRepaired
from multi_agent.values.evidence_events import ClaimChecked

_LONG = 10  # words of an answer that explains something
_LIST_NUMBER = re.compile(r"(?<!\S)\d{1,2}[.)]\s")
_NONE = ("", "none", "n/a")
_NO_RESPONSE = "The check call gave no valid response."


class ClaimCheck(BaseModel):
    model_config = ConfigDict(extra="forbid")

    answers: list[str] = Field(description="one for each group of quotes, in order")


class SupportCheck:
    """Judges all claims of an answer. With ``ask``, one model call judges those that the rules leave open.

    Without ``ask``, such a claim stays open, and the answer shows it as not checked.
    """

    def __init__(
        self, rules: SupportRules, question: str, agent: str, llm: LLM, publish: Publish, *, ask: bool
    ) -> None:
        self._rules, self._question, self._agent = rules, question, agent
        self._llm, self._publish, self._ask = llm, publish, ask

    async def judge(self, statements: Iterable[Statement]) -> list[Judged]:
        """Return a verdict per statement, in order. Publish repairs, rejections, model checks and pictured claims."""
        judged = [self._rules.judge(statement) for statement in statements]
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

    async def _settle(self, judged: Sequence[Judged]) -> list[Judged]:
        unclear = [each for each in judged if each.supported is None]
        if not unclear or not self._ask:
            return list(judged)
        try:
            verdicts = iter(await ask_model(unclear, self._rules, self._question, self._llm))
        except InvalidResponse:
            verdicts = iter([each._replace(reason=f"{each.reason} {_NO_RESPONSE}") for each in unclear])
        return [next(verdicts) if each.supported is None else each for each in judged]


async def ask_model(unclear: Sequence[Judged], rules: SupportRules, question: str, llm: LLM) -> list[Judged]:
    """Ask which answer the quotes of each claim give. Hides the claims, because the model would agree with them."""
    groups = [f"Quotes {number}:\n{rules.describe_evidence(each.statement)}" for number, each in enumerate(unclear, 1)]
    messages = Prompt.shipped("claim_check").render(question=question, quotes="\n\n".join(groups))
    answers = (await llm.complete(messages, ClaimCheck)).value.answers
    pairs = zip_longest(unclear, answers[: len(unclear)])
    return [_compared(each, answer, rules, question)._replace(method="model") for each, answer in pairs]


def _compared(judged: Judged, answer: str | None, rules: SupportRules, question: str) -> Judged:
    if answer is None:
        return judged._replace(supported=False, reason="The model gave no answer for its quotes.")
    if answer.strip(" .").casefold() in _NONE:
        return judged._replace(supported=False, reason="Its quotes alone do not answer the question.")
    text = judged.statement.text
    reason = f"From its quotes alone, the answer is {answer!r}."
    agreed = rules.is_short(answer) or agree(answer, text, question)
    is_other = differs(answer, text, question)
    said = TermIndex(f"{rules.describe_evidence(judged.statement)} {text} {question}")
    if not (is_other or agreed or any(term in said for term in find_terms(answer, min_word=1))):
        return judged._replace(
            reason=f"{judged.reason} The check call answered {answer!r}, which has nothing to do with the claim."
        )
    if not (is_other or agreed) and says_alike(answer, text, question):
        return judged._replace(reason=f"{judged.reason} {reason} Its words cannot be compared with those of the claim.")
    if is_other or not agreed:
        return judged._replace(supported=False, contradicted=True, reason=reason)
    terms = (next(iter(find_terms(each, min_word=1)), Term(each, "word")) for each in judged.missing)
    confirms_all = all(term in TermIndex(answer) for term in terms)
    return judged._replace(supported=confirms_all, reason=reason)


def differs(answer: str, claim: str, question: str) -> bool:
    """Return whether the rules find that the answer says something else than the claim, such as the opposite."""
    found = check(claim, [answer], context="", passages=(), question=question, is_widespread=lambda _: True)
    return found is not None and bool(found.conflicts)


def agree(answer: str, claim: str, question: str) -> bool:
    """Return whether the claim has all figures and names of the answer, or the answer has all new ones of the claim.

    Without figures and names, at least half of the words of the answer must be in the claim.
    """
    asked, answered, claimed = TermIndex(question), TermIndex(answer), TermIndex(claim)
    words = list(find_terms(answer, min_word=1))
    exact = [term for term in words if term.kind != "word"]
    new = [term for term in find_terms(claim) if term.kind != "word" and term not in asked]
    if exact or new:
        says_answer = bool(exact) and all(term in claimed for term in exact)
        return says_answer or (bool(new) and all(term in answered for term in new))
    return 2 * sum(term in claimed for term in words) >= len(words)


def says_alike(answer: str, claim: str, question: str) -> bool:
    """Return whether an answer that does not agree with the claim may still say the same in other words.

    They must share a figure or a name; a long answer may instead have half of its words in the claim. They must not
    each have a figure that the other lacks. With a short answer and no common figure, the same holds for names.
    Explanations, comparisons and lists need this: a model words them in its own way and names documents differently.
    """
    answer = _LIST_NUMBER.sub("", answer)
    asked, answered, claimed = TermIndex(question), TermIndex(answer), TermIndex(claim)
    words = [term for term in find_terms(answer, min_word=1) if term not in asked]
    own = [term for term in words if term not in claimed]
    others = [term for term in find_terms(claim) if term not in answered and term not in asked]
    shared = {term.kind for term in words if term in claimed} - {"word"}
    is_long = len(words) >= _LONG
    if any(term.values for term in own) and any(term.values for term in others):
        return False
    if not is_long and "figure" not in shared and _has_name(own) and _has_name(others):
        return False
    same_verdict = answer.strip(" .").casefold() in ("yes", "no") and words_of(claim)[:1] == words_of(answer)
    return bool(shared) or same_verdict or (is_long and 2 * len(own) <= len(words))


def _has_name(terms: Iterable[Term]) -> bool:
    return any(term.kind == "name" for term in terms)
