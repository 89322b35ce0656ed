"""Structure, which reads the pages and the headings of documents without a model."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import ClassVar

from pydantic import Field

from base.counts import count
from base.models import FrozenModel
from base.tokens import estimate_tokens
from multi_agent.agent import AgentCard, DocumentNames, StepAgent, StepOutput
from multi_agent.grounding.citations import cite
from multi_agent.library import CatalogueEntry
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import Unit, number_units
from multi_agent.values.context import Computation, ContextUpdate, ResearchContext
from multi_agent.values.evidence_events import Searched
from multi_agent.values.tasks import TaskData
from vectorstore.models import Chunk

_TOKENS = 1500  # of the quotes of pages
_QUOTE = 400  # characters; each quote of a prompt repeats where it stands
_HEADINGS = 100


class StructureInputs(FrozenModel):
    # No docstring: the schema would show it.
    documents: DocumentNames = Field(min_length=1, max_length=5, description="as listed")
    pages: tuple[int, ...] = Field(max_length=20, description="numbers; [] for the headings")


class Structure(StepAgent):
    """Reads pages of documents, or lists their headings. Calls no model."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Structure",
        description="Reads the pages with given numbers, or lists all headings, of documents.",
        writes=frozenset({"chunks", "evidence", "computations", "scanned"}),
        instructed=False,
        inputs=StructureInputs,
        outputs=StepOutput,
        searches=frozenset({"documents"}),
        lookup=Prompt.part("lookup_structure"),
    )

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        inputs = StructureInputs.model_validate(task.inputs.model_dump())
        library = self._kit.library
        chunks = await asyncio.to_thread(library.scan, inputs.documents)
        entries = [each for each in await asyncio.to_thread(library.catalogue) if each.name in inputs.documents]
        await self._kit.publish(Searched.of_scan(inputs.documents, chunks))
        self._reasoning = f"Read {count(len(chunks), 'passage')} of {', '.join(inputs.documents)}."
        if not inputs.pages:
            return ContextUpdate(computations=(_headings(chunks, entries),))
        units = number_units(chunks)
        found = [unit for unit in units if set(_pages(unit)) & set(inputs.pages)]
        groups = _fitting(found)
        evidence = tuple(item for group in groups for item in cite([unit.number for unit in group], units).evidence)
        cited = {item.chunk_id for item in evidence}
        left = len(found) - sum(map(len, groups))
        return ContextUpdate(
            chunks=tuple(chunk for chunk in chunks if chunk.id in cited),
            evidence=evidence,
            computations=(_page_table(inputs.pages, found, entries, left),),
        )


def _pages(unit: Unit) -> tuple[int, ...]:
    return unit.chunk.pages_of(unit.start, unit.end)


def _fitting(units: Sequence[Unit]) -> list[list[Unit]]:
    """Return the units from the first one, as many as fit into a prompt, in groups that become one quote each."""
    groups: list[list[Unit]] = []
    left = _TOKENS
    for unit in units:
        if (left := left - estimate_tokens(unit.text)) < 0:
            break
        last = groups[-1] if groups else []
        together = sum(len(each.text) for each in (*last, unit)) <= _QUOTE
        if last and together and (last[-1].chunk.id, last[-1].number + 1) == (unit.chunk.id, unit.number):
            last.append(unit)
        else:
            groups.append([unit])
    return groups


def _page_table(
    pages: Sequence[int], units: Sequence[Unit], entries: Sequence[CatalogueEntry], left: int
) -> Computation:
    """Return how many pages each document has, and how much stands on each of the wanted ones."""
    rows = [
        (entry.name, page, sum(page in _pages(unit) for unit in units if unit.chunk.name == entry.name), entry.pages)
        for entry in entries
        for page in pages
    ]
    return Computation(
        purpose=f"sentences and rows on {'page' if len(pages) == 1 else 'pages'} {', '.join(map(str, pages))}",
        sql=f"pages({', '.join(map(str, pages))})",
        columns=("document", "page", "sentences and rows on it", "pages of the document (0: it has none)"),
        rows=tuple(rows),
        evidence=(),
        flaws=(f"the last {count(left, 'sentence or row', 'sentences or rows')} are not quoted",) if left else (),
        source=f"the structure of {', '.join(entry.name for entry in entries)}",
    )


def _headings(chunks: Sequence[Chunk], entries: Sequence[CatalogueEntry]) -> Computation:
    """Return the headings of the documents in reading order, each with its level and its page."""
    rows = [row for entry in entries for row in _headings_of(entry, chunks)]
    names = ", ".join(entry.name for entry in entries)
    return Computation(
        purpose=f"headings of {names} in order ({count(len(rows), 'heading')})",
        sql="headings()",
        columns=("document", "level", "heading", "page"),
        rows=tuple(rows[:_HEADINGS]),
        truncated=len(rows) > _HEADINGS,
        evidence=(),
        source=f"the structure of {names}",
    )


def _headings_of(entry: CatalogueEntry, chunks: Sequence[Chunk]) -> Iterator[tuple[str, int, str, int | None]]:
    known: set[tuple[str, ...]] = set()
    for chunk in chunks:
        starts = [(chunk.start, chunk.section), *((each.start, each.path) for each in chunk.sections)]
        for start, path in starts if chunk.document_id == entry.id else ():
            pages = chunk.pages_of(start, start + 1)
            for level in range(1, len(path) + 1):
                if path[:level] not in known:
                    known.add(path[:level])
                    yield entry.name, level, path[level - 1], next(iter(pages), None)
