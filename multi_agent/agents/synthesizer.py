"""The Synthesizer, which writes the answer as claims with verified evidence and judges whether it is sufficient."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal, TypeVar

from pydantic import ConfigDict, Field

from base.models import FrozenModel
from multi_agent.agent import AgentCard, StepAgent
from multi_agent.errors import PromptTooLong
from multi_agent.grounding.draft_claims import CheckedClaim, draft_callback
from multi_agent.grounding.judged import Judged, Statement
from multi_agent.grounding.reading_order import ReadingOrder
from multi_agent.grounding.support import SupportRules, mark_pictured
from multi_agent.grounding.support_check import SupportCheck
from multi_agent.grounding.written_answer import (
    ResponseClaim,
    WrittenResponse,
    answers_absence,
    build_synthesis,
    describe_answer,
    describe_read,
)
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_evidence import (
    cut_evidence,
    describe_left_out,
    renumber_computations,
    select_evidence,
    show_computations,
    show_evidence,
    show_findings,
    show_records,
)
from multi_agent.prompts.show_passages import bullets
from multi_agent.prompts.show_task import show_task, show_today
from multi_agent.values.context import Computation, ContextUpdate, Evidence, ResearchContext
from multi_agent.values.evidence_events import EvidenceRejected
from multi_agent.values.tasks import TaskData

T = TypeVar("T", Evidence, Computation)


class WrittenClaim(ResponseClaim):
    evidence: list[int] = Field(description="numbers of the quotes that state it")
    text: str = Field(min_length=1, description="the claim, in one sentence or list entry")

    @property
    def references(self) -> Sequence[int]:
        return self.evidence


class WrittenAnswer(WrittenResponse[WrittenClaim]):
    pass


class ComputedClaim(WrittenClaim):
    computations: list[int] = Field(description="numbers of the computations that give it, without the C; [] if none")

    @property
    def references(self) -> Sequence[int]:
        return [*self.evidence, *self.computations]


class ComputedAnswer(WrittenResponse[ComputedClaim]):
    model_config = ConfigDict(title="WrittenAnswer")


_FORMS = {"prose": "as connected sentences", "list": "as a list", "numbered_list": "as a numbered list"}


class SynthesizerInputs(FrozenModel):
    """The inputs that a saved plan can set."""

    format: Literal["as asked", "prose", "list", "numbered_list"] = Field(
        default="as asked", description="form of the answer; by default the form that the question asks for"
    )


class Synthesizer(StepAgent):
    """Answers from evidence and computations only. Checks that they support the claims."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Synthesizer",
        description="Writes the answer as claims on the evidence and the computations, in the form the question asks "
        "for, and says whether they suffice and what is missing.",
        capabilities=("writing", "comparison", "judging sufficiency"),
        reads=frozenset({"queries", "searched", "scanned", "chunks", "ranking", "evidence", "records"})
        | frozenset({"computations", "findings", "notes"}),
        writes=frozenset({"synthesis"}),
        inputs=SynthesizerInputs,
        planned_inputs=False,
        listens_to=frozenset({"contradiction_found"}),
    )

    async def should_activate(self, context: ResearchContext) -> bool:
        """Return whether anything was searched or found. An answer may state that the search found nothing.

        Contradictions do not wake the agent. It reads them when it writes the answer.
        """
        known = (context.chunks, context.evidence, context.computations, context.records, context.notes)
        return self._kit.wake is None and bool(context.looked_for or context.scanned or any(known))

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        selected = select_evidence(context, self._kit.settings.records_shown)
        for shown, longest in cut_evidence(selected):
            try:
                return await self._write(context, task, shown, longest)
            except PromptTooLong as error:
                too_long = error
        raise too_long

    async def _write(
        self, context: ResearchContext, task: TaskData, shown: Sequence[Evidence], longest: int
    ) -> ContextUpdate:
        """Write the answer from the shown quotes. Raises PromptTooLong if they do not fit into the window."""
        form = SynthesizerInputs.model_validate(task.inputs.model_dump()).format
        wanted = f" {Prompt.part('answer_form', form=_FORMS[form])}" if form != "as asked" else ""
        notes = [f"{note.agent}: {note.text}" for note in context.notes]
        messages = self._kit.require_prompt().render(
            today=show_today(context),
            task=show_task(context, instruction=f"{task.instruction}{wanted}"),
            read=f"Read completely: {', '.join(context.scanned)}\n" if context.scanned else "",
            evidence=show_evidence(context, shown, longest),
            computations=show_computations(context),
            findings=show_findings(context),
            records=show_records(context, shown),
            notes=f"\nNotes of other agents:\n{bullets(notes)}" if notes else "",
        )
        shape: type[WrittenAnswer | ComputedAnswer] = ComputedAnswer if context.computations else WrittenAnswer
        sources = _Sources(context, shown)
        on_text = draft_callback(task, self.card.name, shape, sources.check_draft, self._kit.publish)
        response = (await self._kit.llm.complete(messages, shape, on_text=on_text)).value
        if form != "as asked":
            response = response.model_copy(update={"layout": form})
        judged = await self._judge(response, sources)
        synthesis = build_synthesis(
            response,
            judged,
            context.question,
            sources.rules,
            evidence=context.evidence,
            computations=sources.computations,
            looked_for=context.looked_for,
            found=describe_read(context.chunks, context.computations),
        )
        if left_out := describe_left_out(context, shown, longest):
            synthesis = synthesis.model_copy(update={"missing": (*synthesis.missing, left_out)})
        self._reasoning = describe_answer("", synthesis)
        return ContextUpdate(synthesis=synthesis)

    async def _judge(self, response: WrittenAnswer | ComputedAnswer, sources: _Sources) -> list[Judged]:
        for number in dict.fromkeys(number for claim in response.claims for number in sources.unknown(claim)):
            reason = f"There is no evidence {number}."
            rejected = EvidenceRejected(
                quote=f"[{number}]", passage="", reason=reason, final=True, agent=self.card.name
            )
            await self._kit.publish(rejected)
        ask = self._kit.checks_claims and response.sufficient  # the check rejects answers that only come close
        question, kit, rules = sources.question, self._kit, sources.rules.with_short(response.short)
        check = SupportCheck(rules, question, self.card.name, kit.llm, kit.publish, ask=ask)
        absent = answers_absence(response, question)
        claims = () if absent else response.claims
        bare = response.short.strip() if response.sufficient and not absent else ""
        return await check.judge((sources.statement(claim) for claim in claims), bare)


