"""From a run to what metrics see of it: what it found, took as evidence, and cited, read out of its trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from multi_agent.answer import Answer, Quote
from multi_agent.evaluation.case import Case, Cited, Passage
from multi_agent.evaluation.question_set import Question
from multi_agent.events import Event, StepFinished


class Source(NamedTuple):
    """A document as it was parsed."""

    title: str
    text: str


SourceOf = Callable[[str], Source]
"""A document by its id."""


def observe(question: Question, answer: Answer, events: Sequence[Event], source_of: SourceOf) -> Case:
    """The case that a finished run makes. Documents go by the names that the run's agents saw."""
    wrote = [event.body.wrote for event in events if isinstance(event.body, StepFinished)]
    chunks = {chunk["id"]: chunk for fields in wrote for chunk in fields.get("chunks", ())}
    evidence = {_place(item): item for fields in wrote for item in _evidence_in(fields)}
    names = {each["document_id"]: each["name"] for each in (*chunks.values(), *evidence.values())}
    cited = {(each.document_id, each.start, each.end): each.model_dump() for each in _used(answer)}
    return Case(
        question=question,
        answer=answer,
        retrieved=tuple(_passage(chunks[each], source_of) for each in _ranked(wrote, chunks)),
        extracted=tuple(_cited(item, names, source_of) for item in evidence.values()),
        cited=tuple(_cited(item, names, source_of) for item in cited.values()),
    )


def _ranked(wrote: Sequence[dict[str, Any]], chunks: dict[str, Any]) -> list[str]:
    """Ids of all chunks: those of a search in its order, and one search after the other."""
    ranked = [each for fields in wrote for each in fields.get("ranking", ())]
    return [each for each in dict.fromkeys([*ranked, *chunks]) if each in chunks]


def _evidence_in(fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All evidence that a step wrote: its own, and that of an answer on the way."""
    yield from fields.get("evidence", ())
    for finding in fields.get("findings", ()):
        yield from finding["synthesis"]["evidence"]


def _used(answer: Answer) -> Iterable[Quote]:
    """The evidence that claims stand on, directly or through a computation."""
    numbers = {number for claim in answer.claims for number in claim.evidence}
    computed = {number for claim in answer.claims for number in claim.computations}
    yield from (each for each in answer.evidence if each.number in numbers)
    for computation in answer.computations:
        if computation.number in computed:
            yield from computation.evidence


def _place(item: dict[str, Any]) -> tuple[str, int, int]:
    return item["document_id"], item["start"], item["end"]


def _passage(chunk: dict[str, Any], source_of: SourceOf) -> Passage:
    return Passage(
        chunk_id=chunk["id"],
        document=chunk["name"],
        pages=tuple(chunk["pages"]),
        text=source_of(chunk["document_id"]).text[chunk["start"] : chunk["end"]],
    )


def _cited(item: dict[str, Any], names: dict[str, str], source_of: SourceOf) -> Cited:
    document, start, end = _place(item)
    source = source_of(document)
    return Cited(
        document=names.get(document, item["document"]),
        title=source.title,
        pages=tuple(item["pages"]),
        quote=item["quote"],
        in_source=source.text[start:end] == item["quote"],
    )
