"""Builds the answer of a run for every terminal state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from base.counts import count
from multi_agent.grounding.reading_order import in_reading_order
from multi_agent.library import CatalogueEntry
from multi_agent.orchestrator.run_counter import RunCounter, coverage
from multi_agent.values.answer import (
    Answer,
    Computed,
    Coverage,
    Quote,
    Status,
    SubAnswer,
    known_so_far,
    nearest_of,
    status_of,
)
from multi_agent.values.context import Finding, ResearchContext, Synthesis
from multi_agent.values.document_filter import Selection
from multi_agent.values.request import Request
from vectorstore.text.languages import language_note


class AnswerBuilder:
    """Builds the answer of a run. The run sets the public attributes as soon as their values are available."""

    def __init__(self, run_id: str, request: Request, counter: RunCounter, searched: Selection | None = None) -> None:
        self._run_id, self._request, self._searched = run_id, request, searched
        self.mode: str = request.mode if request.mode != "auto" else ""
        self.catalogue: Sequence[CatalogueEntry] = ()
        self.completed_question = ""
        self.not_asked: Mapping[str, str] = {}
        self._counter = counter

    def from_synthesis(self, synthesis: Synthesis, context: ResearchContext) -> Answer:
        """Build the answer that an agent wrote, with its evidence numbered in reading order.

        For a strict request, an insufficient answer has no claims.
        """
        status = status_of(synthesis)
        is_answered = status in (Status.ANSWERED, Status.PARTIAL)
        if self._request.strict and status is Status.INSUFFICIENT:
            synthesis = synthesis.model_copy(update={"claims": (), "evidence": (), "computations": ()})
        synthesis = in_reading_order(synthesis)
        names = _document_names(synthesis)
        reason = _said(context, synthesis) if is_answered else synthesis.reasoning
        plain = self._answer(status, reason, context, synthesis)
        left_out = _left_out(plain.coverage)
        return plain.model_copy(
            update={
                "checks": synthesis.reasoning,
                "answer": synthesis.text,
                "short": synthesis.short if is_answered else "",
                "nearest": None if is_answered else nearest_of(synthesis),
                "parts": synthesis.parts,
                "clarification": synthesis.clarification,
                "claims": synthesis.claims,
                "evidence": tuple(Quote.of(item, names[item.document]) for item in synthesis.evidence),
                "records": tuple(record.values for record in context.records),
                "computations": tuple(Computed.of(each, names) for each in synthesis.computations),
                "confidence": synthesis.confidence,
                "basis": "; ".join((synthesis.basis, *left_out)),
                "looked_for": synthesis.looked_for,
                "found": synthesis.found,
                "missing": (*synthesis.missing, *left_out, *(() if is_answered else self._notes())),
            }
        )

    def _notes(self) -> Iterator[str]:
        """Yield why agents could not be asked, and a note if the question is in another language than all documents."""
        yield from (f"{name} {reason}" for name, reason in self.not_asked.items())
        languages = Counter(entry.language for entry in self.catalogue if entry.language)
        if note := language_note(self.completed_question or self._request.question, languages, None):
            yield note

    def partial(self, reason: str, context: ResearchContext | None, best: Synthesis | None = None) -> Answer:
        """Build an insufficient answer for a run that ends early, from the best answer or the quotes so far."""
        if context is None:
            return self.without_synthesis(Status.INSUFFICIENT, reason, None)
        if best is None:
            return self.from_synthesis(known_so_far(context, reason), context)
        insufficient = {"sufficient": False, "reasoning": f"{reason} Until then: {best.reasoning}"}
        return self.from_synthesis(best.model_copy(update=insufficient), context)

    def without_synthesis(self, status: Status, reason: str, context: ResearchContext | None) -> Answer:
        """Build an answer without text. ``context`` is None if the run ended before it had one."""
        return self._answer(status, reason, context, None)

    def _answer(
        self, status: Status, reason: str, context: ResearchContext | None, synthesis: Synthesis | None
    ) -> Answer:
        return Answer(
            run_id=self._run_id,
            status=status,
            mode=self.mode,
            question=self._request.question,
            completed_question=self.completed_question,
            reasoning=reason,
            on_the_way=tuple(map(_sub_answer, context.findings)) if context and self.mode == "high" else (),
            votes=self._counter.votes,
            contradictions=self._counter.contradictions,
            searched=self._searched,
            coverage=coverage(context, self.catalogue),
            summary=self._counter.summary(context, self.catalogue, synthesis),
        )


def _left_out(coverage: Coverage) -> tuple[str, ...]:
    """Return how many documents were read completely, if a scan left some out."""
    total = coverage.documents_total
    return (f"only {coverage.scanned} of {count(total, 'document')} read completely",) if coverage.partial else ()


def _said(context: ResearchContext, answer: Synthesis) -> str:
    """Return what the agents said, in order, without the results of checks."""
    checks = {answer.reasoning, *(finding.synthesis.reasoning for finding in context.findings)}
    lines = []
    for message in context.messages:
        if message.type == "reasoning_shared":
            check = next((each for each in checks if each and message.content.endswith(each)), "")
            said = message.content.removesuffix(check).strip() or " ".join((answer.short, answer.found)).strip()
            lines.append(f"{message.sender}: {said}")
    return "\n".join(dict.fromkeys(lines))


def _document_names(synthesis: Synthesis) -> dict[str, str]:
    """Return the name of each document by its path. Documents with the same name also get their differing folders."""
    cited = (*synthesis.evidence, *(item for each in synthesis.computations for item in each.evidence))
    names = {item.document: item.name for item in cited}
    for _ in range(max((len(PurePath(path).parts) for path in names), default=0)):
        counted = Counter(names.values())
        names |= {path: _longer(name, path) for path, name in names.items() if counted[name] > 1}
    return names


def _longer(name: str, path: str) -> str:
    """Return the name with one more parent folder from the path."""
    return "/".join(PurePath(path).parts[-len(PurePath(name).parts) - 1 :])


def _sub_answer(finding: Finding) -> SubAnswer:
    """Return the finding without reference marks, because its evidence is numbered differently in the answer."""
    text = " ".join(claim.text for claim in finding.synthesis.claims) or finding.synthesis.reasoning
    return SubAnswer(step=finding.step, question=finding.question, answer=text, sufficient=finding.synthesis.sufficient)
