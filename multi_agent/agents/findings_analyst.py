"""The FindingsAnalyst, which lists agreements, differences, conflicts and gaps among what earlier steps found."""

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from base.counts import count
from base.models import FrozenModel
from multi_agent.agent import AgentCard, StepAgent, StepOutput
from multi_agent.grounding.citations import unknown_numbers
from multi_agent.grounding.confidence import SHARE_RIGHT, describe_basis, signal_of
from multi_agent.grounding.judged import Judged, Statement
from multi_agent.grounding.support import SupportRules
from multi_agent.grounding.support_check import SupportCheck
from multi_agent.prompts.show_evidence import show_computations, show_evidence, show_findings
from multi_agent.prompts.show_task import show_task, show_today
from multi_agent.values.context import ContextUpdate, Evidence, Finding, Note, ResearchContext, Synthesis
from multi_agent.values.evidence_events import ContradictionFound, EvidenceRejected
from multi_agent.values.tasks import TaskData

AnalysisType = Literal["agreements", "differences", "conflicts", "gaps"]


class FindingsAnalystInputs(FrozenModel):
    """What the planner gives the FindingsAnalyst."""

    focus: str = Field(min_length=1, description="what to compare the findings for, complete in itself")
    sources: tuple[str, ...] = Field(
        default=(), max_length=13, description="ids of the earlier steps whose answers to compare; [] for all"
    )
    analysis_types: tuple[AnalysisType, ...] = Field(
        default=("agreements", "differences", "conflicts", "gaps"), min_length=1, description="what to list"
    )


class Point(BaseModel):
    # The quotes come before the text: the model cites first. No docstring: the schema would show it.
    model_config = ConfigDict(extra="forbid")

    kind: Literal["agreement", "difference", "conflict", "gap"]
    one: list[int] = Field(description="numbers of the quotes of one side; [] for a gap")
    other: list[int] = Field(description="numbers of the quotes of the other side; [] for a gap")
    text: str = Field(min_length=1, description="the point, in one sentence")


class FindingsAnalysis(BaseModel):
    model_config = ConfigDict(extra="forbid")

    points: list[Point] = Field(json_schema_extra={"maxItems": 20})


class FindingsAnalystOutput(StepOutput):
    """The output of the analysis for later steps."""

    conflicts: list[str] = Field(description="what the sources say differently, a sentence each")
    gaps: list[str] = Field(description="what no source says, a sentence each")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        claims = (claim.text for each in update.findings for claim in each.synthesis.claims)
        gaps = [gap for each in update.findings for gap in each.synthesis.missing]
        return cls(conflicts=list(filter(is_conflict, claims)), gaps=gaps)


def is_conflict(text: str) -> bool:
    """Return whether a claim of an analysis is a conflict."""
    return text.startswith("Conflict: ")


