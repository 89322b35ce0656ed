"""Checks by rules that the evidence of each claim supports it. ``support_check.py`` judges the claims left open.

    rules = SupportRules(question, shown_evidence, chunks)
    judged = rules.judge(statement)

The rules compare a claim with its quotes, their locations and table headers, and the computations that it cites.
What they do not understand stays open: a claim never counts as supported because a rule does not know its words.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from copy import copy
from functools import cached_property
from typing import Self

from base.counts import count
from multi_agent.grounding.arithmetic import SIGNIFICANT, derivation, total
from multi_agent.grounding.confidence import describe_computed
from multi_agent.grounding.judged import CHECKED, COMPUTED, WORD_FOR_WORD, Judged, Statement
from multi_agent.grounding.meaning.checking import check, follows_by_clauses
from multi_agent.grounding.meaning.comparing import Comparison
from multi_agent.grounding.quotes import fold, has_spaceless
from multi_agent.grounding.terms import Term, TermIndex, find_terms, words_of
from multi_agent.prompts.show_dates import show_date
from multi_agent.prompts.show_outside import show_words
from multi_agent.prompts.show_passages import show_location, show_proof
from multi_agent.records.numbers_and_dates import find_amounts, read_number
from multi_agent.values.context import Computation, Evidence, Place
from vectorstore.models import Chunk, ChunkKind, Scalar, ToolOutput

_QUESTION_MARKS = ("?", "？", "؟", ";")
_COMMON = 3  # passages; a word in this many passages proves little about one claim
_MIN_COPIED = 6  # minimum words of a claim to search for as a copy of the text
_MOST_COPIED = 4  # maximum sentences of a copy
_CHANCE = 2  # significant digits of a figure that a formula may match by chance
_NEAR = 2  # sentences to search before and after each cited one
PICTURED = "It rests on what a model read in the picture of a page, which no rule can verify."
_LONGEST_QUOTE = 1200  # characters of a quote in the check call


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
        self._verdicts: dict[Hashable, Judged] = {}

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
        if _is_told(statement):
            return Judged(statement, None, "It only says what the model told the tool.")
        if not self._is_question(statement.text):
            return self._compare(statement) if not self._lacks_answer(statement) else self._completed(statement)
        if not self._short or self._is_question(self._short):
            return Judged(statement, False, "It repeats the question.")
        judged = self._compare(statement._replace(text=self._short))
        return judged._replace(repair=f"a claim repeated the question; its text is now {self._short!r} {judged.repair}")

    def describe_evidence(self, statement: Statement) -> str:
        """Return the quotes with their places, and the computations, for the check call."""
        headers = [self._header(item) for item in statement.evidence]
        quotes = [
            f"- {self._place(item, '' if header == before else header)}: "
            f"{show_words(item.quote[:_LONGEST_QUOTE], item.origin)}"
            for item, header, before in zip(statement.evidence, headers, ["", *headers], strict=False)
        ]
        results = [f"- computed, {each.purpose}: {each.columns} {each.rows}" for each in statement.computations]
        return "\n".join((*quotes, *results))

    def _lacks_answer(self, statement: Statement) -> bool:
        """Return whether the claim adds no figure or name, although its evidence has those of the short answer.

        A small model copies the label of a table row, such as "Heat pumps delivered", and omits the value. In a list
        of documents, each name is complete.
        """
        if any(each.source for each in statement.computations):
            return False
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
        """Judge a statement. Add quotes for its missing figures and names where they then support it."""
        judged = self._verdict(statement)
        if judged.supported or not judged.missing:
            return judged
        terms = find_terms(statement.text)
        evidence = self._evidence_index(statement)
        missing = [term for term in terms if term not in evidence and not self._is_known(term)]
        # Add quotes only for figures and names, because a sentence that adds only a word is about something else.
        telling = [term for term in missing if term.kind != "word"]
        quotes = (self._quotes_with(missing, statement) or self._quotes_near(telling, statement)) if telling else ()
        whole = statement._replace(evidence=(*statement.evidence, *quotes))
        passages = [item.chunk_id for item in whole.evidence]
        ordered = sorted(whole.evidence, key=lambda item: (passages.index(item.chunk_id), item.start))  # for "they"
        completed = self._verdict(statement._replace(evidence=tuple(ordered)))._replace(statement=whole)
        if quotes and completed.supported:  # a sentence that only has the same figure is about something else
            return completed._replace(repair=f"a claim pointed past its sentence; added {_show(quotes)}")
        computed = _recompute(missing, terms, evidence, judged.contradicted) or _add_up(missing, statement)
        found = self._comparison(statement) if computed else None
        if computed and (judged.contradicted or (found and found.may_be_turned)):  # "fell by 125" for "rose by 125"
            reason = f"Its figure follows, but maybe not what it says of it: {'; '.join(computed)}."
            return judged._replace(supported=None, contradicted=False, missing=(), reason=reason)
        if computed:
            reason = f"It follows from its evidence: {'; '.join(computed)}."
            return Judged(statement, True, reason, shown=f"{COMPUTED}: {'; '.join(computed)}")
        return judged

    def _verdict(self, statement: Statement) -> Judged:
        """Return the verdict of the rules on a statement and its evidence. Equal statements are judged once."""
        computed = tuple(
            (each.purpose, each.source, each.columns, each.rows, tuple(item.place for item in each.evidence))
            for each in statement.computations
        )
        key = (statement.text, tuple(item.place for item in statement.evidence), computed)
        if key not in self._verdicts:
            self._verdicts[key] = self._read_verdict(statement)
        return self._verdicts[key]._replace(statement=statement)

    def _read_verdict(self, statement: Statement) -> Judged:
        verbatim = self._is_verbatim(statement)
        found = self._comparison(statement)
        if found is None:
            return self._unread(statement, verbatim=verbatim)
        missing = tuple(token.written for token in found.missing)
        telling = tuple(token.written for token in found.missing if token.kind != "word" and not token.is_count)
        if (found.conflicts or telling) and any(item.picture for item in statement.evidence):
            return self._unread(statement, verbatim=verbatim)  # a picture's unit may stand at its axis
        if found.conflicts:
            contradicted = not any(map(_is_none, statement.computations))  # none "could not be read": all could
            verdict = False if contradicted else None
            return Judged(statement, verdict, f"{found.conflicts[0]}.", contradicted=contradicted, missing=telling)
        if found.says_more and self._follows_by_clauses(statement):
            shown = WORD_FOR_WORD if verbatim else _follows(statement, len(statement.evidence))
            return Judged(statement, True, "Its quotes state each of its clauses.", shown=shown)
        if missing:
            return Judged(statement, None, f"Not in its evidence: {', '.join(missing)}.", missing=telling)
        if doubts := found.doubts if found.says_more else ("It says nothing beyond the question",):
            return Judged(statement, None, f"{doubts[0]}.")
        if found.sentences > 1 and not (statement.computations or found.of_rows):
            return Judged(statement, None, "No quote states one of its clauses.")
        shown = WORD_FOR_WORD if verbatim else _follows(statement, found.sentences)
        return Judged(statement, True, "Its evidence contains what it says.", shown=shown)

    def _unread(self, statement: Statement, *, verbatim: bool) -> Judged:
        """Return the verdict on a statement that the rules cannot read word by word. Only a copy is supported."""
        if verbatim:
            return Judged(statement, True, "Its evidence contains what it says.", shown=WORD_FOR_WORD)
        evidence = self._evidence_index(statement)
        terms = [term for term in _exact_terms(statement.text) if term not in evidence and term not in self._asked]
        missing = tuple(term.text for term in terms)
        reason = f"Not in its evidence: {', '.join(missing)}." if missing else "The rules cannot read it."
        return Judged(statement, None, reason, missing=missing)

    def _follows_by_clauses(self, statement: Statement) -> bool:
        """Return whether the quotes of one document state each clause of the statement."""
        if statement.computations:
            return False
        documents: dict[str, list[Evidence]] = {}
        for item in statement.evidence:
            documents.setdefault(item.document_id, []).append(item)
        around = ("\n".join(self._around(item) for item in items) for items in documents.values())
        quotes = ([item.quote for item in items] for items in documents.values())
        return follows_by_clauses(statement.text, list(zip(quotes, around, strict=True)), self._passages_of(statement))

    def _comparison(self, statement: Statement) -> Comparison | None:
        quotes = [item.quote for item in statement.evidence]
        rows = [f"| {' | '.join(map(_cell, row))} |" for each in statement.computations for row in each.rows]
        if "0" not in words_of(statement.text):
            rows += [f"none of {each.purpose.rstrip(' ?.')}" for each in statement.computations if _is_none(each)]
        around = [self._around(item) for item in statement.evidence]
        around += [f"{each.purpose}\n{each.source}\n{' '.join(each.columns)}" for each in statement.computations]
        return check(
            statement.text,
            [*quotes, *rows],
            context="\n".join(around),
            passages=self._passages_of(statement),
            question=self._question,
            is_widespread=lambda word: self._is_widespread(Term(word, "word")),
        )

    def _passages_of(self, statement: Statement) -> list[str]:
        ids = dict.fromkeys(item.chunk_id for item in statement.evidence if item.chunk_id in self._chunks)
        return [self._chunks[each].text for each in ids]

    def _is_verbatim(self, statement: Statement) -> bool:
        """Return whether one quote contains the statement word for word."""
        claim = statement.text
        if has_spaceless(claim):
            return any(fold(claim).rstrip(" .。") in fold(item.quote) for item in statement.evidence)
        said = f" {' '.join(words_of(claim))} "
        return any(said in f" {' '.join(words_of(item.quote))} " for item in statement.evidence)

    def _is_known(self, term: Term) -> bool:
        """Return whether the question contains the term, or the term is a word that several passages contain."""
        return term in self._asked or (term.kind == "word" and self._is_widespread(term))

    def _is_widespread(self, term: Term) -> bool:
        if term not in self._widespread:
            self._widespread[term] = sum(term in passage for passage in self._passages) >= _COMMON
        return self._widespread[term]

    def _find_evidence(self, statement: Statement) -> Judged:
        """Judge a statement that cites no evidence by a quote that contains all its terms.

        A small model finds the answer and then cites no sentence, or a wrong one. Without a quote that supports the
        statement, one that contains all words of the question leaves it open. Otherwise it is rejected.
        """
        terms = [term for term in find_terms(statement.text, min_word=1) if term not in self._asked]
        quotes = [copied] if (copied := self._copied(statement.text)) else [(item,) for item in self._having(terms)]
        read = [self._verdict(statement._replace(evidence=each)) for each in quotes]
        found = [each for each in read if each.supported] or [each for each in read if self._is_on_question(each)]
        if not found:
            return Judged(statement, False, "It names no evidence.")
        return found[0]._replace(repair=f"a claim named no sentence; added {_show(found[0].statement.evidence)}")

    def _is_on_question(self, judged: Judged) -> bool:
        """Return whether the quotes of an open claim contain all words of the question.

        The question's names and figures may also be elsewhere in the passage.
        """
        if not judged.stands:
            return False
        terms = find_terms(self._question)
        words, names = ([term for term in terms if (term.kind == "word") == plain] for plain in (True, False))
        near = self._evidence_index(judged.statement)
        passages = TermIndex("\n".join((self._evidence_text(judged.statement), *self._passages_of(judged.statement))))
        return all(name in passages for name in names) and all(word in near for word in words)

    def _quotes_with(self, missing: Sequence[Term], statement: Statement) -> tuple[Evidence, ...]:
        """Return the quotes that the statement copies, or the quote with all missing terms and most of the question's.

        Return none if different quotes qualify. Quotes with the same words count as one, because overlapping passages
        repeat sentences.
        """
        if copied := self._copied(statement.text):
            return copied
        best = self._having(missing, {item.place for item in statement.evidence})
        return (best[0],) if len({tuple(words_of(item.quote)) for item in best}) == 1 else ()

    def _having(self, missing: Sequence[Term], known: Set[Place] = frozenset()) -> list[Evidence]:
        """Return the quotes with all missing terms that share most terms with the question, without the known ones."""
        asked = find_terms(self._question)
        having = {
            at: sum(term in index for term in asked)
            for at, index in enumerate(self._indexes)
            if missing and self._shown[at].place not in known and all(term in index for term in missing)
        }
        most = max(having.values(), default=0)
        return [self._shown[at] for at, shared in having.items() if most and shared == most]

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
        for many in range(1, _MOST_COPIED + 1):
            for first in range(len(self._shown) - many + 1):
                quotes = self._shown[first : first + many]
                joined = " ".join(self._words[first : first + many])
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
        quotes = [f"{self._around(item)}\n{item.quote}" for item in statement.evidence]
        results = [
            "\n".join(
                (each.purpose, each.source, " ".join(each.columns), *(" ".join(map(_cell, row)) for row in each.rows))
            )
            for each in statement.computations
        ]
        return "\n".join((*quotes, *results))

    def _around(self, item: Evidence) -> str:
        chunk = self._chunks.get(item.chunk_id)
        date = show_date(chunk) if chunk else ""
        return f"{self._location(item, show_proof)}\n{date}\n{self._header(item)}"

    def _place(self, item: Evidence, header: str) -> str:
        """Return the location of a quote, the date of its document and the header of its table."""
        chunk = self._chunks.get(item.chunk_id)
        header = show_words(" ".join(header.split()), item.origin)
        table = f"in a table that begins with {header}" if header and header not in item.quote else ""
        known = (self._location(item, show_location), show_date(chunk) if chunk else "", table)
        return ", ".join(filter(None, known))

    def _location(self, item: Evidence, show: Callable[[Chunk, Sequence[int]], str]) -> str:
        chunk = self._chunks.get(item.chunk_id)
        return show(chunk.model_copy(update={"section": item.section}), item.pages) if chunk else item.name

    def _header(self, item: Evidence) -> str:
        """Return the header of the table that the quote is from. Empty if it is from no table."""
        chunk = self._chunks.get(item.chunk_id)
        if chunk is None or not (chunk.header or chunk.kind is ChunkKind.TABLE) or _is_beside_table(item.quote, chunk):
            return ""
        if chunk.header:
            return chunk.header.text
        return next((line for line in chunk.text.splitlines() if line.startswith("|")), "")


def _is_beside_table(quote: str, chunk: Chunk) -> bool:
    """Return whether the quote starts in a line outside the table of its passage."""
    before, found, _ = chunk.text.partition(quote.partition("\n")[0])
    return bool(found) and not (before.rpartition("\n")[2] + found).startswith("|")


def mark_pictured(judged: Judged, rules: SupportRules) -> Judged:
    """Return the verdict, marked as pictured if the statement is not supported without its picture readings.

    The rules compare the statement with the words that the model read. They cannot tell whether the picture shows them.
    """
    statement = judged.statement
    verbatim = tuple(item for item in statement.evidence if not item.picture)
    if not judged.stands or len(verbatim) == len(statement.evidence):
        return judged
    alone = statement._replace(evidence=verbatim)
    verified = bool(verbatim or alone.computations) and rules.judge(alone).stands
    return judged._replace(pictured=not verified)


def _is_told(statement: Statement) -> bool:
    """Return whether the statement cites only tool results, and takes nothing from them but arguments of the calls."""
    told = [str(item.origin.arguments) for item in statement.evidence if isinstance(item.origin, ToolOutput)]
    if statement.computations or len(told) < len(statement.evidence):
        return False
    own, results = TermIndex("\n".join(told)), TermIndex("\n".join(item.quote for item in statement.evidence))
    terms = find_terms(statement.text, min_word=1)
    return all(term in own or (term.kind == "word" and term not in results) for term in terms)


def _follows(statement: Statement, sentences: int) -> str:
    """Return in words what a supported statement follows from, at least in this number of sentences."""
    if statement.computations:
        return describe_computed(statement.computations)
    return CHECKED if sentences < 2 else f"Follows from {count(len(statement.evidence), 'quote')}"


def _recompute(missing: Sequence[Term], terms: Sequence[Term], evidence: TermIndex, by_chance: bool) -> list[str]:
    """Return the formulas of the missing figures. None if a figure has no formula or a name is missing.

    The operands are the figures that the claim shares with its evidence or, with fewer than two, all of its evidence.
    """
    named = [value for term in terms if term in evidence for value in term.values]
    operands = sorted(named if len(named) > 1 else evidence.amounts, reverse=True)
    telling = [term for term in missing if term.kind != "word"]
    digits = _CHANCE if by_chance else SIGNIFICANT  # a scale may stand in the head of the table
    values = [{*term.values, *(read_number(term.text) if by_chance else ())} for term in telling]
    found = [(term.text, derivation(each, operands, digits)) for term, each in zip(telling, values, strict=True)]
    return [f"{text} = {how}" for text, how in found] if all(how for _, how in found) else []


def _add_up(missing: Sequence[Term], statement: Statement) -> list[str]:
    """Return the formula if only one figure is missing and it is the sum of the only figures of the quotes."""
    figures = [list(find_amounts(item.quote)) for item in statement.evidence]
    telling = [term for term in missing if term.kind != "word"]
    if len(telling) != 1 or any(len(each) != 1 for each in figures):
        return []
    how = total(telling[0].values, [each[0].values for each in figures])
    return [f"{telling[0].text} = {how}"] if how else []


def _exact_terms(text: str) -> list[Term]:
    """Return the figures and names of a text."""
    return [term for term in find_terms(text) if term.kind != "word"]


def _is_none(computation: Computation) -> bool:
    """Return whether the result proves that there is none: it has no row, or only 0."""
    return bool(computation.source) and all(value in (0, None) for row in computation.rows for value in row)


def _cell(value: Scalar | None) -> str:
    return "" if value is None else str(value)


def _show(quotes: Sequence[Evidence]) -> str:
    return ", ".join(repr(item.quote) for item in quotes)
