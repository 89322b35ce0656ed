"""Synthesizer: writes the answer as claims on verified evidence, and says whether the evidence suffices."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from multi_agent.agent import AgentCard, AgentKit
from multi_agent.context import Claim, ContextUpdate, Evidence, Note, ResearchContext, Synthesis
from multi_agent.reading import bullets, show_pages
from multi_agent.tasks import TaskData
from vectorstore.models import Chunk, ChunkKind


class SynthesisResponse(BaseModel):
    """The model's response, without its claims: their evidence numbers depend on the evidence there is.

    The reasoning comes first, so that the claims follow from it and not the other way round.
    """

    model_config = ConfigDict(extra="forbid")

    reasoning: str = Field(description="how the answer follows from the evidence, or why it does not suffice")
    sufficient: bool = Field(description="whether the evidence answers the question as it was asked")
    layout: Literal["prose", "list", "numbered_list"] = Field(description="how the claims are set")
    confidence: float = Field(ge=0, le=1)
    looked_for: list[str] = Field(description="what was searched and read for, one item each")
    found: str = Field(description="what the evidence shows, in one or two sentences")
    missing: list[str] = Field(description="what would be needed and is not there; [] if the evidence suffices")


class Synthesizer:
    """Answers from the evidence alone. A claim that names no evidence is marked as unsupported."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Synthesizer",
        description="Writes the answer as claims on the extracted evidence, in the form the question asks for, and "
        "says whether the evidence suffices and what is missing.",
        capabilities=("writing", "comparison", "judging sufficiency"),
        reads=frozenset({"queries", "chunks", "ranking", "evidence", "records", "notes"}),
        writes=frozenset({"synthesis"}),
    )

    def __init__(self, kit: AgentKit) -> None:
        self._kit = kit
        self._reasoning = ""

    async def should_activate(self, context: ResearchContext) -> bool:
        return True

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        messages = self._kit.require_prompt().render(
            question=context.question,
            intent=context.understanding.intent,
            requirements=bullets(context.understanding.requirements),
            instruction=task.instruction,
            searched=_show_search(context),
            evidence=_show_evidence(context),
            records=_show_records(context) + _show_notes(context.notes),
        )
        response: Any = (await self._kit.llm.complete(messages, response_model(len(context.evidence)))).value
        self._reasoning = response.reasoning
        claims = tuple(
            Claim(text=claim.text, evidence=tuple(dict.fromkeys(claim.evidence)), supported=bool(claim.evidence))
            for claim in response.claims
        )
        return ContextUpdate(
            synthesis=Synthesis(
                claims=claims,
                evidence=context.evidence,
                **response.model_dump(include=set(SynthesisResponse.model_fields)),
            )
        )

    def explain_reasoning(self) -> str:
        return self._reasoning


def response_model(evidence: int) -> type[BaseModel]:
    """The Synthesizer's response where the evidence is numbered up to ``evidence``: claims can name no other."""
    numbers: Any = list[Annotated[int, Field(ge=1, le=evidence)]]
    number = (numbers, Field(description="numbers of the evidence that states it"))
    if not evidence:
        number = (list[int], Field(max_length=0, description="there is no evidence: []"))
    claim: Any = create_model(
        "WrittenClaim",
        __config__=ConfigDict(extra="forbid"),
        text=(str, Field(min_length=1, description="one sentence or list entry, without evidence numbers")),
        evidence=number,
    )
    return create_model(
        "WrittenAnswer",
        __base__=SynthesisResponse,
        claims=(list[claim], Field(description="the answer; [] if the evidence says nothing about the question")),
    )


def _show_search(context: ResearchContext) -> str:
    names = ", ".join(sorted({chunk.name for chunk in context.chunks})) or "no document"
    if context.ranking or not context.chunks:
        wordings = "; ".join((context.question, *context.queries))
        return f"Searched for: {wordings}\nRead: the {len(context.chunks)} passages found, of {names}"
    return f"Read: all {len(context.chunks)} passages of {names}"


def _show_evidence(context: ResearchContext) -> str:
    if not context.evidence:
        return "There is none: no quote that bears on the question was found in what was read."
    chunks = {chunk.id: chunk for chunk in context.chunks}
    lines: list[str] = []
    table = ""
    for item in context.evidence:
        chunk = chunks[item.chunk_id]
        if (columns := _columns(chunk)) and columns != table:
            lines.append(f"(The next rows are of a table with the columns {columns})")
        table = columns
        lines.append(_show_one(item, chunk))
    return "\n".join(lines)


def _show_one(item: Evidence, chunk: Chunk) -> str:
    where = ", ".join(part for part in (item.name, " › ".join(chunk.section), show_pages(item.pages)) if part)
    return f"[{item.number}] {where}: {item.quote}\n    It shows: {item.why}"


def _columns(chunk: Chunk) -> str:
    """The first line of the table that the chunk is part of: where a table has headings, they stand there."""
    if chunk.kind is not ChunkKind.TABLE:
        return ""
    return (chunk.header.text if chunk.header else chunk.text).partition("\n")[0]


def _show_records(context: ResearchContext) -> str:
    if not context.records:
        return ""
    numbers = {(item.chunk_id, item.start, item.end): item.number for item in context.evidence}
    rows = sorted(
        {
            (numbers[record.chunk_id, record.start, record.end], json.dumps(record.values, ensure_ascii=False))
            for record in context.records
        }
    )
    return "\nThe same as records:\n" + "\n".join(f"[{number}] {values}" for number, values in rows) + "\n"


def _show_notes(notes: Sequence[Note]) -> str:
    return "\nNotes of other agents:\n" + bullets([f"{note.agent}: {note.text}" for note in notes]) if notes else ""