class FindingsAnalyst(StepAgent):
    """Compares findings. Keeps an agreement or conflict only with a quote on each side that supports it."""

    card: ClassVar[AgentCard] = AgentCard(
        name="FindingsAnalyst",
        description="Compares what earlier steps found, and lists agreements, differences, conflicts and gaps with "
        "quotes of both sides. Before the answer, if sources may disagree or are to be compared.",
        capabilities=("cross-checking sources", "finding differences", "finding conflicts", "finding gaps"),
        requires=frozenset({"evidence"}),
        reads=frozenset({"chunks", "findings", "computations"}),
        writes=frozenset({"findings", "notes"}),
        instructed=False,
        inputs=FindingsAnalystInputs,
        outputs=FindingsAnalystOutput,
    )

    async def should_activate(self, context: ResearchContext) -> bool:
        return bool(context.evidence)

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        inputs = FindingsAnalystInputs.model_validate(task.inputs.model_dump())
        context, lacking = _only_of(context, inputs.sources)
        messages = self._kit.require_prompt().render(
            types=", ".join(f"`{each.removesuffix('s')}`" for each in inputs.analysis_types),
            today=show_today(context),
            evidence=show_evidence(context, context.evidence),
            computations=show_computations(context),
            findings=show_findings(context),
            task=show_task(context, inputs.focus),
        )
        response = (await self._kit.llm.complete(messages, FindingsAnalysis)).value
        points = [point for point in response.points if f"{point.kind}s" in inputs.analysis_types]
        gaps = tuple(point.text for point in points if point.kind == "gap")
        judged = await self._judge([point for point in points if point.kind != "gap"], context)
        synthesis = _synthesis(judged, gaps, context, inputs.focus)
        compared = f" Compared all quotes, because no answer is from {lacking}." if lacking else ""
        self._reasoning = f"{inputs.focus} {synthesis.short}{compared}"
        finding = Finding(step=task.step, question=inputs.focus, synthesis=synthesis)
        notes = [Note(agent=self.card.name, text=f"Gap: {gap}") for gap in gaps]
        named = {number for point in points for number in (*point.one, *point.other)}
        notes += unknown_numbers(self.card.name, named - {item.number for item in context.evidence})
        return ContextUpdate(findings=(finding,), notes=tuple(notes))

    async def _judge(self, points: Sequence[Point], context: ResearchContext) -> list[Judged]:
        """Return the points that have quotes on both sides and stand. Publish the conflicts and what was rejected."""
        known = {item.number: item for item in context.evidence}
        sided: list[tuple[Point, tuple[Evidence, ...], tuple[Evidence, ...]]] = []
        for point in points:
            one, other = (
                tuple(known[number] for number in dict.fromkeys(side) if number in known)
                for side in (point.one, point.other)
            )
            if one and other and {item.place for item in one}.isdisjoint(item.place for item in other):
                sided.append((point, one, other))
            else:
                await self._reject(point)
        rules = SupportRules(context.question, context.evidence, context.chunks)
        kit, ask = self._kit, self._kit.checks_claims
        check = SupportCheck(rules, context.question, self.card.name, kit.llm, kit.publish, ask=ask)
        judged = await check.judge(Statement(point.text, (*one, *other)) for point, one, other in sided)
        kept = [(*sides, each) for sides, each in zip(sided, judged, strict=True) if each.stands]
        for point, one, other, _ in kept:
            if point.kind == "conflict":
                shown = tuple(f"“{side[0].quote}” ({side[0].name})" for side in (one, other))
                await kit.publish(ContradictionFound(agent=self.card.name, sides=shown))
        named = ((f"{point.kind.capitalize()}: {point.text}", each) for point, _, _, each in kept)
        return [each._replace(statement=each.statement._replace(text=text)) for text, each in named]

    async def _reject(self, point: Point) -> None:
        quote, reason = f"{point.one} / {point.other}", f"“{point.text}” needs different quotes on its two sides."
        rejected = EvidenceRejected(quote=quote, passage="", reason=reason, final=True, agent=self.card.name)
        await self._kit.publish(rejected)


def _only_of(context: ResearchContext, steps: Sequence[str]) -> tuple[ResearchContext, str]:
    """Return the context with the findings of these steps and their evidence, and the steps that have none.

    Quotes do not name the step that read them. So if a step has only quotes, the context is returned whole.
    """
    findings = tuple(each for each in context.findings if each.step in steps)
    if lacking := [step for step in steps if step not in {each.step for each in findings}]:
        return context, ", ".join(lacking)
    if not steps:
        return context, ""
    places = {item.place for each in findings for item in each.synthesis.evidence}
    evidence = tuple(item for item in context.evidence if item.place in places)
    return context.model_copy(update={"findings": findings, "evidence": evidence}), ""


def _synthesis(judged: Sequence[Judged], gaps: tuple[str, ...], context: ResearchContext, focus: str) -> Synthesis:
    """Return the analysis as an answer to its focus. It is sufficient, whatever it lists."""
    kinds = Counter(each.statement.text.partition(":")[0].casefold() for each in judged)
    kinds["gap"] = len(gaps)
    signal = signal_of(judged, focus, sufficient=True)
    return Synthesis(
        claims=tuple(
            each.claim(each.statement.text, tuple(sorted(item.number for item in each.statement.evidence)))
            for each in judged
        ),
        short=", ".join(count(kinds[kind], kind) for kind in ("agreement", "difference", "conflict", "gap")),
        evidence=context.evidence,
        layout="list",
        sufficient=True,
        confidence=SHARE_RIGHT[signal],
        basis=describe_basis(signal, judged, ()),
        reasoning="Each side of a point has a quote.",
        looked_for=(),
        found="",
        missing=gaps,
    )
