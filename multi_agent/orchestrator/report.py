"""Puts the answer of a report together: the summary, the sections, and what the analyst found between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from multi_agent.model import Usage
from multi_agent.orchestrator.sections import ResearchedSection
from multi_agent.prompt import Prompt
from multi_agent.values.answer import Answer, Computed, Quote, Status
from multi_agent.values.context import AnswerPart, Claim, ResearchContext
from multi_agent.values.plan import Plan, Step
from multi_agent.values.report import PlannedSection, ReportFormat, ReportSection

_ANALYSIS = "analysis"


def closing_plan(question: str, form: ReportFormat) -> Plan:
    """Return the plan of what is written after the sections."""
    inputs: dict[str, Any] = {"focus": question}
    layout: dict[str, Any] = {"format": "list" if form == "bullet_points" else "prose"}
    return Plan(
        goal=question,
        mode="direct",
        steps=(
            Step(id=_ANALYSIS, agents=("FindingsAnalyst",), instruction="", inputs=inputs),
            Step(
                id="summary",
                agents=("Synthesizer",),
                instruction=Prompt.part("report_summary"),
                needs=(_ANALYSIS,),
                inputs=layout,
            ),
        ),
    )


def as_outline(answer: Answer, outline: Sequence[PlannedSection]) -> Answer:
    """Return the answer of a run that only proposes an outline."""
    sections = tuple(ReportSection(title=each.title, claims=0, question=each.question) for each in outline)
    return answer.model_copy(update={"sections": sections})


def as_report(
    answer: Answer, form: ReportFormat, done: Sequence[ResearchedSection], context: ResearchContext | None
) -> Answer:
    """Return the answer with the claims of all sections and their evidence, numbered in reading order.

    ``answer`` is the summary, or says why there is none. Its usage gets that of the sections that this report paid for.
    """
    merged = _Merged([quote for each in done for quote in each.answer.evidence])
    academic = form == "academic"
    opening = ReportSection(title="Abstract" if academic else "Summary", claims=0)
    merged.add(opening, answer.claims, answer.evidence, answer.computations)
    for each in done if form != "executive_summary" else ():
        found = each.answer
        claims = found.claims if each.answered else ()
        merged.add(_heading(each), claims, found.evidence, found.computations)
    if form == "executive_summary":
        runs = tuple(str(_heading(each)) for each in done)
        merged.add(ReportSection(title="Sections", claims=0, notes=runs), (), (), ())
    for analysis in [each.synthesis for each in context.findings if each.step == _ANALYSIS][-1:] if context else ():
        quotes = [Quote.of(item, item.name) for item in analysis.evidence]
        gaps = tuple(f"Gap: {gap}" for gap in analysis.missing)
        title = "Discussion" if academic else "Agreements, conflicts and gaps"
        merged.add(ReportSection(title=title, claims=0, notes=gaps), analysis.claims, quotes, ())
    verdicts = ((each.planned.title, "answered" if each.answered else "not_found") for each in done)
    unanswered = (f"{each.planned.title}: {each.answer.outcome}" for each in done if not each.answered)
    paid = sum((each.answer.usage for each in done if not each.planned.run), Usage())
    return answer.model_copy(
        update={
            "status": _status(answer, done),
            "answer": merged.text(listed=form == "bullet_points"),
            "short": "",
            "nearest": None,
            "claims": tuple(merged.claims),
            "evidence": tuple(merged.evidence()),
            "computations": tuple(merged.computations),
            "sections": tuple(merged.sections),
            "parts": tuple(AnswerPart.model_validate({"part": title, "verdict": each}) for title, each in verdicts),
            "missing": (*answer.missing, *unanswered),
            "coverage": max((each.answer.coverage for each in done), key=lambda read: read.chunks_considered),
            "summary": _summary(answer, done),
            "usage": (answer.usage + paid).model_copy(update={"seconds": answer.usage.seconds}),
        }
    )


def _status(answer: Answer, done: Sequence[ResearchedSection]) -> Status:
    if answer.status in (Status.FAILED, Status.CANCELLED):
        return answer.status
    if answer.status is Status.ANSWERED and all(each.answer.status is Status.ANSWERED for each in done):
        return Status.ANSWERED
    return Status.PARTIAL if any(each.answered for each in done) else Status.INSUFFICIENT


def _summary(answer: Answer, done: Sequence[ResearchedSection]) -> Any:
    """Return the statistics of all runs. Of the documents and pages read, those of the section that read the most."""
    own, others = answer.summary, [each.answer.summary for each in done]
    added = ("attempts", "steps_completed", "steps_failed", "steps_skipped", "quotes", "records", "computations")
    sums = {name: sum(getattr(each, name) for each in (own, *others)) for name in added}
    most = {
        name: getattr(own, name).model_copy(update={"read": max(getattr(each, name).read for each in others)})
        for name in ("documents", "pages", "web_pages")
    }
    return own.model_copy(update={**sums, **most, "sources_analysed": max(each.sources_analysed for each in others)})


def _heading(section: ResearchedSection) -> ReportSection:
    """Return the section without its claims. If it has no answer, its notes say what was searched, and why."""
    answer = section.answer
    notes = (*answer.missing,) if section.answered else tuple(_unanswered(answer))
    given = {"title": section.planned.title, "question": answer.question, "run": answer.run_id}
    return ReportSection(**given, claims=0, outcome=answer.outcome, notes=notes)


def _unanswered(answer: Answer) -> Iterator[str]:
    yield f"No answer ({answer.outcome}). {answer.reasoning}".strip()
    if answer.looked_for:
        yield f"Searched for: {'; '.join(answer.looked_for)}"
    if answer.found:
        yield answer.found
    yield from (f"Missing: {each}" for each in answer.missing)


class _Merged:
    """Claims, evidence and computations of several answers with common numbers."""

    def __init__(self, quotes: Sequence[Quote]) -> None:
        """``quotes`` name the passages as stored, which those of the summary do not."""
        self._stored = {_place(quote): quote for quote in quotes}
        self._numbers: dict[tuple[str, int, int, str], int] = {}
        self.sections: list[ReportSection] = []
        self.claims: list[Claim] = []
        self.computations: list[Computed] = []

    def add(
        self, section: ReportSection, claims: Sequence[Claim], quotes: Sequence[Quote], computed: Sequence[Computed]
    ) -> None:
        known = {quote.number: quote for quote in quotes}
        own = {each.number: self._computed(each) for each in computed}
        for claim in claims:
            evidence = tuple(self._number(known[number]) for number in claim.evidence if number in known)
            numbers = tuple(own[number] for number in claim.computations if number in own)
            self.claims.append(claim.model_copy(update={"evidence": evidence, "computations": numbers}))
        self.sections.append(section.model_copy(update={"claims": len(claims)}))

    def _number(self, quote: Quote) -> int:
        self._stored.setdefault(_place(quote), quote)
        return self._numbers.setdefault(_place(quote), len(self._numbers) + 1)

    def _computed(self, computed: Computed) -> int:
        for each in self.computations:
            if (each.purpose, each.sql, each.rows) == (computed.purpose, computed.sql, computed.rows):
                return each.number
        evidence = tuple(quote.model_copy(update={"number": self._number(quote)}) for quote in computed.evidence)
        number = len(self.computations) + 1
        self.computations.append(computed.model_copy(update={"number": number, "evidence": evidence}))
        return number

    def evidence(self) -> Iterator[Quote]:
        for place, number in self._numbers.items():
            yield self._stored[place].model_copy(update={"number": number})

    def text(self, *, listed: bool) -> str:
        """Return the report as text: the title of each section, its claims and its notes."""
        claims = iter(self.claims)
        blocks = []
        for section in self.sections:
            marked = [next(claims).marked for _ in range(section.claims)]
            body = [f"- {each}" for each in marked] if listed else [" ".join(marked)]
            blocks.append("\n".join(filter(None, (section.title, *body, *section.notes))))
        return "\n\n".join(blocks)


def _place(quote: Quote) -> tuple[str, int, int, str]:
    return quote.document_id, quote.start, quote.end, quote.quote
