"""Synthesizer: writes the answer as claims on verified evidence and judges whether the evidence suffices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from multi_agent.agent import AgentCard, AgentKit
from multi_agent.context import Claim, ContextUpdate, Evidence, Note, ResearchContext, Synthesis
from multi_agent.grounding.draft_claims import CheckedClaim, draft_callback
from multi_agent.prompts.show_evidence import (
    renumber_computations,
    select_evidence,
    show_computations,
    show_evidence,
    show_findings,
    show_records,
)
from multi_agent.prompts.show_passages import bullets
from multi_agent.tasks import TaskData


class SynthesisResponse(BaseModel):
    """The model's response, without its claims: their evidence numbers depend on the evidence there is.

    The reasoning comes first, so that the claims follow from it and not the other way round.
    """

    model_config = ConfigDict(extra="forbid")

    reasoning: str = Field(description="how the answer follows from the evidence, or why it does not suffice")
    sufficient: bool = Field(description="whether the evidence answers the question as it was asked")
    short: str = Field(
        description="the bare answer in the fewest words, such as '84 kWh', '3 May 1998', 'Lisbon', 'a loose cable', "
        "'yes'; of several that were asked for all, divided by '; '. Empty if it takes a sentence, if several fit "
        "where one was asked for, or if there is none"
    )
    layout: Literal["prose", "list", "numbered_list"] = Field(description="how the claims are set")
    confidence: float = Field(ge=0, le=1)
    looked_for: list[str] = Field(description="what was searched and read for, one item each")
    found: str = Field(description="what the evidence shows, in one or two sentences")
    missing: list[str] = Field(
        description="what of the question is left open, or what would be needed to answer it; [] if nothing"
    )


class Synthesizer:
    """Answers from evidence and computations only. Claims without either are marked as unsupported."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Synthesizer",
        description="Writes the answer as claims on the evidence and the computations, in the form the question asks "
        "for, drawing together what was answered on the way, and says whether it suffices and what is missing.",
        capabilities=("writing", "comparison", "judging sufficiency"),
        reads=frozenset({"queries", "searched", "scanned", "chunks", "ranking", "evidence", "records"})
        | frozenset({"computations", "findings", "notes"}),
        writes=frozenset({"synthesis"}),
    )

    def __init__(self, kit: AgentKit) -> None:
        self._kit = kit
        self._reasoning = ""

    async def should_activate(self, context: ResearchContext) -> bool:
        return True

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        shown = select_evidence(context, self._kit.settings.records_shown)
        messages = self._kit.require_prompt().render(
            question=context.question,
            intent=context.understanding.intent,
            requirements=bullets(context.understanding.requirements),
            instruction=task.instruction,
            searched=_show_search(context),
            evidence=show_evidence(context, shown),
            computations=show_computations(context),
            findings=show_findings(context),
            records=show_records(context),
            notes=_show_notes(context.notes),
        )
        shape = response_model(tuple(item.number for item in shown), len(context.computations))
        check = partial(_check, context.evidence)
        on_text = draft_callback(task, self.card.name, shape, check, self._kit.publish)
        response: Any = (await self._kit.llm.complete(messages, shape, on_text=on_text)).value
        self._reasoning = response.reasoning
        return ContextUpdate(
            synthesis=Synthesis(
                claims=tuple(_claim(written) for written in response.claims),
                evidence=context.evidence,
                computations=renumber_computations(context),
                **response.model_dump(include=set(SynthesisResponse.model_fields)),
            )
        )

    def explain_reasoning(self) -> str:
        return self._reasoning


@lru_cache(maxsize=128)  # a type and its schema take milliseconds to make
def response_model(evidence: tuple[int, ...], computations: int = 0) -> type[BaseModel]:
    """Return the response model; claims can only cite this evidence and this number of computations."""
    fields: dict[str, Any] = {
        "text": (str, Field(min_length=1, description="one sentence or list entry, without numbers of evidence")),
        "evidence": _numbers(evidence, "numbers of the evidence that states it"),
    }
    if computations:
        fields["computations"] = _numbers(
            range(1, computations + 1), "numbers of the computations that give it, without the C; [] if none does"
        )
    claim: Any = create_model("WrittenClaim", __config__=ConfigDict(extra="forbid"), **fields)
    return create_model(
        "WrittenAnswer",
        __base__=SynthesisResponse,
        claims=(list[claim], Field(description="the answer; [] if the evidence says nothing about the question")),
    )


def _numbers(allowed: Sequence[int], description: str) -> Any:
    """Return a field for a list of these ascending numbers."""
    if not allowed:
        return list[int], Field(max_length=0, description="there is no evidence: []")
    if allowed[-1] - allowed[0] + 1 == len(allowed):  # a much shorter schema than naming each
        return list[Annotated[int, Field(ge=allowed[0], le=allowed[-1])]], Field(description=description)
    choice = list[Literal[tuple(allowed)]]  # type: ignore[misc,valid-type]  # known at run time
    return choice, Field(description=description)


def _claim(written: Any) -> Claim:
    evidence = tuple(dict.fromkeys(written.evidence))
    computations = tuple(dict.fromkeys(getattr(written, "computations", ())))
    return Claim(
        text=written.text, evidence=evidence, computations=computations, supported=bool(evidence or computations)
    )


def _check(evidence: Sequence[Evidence], written: Any) -> CheckedClaim:
    claim = _claim(written)
    return CheckedClaim(claim, tuple(item for item in evidence if item.number in claim.evidence))


def _show_search(context: ResearchContext) -> str:
    """Describe what was searched for and what was read, completely or in part."""
    passages = Counter(chunk.name for chunk in context.chunks)
    parts = [
        f"{name} ({number} of its passages)" for name, number in sorted(passages.items()) if name not in context.scanned
    ]
    lines = [f"Searched for: {'; '.join(context.looked_for)}"] if context.looked_for else []
    lines += [f"Read whole: {', '.join(context.scanned)}"] if context.scanned else []
    lines += [f"Read in part: {', '.join(parts)}"] if parts else []
    return "\n".join(lines) or "Nothing was read."


def _show_notes(notes: Sequence[Note]) -> str:
    return "\nNotes of other agents:\n" + bullets([f"{note.agent}: {note.text}" for note in notes]) if notes else ""