class _Sources:
    """The evidence and computations that claims can cite, by number."""

    def __init__(self, context: ResearchContext, shown: Sequence[Evidence]) -> None:
        self.question = context.question
        self.computations = renumber_computations(context)
        citable = shown if context.computations else context.evidence  # answers on the way name quotes that were cut
        self._evidence = {item.number: item for item in citable}
        self._computed = {each.number: each for each in self.computations}
        syntheses = (finding.synthesis for finding in context.findings)
        claims = (claim for each in syntheses for claim in each.claims)
        confirmed = (claim.text for claim in claims if claim.supported and not claim.pictured)
        self.rules = SupportRules(self.question, shown, context.chunks, confirmed=confirmed)
        self._draft_order = ReadingOrder()

    def statement(self, written: WrittenClaim) -> Statement:
        """Return the claim with the cited evidence and computations that exist."""
        return Statement(
            written.text, _known(written.evidence, self._evidence), _known(_computations(written), self._computed)
        )

    def unknown(self, written: WrittenClaim) -> list[int]:
        """Return the cited evidence numbers that do not exist."""
        return [number for number in written.evidence if number not in self._evidence]

    def check_draft(self, written: WrittenClaim) -> CheckedClaim:
        judged = mark_pictured(self.rules.judge(self.statement(written)), self.rules)
        evidence = self._draft_order.number(judged.statement.evidence)
        return CheckedClaim(judged.claim(written.text, tuple(item.number for item in evidence)), evidence)


def _known(numbers: Iterable[int], items: Mapping[int, T]) -> tuple[T, ...]:
    return tuple(items[number] for number in dict.fromkeys(numbers) if number in items)


def _computations(written: WrittenClaim) -> Sequence[int]:
    return written.computations if isinstance(written, ComputedClaim) else ()
