"""Reader: answers one question with a search, one model call and verified quotes."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from textwrap import shorten
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, create_model

from multi_agent.agent import AgentCard, AgentKit, DocumentNames, StepOutput
from multi_agent.agents.synthesizer import SynthesisResponse
from multi_agent.context import Claim, ContextUpdate, Evidence, Finding, ResearchContext, Synthesis
from multi_agent.context_merge import number_evidence
from multi_agent.events import Searched
from multi_agent.grounding.citations import Quoted, publish_rejected, quote_model, verify_quotes
from multi_agent.grounding.draft_claims import CheckedClaim, draft_callback
from multi_agent.library import within
from multi_agent.prompts.show_passages import bullets, pack_passages, show_passages, sort_passages
from multi_agent.tasks import TaskData
from multi_agent.toolbox.granted_tool import OfferedTools
from multi_agent.toolbox.loop import ToolLoop
from vectorstore.models import Chunk, FrozenModel

_SHOWN = 600  # in the error of a step that refers to an answer without a short form


class ReaderInputs(FrozenModel):
    """What the planner gives the Reader."""

    question: str = Field(
        min_length=1,
        description="the one question to answer, complete in itself: no 'it' or 'that company', but the name, or a "
        "reference to what the step that finds the name gives",
    )
    queries: tuple[str, ...] = Field(
        max_length=8,
        description="up to 8 further wordings to search with, as documents might put it; may hold references; [] if "
        "the question's own words will do",
    )
    documents: DocumentNames = Field(
        default=(),
        description="names of the documents to search, as listed, without what stands in brackets; [] for all of them",
    )


class ReaderOutput(StepOutput):
    """What later steps can use of an answer."""

    answer: str = Field(
        description="the bare answer, such as a name or a figure with its unit; none if it was not found, takes a "
        "sentence, or if several things fit where one was asked for"
    )
    sufficient: bool = Field(description="whether the passages answered the question")
    _in_full: str = PrivateAttr(default="")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        [finding] = update.findings
        synthesis = finding.synthesis
        if not synthesis.sufficient:  # a later step that relies on an insufficient answer must fail
            return cls(answer="", sufficient=False)
        output = cls(answer=synthesis.short, sufficient=True)
        output._in_full = "" if output.answer else _plain_text(synthesis.claims)
        return output

    @property
    def why_empty(self) -> str:
        """Quote the full answer: it cannot replace a name in a later step, but the planner can ask about its parts."""
        if not self._in_full:
            return super().why_empty
        return (
            "has no bare answer, as it takes a sentence or several things fit: "
            f"“{shorten(self._in_full, _SHOWN, placeholder=' …')}” Ask about each of them in a step of its own, or "
            "more narrowly."
        )


class Reader:
    """Searches, reads the best passages and answers. Drops and publishes quotes that are not in their passages."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Reader",
        description="Answers one question in one go: searches, reads the best passages and answers with verified "
        "quotes. Right for a fact, an explanation or a comparison of a few facts, where a few passages hold the "
        "answer; and for each part of a question with several parts. Not for going through all rows of a table.",
        capabilities=("search", "reading", "answering"),
        writes=frozenset({"chunks", "ranking", "evidence", "findings"}),
        inputs=ReaderInputs,
        asked=lambda question: ReaderInputs(question=question, queries=()),
        outputs=ReaderOutput,
    )

    def __init__(self, kit: AgentKit) -> None:
        self._kit = kit
        self._reasoning = ""

    async def should_activate(self, context: ResearchContext) -> bool:
        return True

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        inputs = ReaderInputs.model_validate(task.inputs.model_dump())
        queries = tuple(dict.fromkeys((inputs.question, *inputs.queries)))
        searches = "passages" in self._kit.require_prompt().placeholders
        found = await self._search(queries, inputs.documents) if searches else []
        shown = self._readable(found)
        offered = await self._kit.tools()
        if shown or offered.tools:
            synthesis, read = await self._answer(shown, offered, context, task, inputs, queries)
        else:
            synthesis, read = _nothing(inputs), ()
        found = list({chunk.id: chunk for chunk in (*found, *read)}.values())
        self._reasoning = (
            f"Read {len(read)} passages for: {inputs.question} {synthesis.short or synthesis.found} "
            f"{synthesis.reasoning}"
        )
        return ContextUpdate(
            chunks=tuple(found),
            ranking=tuple(chunk.id for chunk in found),
            evidence=synthesis.evidence,
            findings=(Finding(step=task.step, synthesis=synthesis, **inputs.model_dump()),),
        )

    def explain_reasoning(self) -> str:
        return self._reasoning

    async def _search(self, queries: tuple[str, ...], documents: tuple[str, ...]) -> list[Chunk]:
        limit = self._kit.settings.reader_passages
        found = await asyncio.to_thread(self._kit.library.search, queries, limit, documents)
        await self._kit.publish(Searched.of("search", queries, documents, found))
        return found

    def _readable(self, found: Sequence[Chunk]) -> tuple[Chunk, ...]:
        """Return the best passages that fit into one call, in reading order."""
        settings = self._kit.settings
        best = next(pack_passages(found, most=settings.reader_passages, tokens=settings.tokens_per_call), ())
        return sort_passages(best)

    async def _answer(
        self,
        chunks: Sequence[Chunk],
        offered: OfferedTools,
        context: ResearchContext,
        task: TaskData,
        inputs: ReaderInputs,
        queries: Sequence[str],
    ) -> tuple[Synthesis, tuple[Chunk, ...]]:
        """Return the answer and all passages it was written from, including those from tools."""
        messages = self._kit.require_prompt().render(
            whole=context.question,
            intent=context.understanding.intent,
            requirements=bullets(context.understanding.requirements),
            question=inputs.question,
            instruction=task.instruction,
            searched=within("; ".join(queries), inputs.documents),
            passages=show_passages(chunks),
        )
        use = await ToolLoop(self._kit.llm, offered, chunks).run(messages)
        shape = response_model(max(self._kit.settings.reader_passages, len(use.passages)))
        on_text = draft_callback(task, self.card.name, shape, _DraftChecker(use.passages).check, self._kit.publish)
        response: Any = (await self._kit.llm.complete(use.closing, shape, on_text=on_text)).value
        claims = [(claim.text, await self._verified(claim.quotes, use.passages)) for claim in response.claims]
        return _synthesis(response, claims), use.passages

    async def _verified(self, quotes: Iterable[Quoted], chunks: Sequence[Chunk]) -> list[Evidence]:
        located, rejected = verify_quotes(quotes, chunks)
        reason = "These words do not stand in the passage; dropped."
        await publish_rejected(rejected, chunks, self._kit.publish, reason, final=True)
        return [each.evidence for each in located]


