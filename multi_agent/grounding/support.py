"""Checks by rules that the evidence of each claim supports it. ``support_check.py`` judges the claims left open.

    rules = SupportRules(question, shown_evidence, chunks)
    judged = rules.judge(statement)

The rules search for the figures, names and words of a claim in its quotes, their locations and table headers, and the
computations that it cites. Terms of the question prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cached_property
from typing import Literal, NamedTuple, Self

from multi_agent.grounding.arithmetic import derivation
from multi_agent.grounding.terms import Term, TermIndex, find_terms, words_of
from multi_agent.prompts.show_outside import show_words
from multi_agent.prompts.show_passages import show_location, show_proof
from multi_agent.values.context import Computation, Evidence
from vectorstore.models import Chunk, ChunkKind

_QUESTION_MARKS = ("?", "？", "؟", ";")
_COMMON = 3  # passages; a word in this many passages proves little about one claim
_MIN_COMPARISON = 4  # minimum letters of a word in a comparison, such as "more" or "less"
_MIN_COPIED = 6  # minimum words of a claim to search for as a copy of the text
_MOST_COPIED = 4  # maximum sentences of a copy
_NEAR = 2  # sentences to search before and after each cited one
PICTURED = "It rests on what a model read in the picture of a page, which no rule can verify."
_LONGEST_QUOTE = 1200  # characters of a quote in the check call


class Statement(NamedTuple):
    """A claim as the model wrote it, with the evidence and the computations that it cites."""

    text: str
    evidence: tuple[Evidence, ...]
    computations: tuple[Computation, ...] = ()


class Judged(NamedTuple):
    """The verdict on a statement. ``supported`` is None if the rules cannot decide."""

    statement: Statement
    supported: bool | None
    reason: str
    method: Literal["rule", "model"] = "rule"
    repair: str = ""
    """A description of the repairs of the statement."""
    missing: tuple[Term, ...] = ()
    """Terms of the statement that are not in its evidence."""
    pictured: bool = False
    """Whether the statement is unsupported without picture readings."""


class SupportRules:
    """Judges statements without a model.

    ``shown`` contains the quotes that a statement may cite, in order, and ``chunks`` their passages. A statement that
    repeats the question gets the text of ``short``, the bare answer. ``confirmed`` contains claims that passed an
    earlier check.
    """

    def __init__(
        self,
        question: str,
        shown: Sequence[Evidence],
        chunks: Iterable[Chunk],
        short: str = "",
        confirmed: Iterable[str] = (),
    ) -> None:
        self._question, self._short = question, short
        self._question_words = words_of(question)
        self._confirmed = [words_of(text) for text in confirmed]
        self._shown = shown
        self._chunks = {chunk.id: chunk for chunk in chunks}
        self._asked = TermIndex(question)
        self._evidence_indexes: dict[str, TermIndex] = {}
        self._widespread: dict[Term, bool] = {}

    def with_short(self, short: str) -> Self:
        """Return the rules for another bare answer. They share what they know about the quotes and passages."""
        rules = copy(self)
        rules._short = short
        return rules

    def judge(self, statement: Statement) -> Judged:
        """Return the verdict with the statement, after repairing its text or evidence."""
        if not statement.evidence and not statement.computations:
            return self._find_evidence(statement)
        if words_of(statement.text) in self._confirmed:
            return Judged(statement, True, "It was checked before.")
        if not self._is_question(statement.text):
            return self._compare(statement) if not self._lacks_answer(statement) else self._completed(statement)
        if not self._short or self._is_question(self._short):
            return Judged(statement, False, "It repeats the question.")
        judged = self._compare(statement._replace(text=self._short))
        return judged._replace(repair=f"a claim repeated the question; its text is now {self._short!r} {judged.repair}")

    def is_short(self, answer: str) -> bool:
        """Return whether the text is the bare answer. A claim such as "They are not" does not contain the word "no"."""
        return bool(self._short) and words_of(answer) == words_of(self._short)

    def describe_evidence(self, statement: Statement) -> str:
        """Return the quotes with their locations, and the computations, for the check call."""
        shown = [(item, show_words(item.quote[:_LONGEST_QUOTE], item.origin)) for item in statement.evidence]
        quotes = [f"- {self._location(item, show_location)}: {words}" for item, words in shown]
        results = [f"- computed, {each.purpose}: {each.columns} {each.rows}" for each in statement.computations]
        return "\n".join((*quotes, *results))

    def _lacks_answer(self, statement: Statement) -> bool:
        """Return whether the claim adds no figure or name, although its evidence has those of the short answer.

        A small model copies the label of a table row, such as "Heat pumps delivered", and omits the value.
        """
        own = [term for term in _exact_terms(statement.text) if term not in self._asked]
        answer = [term for term in _exact_terms(self._short) if term not in self._asked]
        if own or not answer:
            return False
        evidence = self._evidence_index(statement)
        return all(term in evidence for term in answer)

    def _completed(self, statement: Statement) -> Judged:
        """Judge the claim with the short answer appended."""
        judged = self._compare(statement._replace(text=f"{statement.text.rstrip(' .:')}: {self._short}"))
        return judged._replace(repair=f"a claim lacked the answer; added {self._short!r} {judged.repair}")

    def _is_question(self, text: str) -> bool:
        return text.rstrip().endswith(_QUESTION_MARKS) or words_of(text) == self._question_words

    def _compare(self, statement: Statement) -> Judged:
        """Compare the terms of the statement with its evidence. Add quotes that contain the missing terms."""
        terms = self._terms(statement.text)
        evidence = self._evidence_index(statement)
        missing = [term for term in terms if term not in evidence and not self._is_known(term)]
        repair = ""
        # Add quotes only for figures and names, because a sentence that adds only a word is about something else.
        telling = [term for term in missing if term.kind != "word"]
        if telling and (quotes := self._quotes_with(missing, statement) or self._quotes_near(telling, statement)):
            repair = f"a claim pointed past its sentence; added {_show(quotes)}"
            statement = statement._replace(evidence=(*statement.evidence, *quotes))
            evidence = self._evidence_index(statement)
            missing = [term for term in missing if term not in evidence]
        if computed := _recompute(missing, terms, evidence):
            return Judged(statement, True, f"It follows from its evidence: {'; '.join(computed)}.", repair=repair)
        supported, reason = self._verdict(statement, terms, missing, evidence)
        return Judged(statement, supported, reason, repair=repair, missing=tuple(missing))

    def _terms(self, text: str) -> tuple[Term, ...]:
        """Return the terms of a claim. Include short words if no other term goes beyond the question."""
        terms = find_terms(text)
        return terms if any(term not in self._asked for term in terms) else find_terms(text, min_word=1)

    def _verdict(
        self, statement: Statement, terms: Sequence[Term], missing: Sequence[Term], evidence: TermIndex
    ) -> tuple[bool | None, str]:
        if missing:
            return None, f"Not in its evidence: {', '.join(term.text for term in missing)}."
        found = [term for term in terms if term in evidence and term not in self._asked]
        if not found:
            return None, "It says nothing beyond the question."
        words = find_terms(statement.text, _MIN_COMPARISON)
        if _compares(statement, found) and any(term not in evidence for term in words):
            return None, "It compares figures."
        return True, "Its evidence contains what it says."

    def _is_known(self, term: Term) -> bool:
        """Return whether the question contains the term, or the term is a word that several passages contain."""
        if term in self._asked:
            return True
        if term.kind != "word":
            return False
        if term not in self._widespread:
            self._widespread[term] = sum(term in passage for passage in self._passages) >= _COMMON
        return self._widespread[term]

    def _find_evidence(self, statement: Statement) -> Judged:
        """Judge a statement without evidence. Add the quotes that contain all its terms, if there are any."""
        terms = [term for term in find_terms(statement.text, min_word=1) if term not in self._asked]
        quotes = self._quotes_with(terms, statement) if terms else ()
        if not quotes:
            return Judged(statement, False, "It names no evidence.")
        repair = f"a claim named no sentence; added {_show(quotes)}"
        return Judged(statement._replace(evidence=quotes), True, "Its evidence contains what it says.", repair=repair)

    def _quotes_with(self, missing: Sequence[Term], statement: Statement) -> tuple[Evidence, ...]:
        """Return the quotes that the statement copies, or the quote with all missing terms and most of the question's.

        Return none if different quotes qualify. Quotes with the same words count as one, because overlapping passages
        repeat sentences.
        """
        if copied := self._copied(statement.text):
            return copied
        places = {item.place for item in statement.evidence}
        asked = find_terms(self._question)
        having = {
            at: sum(term in index for term in asked)
            for at, index in enumerate(self._indexes)
            if self._shown[at].place not in places and all(term in index for term in missing)
        }
        most = max(having.values(), default=0)
        best = [self._shown[at] for at, shared in having.items() if shared == most]
        return (best[0],) if most and len({tuple(words_of(item.quote)) for item in best}) == 1 else ()

    def _quotes_near(self, missing: Sequence[Term], statement: Statement) -> tuple[Evidence, ...]:
        """Return the neighbours of the cited quotes that together contain all missing terms, or none.

        A claim may follow from a sentence and the next one. The cited quotes and the claim must share a term that the
        question does not have. Otherwise the claim is about something else.
        """
        evidence = self._evidence_index(statement)
        if not any(term in evidence and term not in self._asked for term in find_terms(statement.text)):
            return ()
        pointed = [at for at, item in enumerate(self._shown) if item in statement.evidence]
        passages = [item.chunk_id for item in self._shown]
        near = [
            at
            for distance in range(1, _NEAR + 1)
            for one in pointed
            for at in (one - distance, one + distance)
            if 0 <= at < len(passages) and passages[at] == passages[one] and at not in pointed
            if self._shown[at].picture is None
        ]
        having = [next((at for at in near if term in self._indexes[at]), None) for term in missing]
        found = {at for at in having if at is not None}
        return () if None in having else tuple(self._shown[at] for at in sorted(found))

    def _copied(self, text: str) -> tuple[Evidence, ...]:
        """Return the fewest adjacent quotes of one passage that contain the text verbatim. None for a short text."""
        words = words_of(text)
        if len(words) < _MIN_COPIED:
            return ()
        for count in range(1, _MOST_COPIED + 1):
            for first in range(len(self._shown) - count + 1):
                quotes = self._shown[first : first + count]
                joined = " ".join(self._words[first : first + count])
                if f" {' '.join(words)} " in f" {joined} " and len({item.chunk_id for item in quotes}) == 1:
                    return tuple(quotes)
        return ()

    @cached_property
    def _words(self) -> list[str]:
        return [" ".join(words_of(item.quote)) for item in self._shown]

    @cached_property
    def _indexes(self) -> list[TermIndex]:
        return [TermIndex(item.quote) for item in self._shown]

    @cached_property
    def _passages(self) -> list[TermIndex]:
        return [TermIndex(chunk.reading_text) for chunk in self._chunks.values()]

    def _evidence_index(self, statement: Statement) -> TermIndex:
        text = self._evidence_text(statement)
        if text not in self._evidence_indexes:
            self._evidence_indexes[text] = TermIndex(text)
        return self._evidence_indexes[text]

    def _evidence_text(self, statement: Statement) -> str:
        quotes = [
            f"{self._location(item, show_proof)}\n{self._header(item)}\n{item.quote}" for item in statement.evidence
        ]
        results = [
            "\n".join((each.purpose, " ".join(each.columns), *(" ".join(map(str, row)) for row in each.rows)))
            for each in statement.computations
        ]
        return "\n".join((*quotes, *results))

    def _location(self, item: Evidence, show: Callable[[Chunk, Sequence[int]], str]) -> str:
        chunk = self._chunks.get(item.chunk_id)
        return show(chunk, item.pages) if chunk else item.name

    def _header(self, item: Evidence) -> str:
        """Return the header of the quote's table, or '' if its passage has none."""
        chunk = self._chunks.get(item.chunk_id)
        if chunk is None or not (chunk.header or chunk.kind is ChunkKind.TABLE):
            return ""
        if chunk.header:
            return chunk.header.text
        return next((line for line in chunk.text.splitlines() if line.startswith("|")), "")


