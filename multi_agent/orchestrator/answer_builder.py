"""The account of a run: its answer with all that belongs to it, in whatever state it ends."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from multi_agent.answer import (
    Answer,
    Computed,
    Coverage,
    ExecutionSummary,
    Quote,
    Status,
    SubAnswer,
    known_so_far,
    status_of,
)
from multi_agent.context import Finding, ResearchContext, Synthesis
from multi_agent.events import AttemptEnded, Event, StepFailed, StepFinished, StepSkipped
from multi_agent.library import CatalogueEntry

_OUTCOMES = {StepFinished: "completed", StepFailed: "failed", StepSkipped: "skipped"}


class AnswerBuilder:
    """Kept by listening to a run's events, and to what the run tells it of: its mode, catalogue and context."""

    def __init__(self, run_id: str, question: str, mode: str) -> None:
        self._run_id, self._question = run_id, question
        self.mode = mode
        self.catalogue: Sequence[CatalogueEntry] = ()
        self._attempts = 0
        self._turns: defaultdict[str, Counter[str]] = defaultdict(Counter)

    async def listen(self, event: Event) -> None:
        """Count attempts, and what became of the agents' turns."""
        body = event.body
        if isinstance(body, AttemptEnded):
            self._attempts += 1
        elif isinstance(body, StepFinished | StepFailed | StepSkipped):
            self._turns[body.agent][_OUTCOMES[type(body)]] += 1

    def answered(self, synthesis: Synthesis, context: ResearchContext) -> Answer:
        """The end with an answer, or with the finding that there is none."""
        return self.ended(status_of(synthesis), synthesis.reasoning, context).model_copy(
            update={
                "answer": synthesis.text,
                "short": synthesis.short,
                "claims": synthesis.claims,
                "evidence": tuple(Quote.of(item) for item in synthesis.evidence),
                "records": tuple(record.values for record in context.records),
                "computations": tuple(Computed.of(each) for each in synthesis.computations),
                "confidence": synthesis.confidence,
                "looked_for": synthesis.looked_for,
                "found": synthesis.found,
                "missing": synthesis.missing,
            }
        )

    def cut_short(self, reason: str, context: ResearchContext | None, best: Synthesis | None = None) -> Answer:
        """The end before there was an answer: insufficient, with the best that was written, or what is known so far."""
        if context is None:
            return self.ended(Status.INSUFFICIENT, reason, None)
        if best is None:
            return self.answered(known_so_far(context, reason), context)
        told = {"sufficient": False, "reasoning": f"{reason} Until then: {best.reasoning}"}
        return self.answered(best.model_copy(update=told), context)

    def ended(self, status: Status, reason: str, context: ResearchContext | None) -> Answer:
        """The end without an answer; the context is None if the run ended before there was one."""
        return Answer(
            run_id=self._run_id,
            status=status,
            mode=self.mode,
            question=self._question,
            reasoning=reason,
            on_the_way=_on_the_way(context) if context and self.mode == "high" else (),
            coverage=self._coverage(context),
            summary=self._summary(context),
        )

    def _coverage(self, context: ResearchContext | None) -> Coverage:
        chunks = context.chunks if context else ()
        return Coverage(
            documents_considered=len({chunk.document_id for chunk in chunks}),
            documents_total=len(self.catalogue),
            chunks_considered=len(chunks),
            chunks_total=sum(entry.chunks for entry in self.catalogue),
        )

    def _summary(self, context: ResearchContext | None) -> ExecutionSummary:
        totals = sum(self._turns.values(), Counter[str]())
        return ExecutionSummary(
            attempts=self._attempts,
            steps={agent: dict(counted) for agent, counted in sorted(self._turns.items())},
            steps_completed=totals["completed"],
            steps_failed=totals["failed"],
            steps_skipped=totals["skipped"],
            sources_analysed=len({chunk.document_id for chunk in context.chunks}) if context else 0,
            quotes=len(context.evidence) if context else 0,
            records=len(context.records) if context else 0,
            computations=len(context.computations) if context else 0,
        )


def _on_the_way(context: ResearchContext) -> tuple[SubAnswer, ...]:
    return tuple(_sub_answer(each) for each in context.findings)


def _sub_answer(finding: Finding) -> SubAnswer:
    """Without marks: the numbers of its evidence are its own, and not those of the answer."""
    told = " ".join(claim.text for claim in finding.synthesis.claims) or finding.synthesis.found
    return SubAnswer(step=finding.step, question=finding.question, answer=told, sufficient=finding.synthesis.sufficient)