class _DraftChecker:
    """Checks drafted claims one by one. Numbers evidence in order of arrival; the finished answer numbers it again."""

    def __init__(self, passages: Sequence[Chunk]) -> None:
        self._passages = passages
        self._numbers: dict[Hashable, int] = {}

    def check(self, written: Any) -> CheckedClaim:
        located, rejected = verify_quotes(written.quotes, self._passages)
        evidence = {}
        for item in (each.evidence for each in located):
            number = self._numbers.setdefault(item.place, len(self._numbers) + 1)
            evidence[number] = item.model_copy(update={"number": number})
        claim = Claim(text=written.text, evidence=tuple(evidence), supported=bool(evidence))
        return CheckedClaim(claim, tuple(evidence.values()), tuple(each.quote for each in rejected))


@lru_cache(maxsize=128)  # a type and its schema take milliseconds to make
def response_model(passages: int) -> type[BaseModel]:
    """Return the response model for this number of passages."""
    quote: Any = quote_model("ReaderQuote", passages)
    claim: Any = create_model(
        "ReaderClaim",
        __config__=ConfigDict(extra="forbid"),
        text=(str, Field(min_length=1, description="one sentence or list entry, without passage numbers")),
        quotes=(list[quote], Field(description="the quotes that state it")),
    )
    return create_model(
        "ReaderAnswer",
        __base__=SynthesisResponse,
        claims=(list[claim], Field(description="the answer; [] if the passages say nothing about the question")),
    )


def _synthesis(response: Any, claims: Sequence[tuple[str, Sequence[Evidence]]]) -> Synthesis:
    evidence = number_evidence(item for _, items in claims for item in items)
    numbers = {item.place: item.number for item in evidence}
    verified = tuple(
        Claim(
            text=text,
            evidence=tuple(dict.fromkeys(numbers[item.place] for item in items)),
            supported=bool(items),
        )
        for text, items in claims
    )
    judged = response.model_dump(include=set(SynthesisResponse.model_fields))
    # An answer without any verified quote is insufficient, whatever the model says.
    judged["sufficient"] = response.sufficient and any(claim.supported for claim in verified)
    return Synthesis(claims=verified, evidence=evidence, **judged)


def _nothing(inputs: ReaderInputs) -> Synthesis:
    """Return the answer for an empty search."""
    return Synthesis(
        claims=(),
        evidence=(),
        layout="prose",
        sufficient=False,
        confidence=0.0,
        reasoning="There was nothing to read, so no model was asked.",
        looked_for=tuple(within(query, inputs.documents) for query in (inputs.question, *inputs.queries)),
        found="The search found no passage.",
        missing=("documents that could answer it",),
    )


def _plain_text(claims: Iterable[Claim]) -> str:
    return " ".join(claim.text for claim in claims if claim.supported)
