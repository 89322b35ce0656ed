"""The Summarizer, which reads whole documents in pieces and keeps the notes that matter for the question."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from base.counts import count
from base.tokens import estimate_tokens
from multi_agent.agent import AgentCard, StepAgent
from multi_agent.agents.extractor import gather_calls
from multi_agent.grounding.citations import cite, publish_unknown, unknown_numbers
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import number_units, pack_passages, show_units, titled
from multi_agent.values.context import ContextUpdate, Evidence, ResearchContext
from multi_agent.values.evidence_events import Searched
from multi_agent.values.tasks import TaskData
from vectorstore.models import Chunk

_PASSAGES = 1_000  # of a call; its tokens are the limit


class DocumentNote(BaseModel):
    # No docstring: the schema would show it.
    model_config = ConfigDict(extra="forbid")

    sentences: list[int] = Field(description="numbers of the one to three sentences or rows that state it")
    text: str = Field(min_length=1, description="what they state, in one short sentence")


class DocumentNotes(BaseModel):
    model_config = ConfigDict(extra="forbid")

    notes: list[DocumentNote] = Field(json_schema_extra={"maxItems": 12})


class ChosenNotes(BaseModel):
    model_config = ConfigDict(extra="forbid")

    numbers: list[int] = Field(description="numbers of the notes to keep, the most important first")


class Summarizer(StepAgent):
    """Takes notes with quotes of every piece, which is as many passages of a document as fit into a call.

    The notes do not depend on the question, and each document begins with a new piece. So another question, or a new
    document, pays only for pieces that no earlier run over the collection has read.
    """

    card: ClassVar[AgentCard] = AgentCard(
        name="Summarizer",
        description="Reads whole documents piece by piece, without a search, and answers from notes with quotes.",
        capabilities=("summary", "themes", "disagreements"),
        writes=frozenset({"chunks", "evidence", "scanned", "notes"}),
        instructed=False,
        searches=frozenset({"documents"}),
        closing=Prompt.part("whole_summary"),
        planned=False,
    )

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        chunks = await asyncio.to_thread(self._kit.library.scan)
        await self._kit.publish(Searched.of_scan((), chunks))
        pieces = list(_pieces(chunks, self._kit.settings.tokens_per_call))
        read = await gather_calls(self._read(piece) for piece in pieces)
        notes = list({item.place: item for found in read for item in found}.values())
        unknown = set[int]()
        kept = await self._choose(notes, context.question, unknown)
        names = tuple(dict.fromkeys(chunk.name for chunk in chunks))
        unread = ", ".join(entry.name for entry in await asyncio.to_thread(self._kit.library.unread))
        self._reasoning = (
            f"Read {count(len(names), 'document')} in {count(len(pieces), 'piece')}, took {count(len(notes), 'note')} "
            f"and kept {len(kept)}.{f' Could not be read: {unread}.' if unread else ''}"
        )
        warnings = unknown_numbers(self.card.name, unknown)
        return ContextUpdate(chunks=tuple(chain(*pieces)), evidence=tuple(kept), scanned=names, notes=tuple(warnings))

    async def _read(self, piece: Sequence[Chunk]) -> list[Evidence]:
        units, first = number_units(piece), piece[0]
        messages = self._kit.require_prompt().render(
            document=titled(first.name, first.title), passages=show_units(units)
        )
        notes = (await self._kit.llm.complete(messages, DocumentNotes, reuse=True)).value.notes
        cited = [(note, cite(note.sentences, units, note.text)) for note in notes]
        for note, each in cited:
            await publish_unknown(each.unknown, units, self._kit.publish, self.card.name, about=note.text)
        return [item for _, each in cited for item in each.evidence]

    async def _choose(self, notes: Sequence[Evidence], question: str, unknown: set[int]) -> list[Evidence]:
        """Return the notes that matter most for the question, as many as fit into a call.

        Each round asks about groups of notes and keeps at most half of each. Adds numbers of no note to ``unknown``.
        """
        kept, tokens = list(notes), self._kit.settings.tokens_per_call
        while len(kept) > 1 and sum(map(_size, kept)) > tokens:
            halves = await gather_calls(self._half(group, question, unknown) for group in _groups(kept, tokens))
            kept = [item for half in halves for item in half]
        return kept

    async def _half(self, group: Sequence[Evidence], question: str, unknown: set[int]) -> list[Evidence]:
        shown = "\n".join(f"[{number}] {_line(item)}" for number, item in enumerate(group, start=1))
        most = max(1, len(group) // 2)
        messages = Prompt.shipped("choose_notes").render(question=question, most=most, notes=shown)
        numbers = (await self._kit.llm.complete(messages, ChosenNotes)).value.numbers
        unknown |= {number for number in numbers if not 1 <= number <= len(group)}
        chosen = [number for number in dict.fromkeys(numbers) if 1 <= number <= len(group)][:most]
        return [group[number - 1] for number in sorted(chosen)]


def _pieces(chunks: Sequence[Chunk], tokens: int) -> Iterator[tuple[Chunk, ...]]:
    for _, document in groupby(chunks, key=lambda chunk: chunk.document_id):
        yield from pack_passages(tuple(document), most=_PASSAGES, tokens=tokens)


def _groups(items: Sequence[Evidence], tokens: int) -> Iterator[list[Evidence]]:
    """Yield the notes in groups of about ``tokens`` tokens, at least two in each but the last."""
    group: list[Evidence] = []
    for item in items:
        if len(group) > 1 and sum(map(_size, group)) + _size(item) > tokens:
            yield group
            group = []
        group.append(item)
    yield group


def _line(note: Evidence) -> str:
    """Return a note on one line, so that no line break in it can look like another note."""
    return " ".join(f"{note.name}: {note.why}".split())


def _size(item: Evidence) -> int:
    return estimate_tokens(f"{item.quote} {item.why}")