def settle(judged: Judged) -> Judged:
    """Decide an open verdict without a model. The statement is supported unless a figure or a name is missing."""
    if judged.supported is not None:
        return judged
    return judged._replace(supported=all(term.kind == "word" for term in judged.missing))


def mark_pictured(judged: Judged, rules: SupportRules) -> Judged:
    """Return the verdict, marked as pictured if the statement is not supported without its picture readings.

    The rules compare the statement with the words that the model read. They cannot tell whether the picture shows them.
    """
    statement = judged.statement
    verbatim = tuple(item for item in statement.evidence if not item.picture)
    if not judged.supported or len(verbatim) == len(statement.evidence):
        return judged
    alone = statement._replace(evidence=verbatim)
    verified = bool(verbatim or alone.computations) and settle(rules.judge(alone)).supported
    return judged._replace(pictured=not verified)


def _recompute(missing: Sequence[Term], terms: Sequence[Term], evidence: TermIndex) -> list[str]:
    """Return the formulas of the missing figures. None if a figure has no formula or a name is missing.

    The operands are the figures that the claim shares with its evidence or, with fewer than two, all of its evidence.
    """
    named = [value for term in terms if term in evidence for value in term.values]
    operands = sorted(named if len(named) > 1 else evidence.amounts, reverse=True)
    telling = [term for term in missing if term.kind != "word"]
    found = [(term.text, derivation(term.values, operands)) for term in telling]
    return [f"{text} = {how}" for text, how in found] if all(how for _, how in found) else []


def _exact_terms(text: str) -> list[Term]:
    """Return the figures and names of a text."""
    return [term for term in find_terms(text) if term.kind != "word"]


def _show(quotes: Sequence[Evidence]) -> str:
    return ", ".join(repr(item.quote) for item in quotes)


def _compares(statement: Statement, found: Sequence[Term]) -> bool:
    """Return whether a statement combines figures from several sentences or rows."""
    figures = {term.text for term in found if term.kind == "figure"}
    return len(figures) > 1 and (len(statement.evidence) > 1 or any("\n" in item.quote for item in statement.evidence))
