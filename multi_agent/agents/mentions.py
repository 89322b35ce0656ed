"""Mentions, which finds every passage that has certain words, without a model."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple, Self

from pydantic import Field

from base.counts import count
from base.models import FrozenModel
from multi_agent.agent import AgentCard, DocumentNames, StepAgent, StepOutput
from multi_agent.agents.catalogue import on_day
from multi_agent.grounding.citations import cite
from multi_agent.library import CatalogueEntry, Library
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import Unit, number_units
from multi_agent.values.context import Computation, ContextUpdate, ResearchContext, Wording
from multi_agent.values.evidence_events import Searched
from multi_agent.values.tasks import TaskData
from vectorstore.mentions import WantedWords
from vectorstore.models import Hit
from vectorstore.qdrant_schema import chunk_language

_QUOTES = 10  # sentences, of as many documents as possible
_FORMS = 8
_UNREAD = 8  # documents that were not read in full


class MentionsInputs(FrozenModel):
    # No docstring: the schema would show it.
    words: tuple[str, ...] = Field(
        min_length=1, max_length=8, description="the word, name or phrase, and its other spellings"
    )
    documents: DocumentNames = Field(default=(), description="[] for all")


class MentionsOutput(StepOutput):
    """The output of a count of mentions for later steps."""

    documents: tuple[str, ...] = Field(description="their names, most mentions first")
    mentions: int = Field(description="how often they have them")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        rows = [row for by_document in update.computations[1:] for row in by_document.rows]
        return cls(documents=tuple(str(name) for name, *_ in rows), mentions=sum(int(row[1] or 0) for row in rows))


class _Found(NamedTuple):
    """The sentences that have the words, with the forms in each."""

    units: tuple[Unit, ...]
    forms: dict[int, list[str]]
    """The found forms of the words, by the number of the unit."""
    passages: Counter[str]
    """By document."""

    @property
    def by_document(self) -> dict[str, Counter[str]]:
        """How often each document has each form."""
        counted: dict[str, Counter[str]] = {name: Counter() for name in self.passages}
        for number, forms in self.forms.items():
            counted[self.units[number - 1].chunk.name].update(forms)
        return counted


class Mentions(StepAgent):
    """Counts words in all passages, by document, and quotes some of the sentences. Needs no model."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Mentions",
        description="Tells in which documents a word, name or phrase stands, and how often, from all passages.",
        writes=frozenset({"chunks", "evidence", "computations", "searched"}),
        instructed=False,
        inputs=MentionsInputs,
        outputs=MentionsOutput,
        searches=frozenset({"documents"}),
        lookup=Prompt.part("lookup_mentions"),
    )

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        inputs = MentionsInputs.model_validate(task.inputs.model_dump())
        library = self._kit.library
        chunks = await asyncio.to_thread(library.mentions, inputs.words, inputs.documents)
        found = _in_units(number_units(chunks), WantedWords(inputs.words), Counter(chunk.name for chunk in chunks))
        await self._kit.publish(
            Searched.of(inputs.words, inputs.documents, [Hit(chunk=chunk, score=0.0) for chunk in chunks])
        )
        searched = await asyncio.to_thread(_searched, library, inputs.documents)
        evidence = tuple(item for number in _spread(found) for item in cite([number], found.units).evidence)
        cited = {item.chunk_id for item in evidence}
        computations = _computations(inputs.words, found, searched, on_day(context), self._kit.settings.sql_rows)
        self._reasoning = f"{computations[0].rows[0][0]}: {computations[0].source}."
        return ContextUpdate(
            chunks=tuple(chunk for chunk in chunks if chunk.id in cited),
            evidence=evidence,
            computations=computations,
            searched=tuple(Wording(words=word, documents=inputs.documents) for word in inputs.words),
        )


def _in_units(units: tuple[Unit, ...], wanted: WantedWords, passages: Counter[str]) -> _Found:
    forms = {unit.number: wanted.forms_in(unit.text, chunk_language(unit.chunk)) for unit in units}
    return _Found(units, {number: found for number, found in forms.items() if found}, passages)


def _spread(found: _Found) -> list[int]:
    """Return the numbers of the first sentences that contain the words, from as many documents as possible."""
    turns: Counter[str] = Counter()
    ranked = []
    for number in found.forms:
        name = found.units[number - 1].chunk.name
        ranked.append((turns[name], number))
        turns[name] += 1
    return [number for _, number in sorted(ranked)[:_QUOTES]]


class _Range(NamedTuple):
    """The documents that were searched, and what of them could not be."""

    documents: Sequence[CatalogueEntry]
    unread: Sequence[CatalogueEntry]


def _searched(library: Library, documents: Sequence[str]) -> _Range:
    known = [entry for entry in library.catalogue() if not documents or entry.name in documents]
    return _Range(known, library.unread() if not documents else ())


def _computations(
    words: Sequence[str], found: _Found, searched: _Range, day: str, most: int
) -> tuple[Computation, ...]:
    """Return the totals as text, against which claims are checked, and the counts by document."""
    forms, wanted = found.by_document, " or ".join(f'"{word}"' for word in words)
    # A mention across two sentences of a passage has no form, and counts once.
    mentions = Counter({name: own.total() or found.passages[name] for name, own in forms.items()})
    columns = ("document", "mentions", "passages", "forms found")[: 4 if len(words) > 1 else 3]
    counted = ((name, times, found.passages[name], _most(forms[name])) for name, times in mentions.most_common())
    rows = tuple(row[: len(columns)] for row in counted)
    number, passages = len(searched.documents), sum(each.chunks for each in searched.documents)
    whole = Computation(
        purpose=f"documents that mention {wanted} in any inflection",
        sql=f"mentions({wanted})",
        columns=("documents", "mentions", "documents searched", "passages searched", "forms found"),
        rows=((*_stated(wanted, mentions), number, passages, _most(sum(forms.values(), Counter()))),),
        evidence=(),
        flaws=tuple(_not_read(searched)),
        source=f"a search of all {count(passages, 'passage')} of {count(number, 'document')}{day}",
    )
    by_document = {
        "purpose": f"mentions of {wanted} by document ({count(len(rows), 'document')})",
        "columns": columns,
        "rows": rows[:most],
        "truncated": len(rows) > most,
        "flaws": (),
    }
    return (whole, whole.model_copy(update=by_document)) if rows else (whole,)


def _stated(wanted: str, mentions: Counter[str]) -> tuple[str, str]:
    """Return the result in two plain statements, because rules compare claims with words."""
    if not mentions:
        return f"No document mentions {wanted}", f"{wanted} is not mentioned"
    verb = "mentions" if len(mentions) == 1 else "mention"
    return (
        f"{count(len(mentions), 'document')} {verb} {wanted}",
        f"{wanted} is mentioned {count(mentions.total(), 'time')}",
    )


def _most(forms: Counter[str]) -> str:
    return ", ".join(form for form, _ in forms.most_common(_FORMS))


def _not_read(searched: _Range) -> Iterator[str]:
    """Yield what was not searched: files that could not be read, and parts of documents."""
    failed = [f"{entry.name}: not read{f' ({entry.reason})' if entry.reason else ''}" for entry in searched.unread]
    partly = [f"{entry.name}: {'; '.join(entry.warnings)}" for entry in searched.documents if entry.warnings]
    unread = failed + partly
    yield from unread[:_UNREAD]
    if len(unread) > _UNREAD:
        yield f"and {count(len(unread) - _UNREAD, 'more file')}"
