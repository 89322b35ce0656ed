"""Applies an agent's update to the shared context of a run.

Collections of identified items (queries, chunks, evidence, …) are merged by union, so parallel steps do not overwrite
each other's items. Single values are replaced.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, TypeVar

from multi_agent.errors import ContextViolation
from multi_agent.values.context import (
    SINGLE_VALUED,
    Computation,
    ContextUpdate,
    Evidence,
    Place,
    Record,
    ResearchContext,
)
from vectorstore.models import Chunk

T = TypeVar("T")


def merge(context: ResearchContext, update: ContextUpdate, *, agent: str, writes: frozenset[str]) -> ResearchContext:
    """Return the context with the update applied. Raises ContextViolation like ``require_declared``."""
    require_declared(update, agent, writes)
    return context.model_copy(update={name: _merged(name, context, update) for name in update.changed})


def require_declared(update: ContextUpdate, agent: str, writes: frozenset[str]) -> None:
    """Raise ContextViolation if the agent wrote a field that its card does not declare."""
    if undeclared := update.changed - writes:
        raise ContextViolation(
            f"Agent {agent!r} wrote {sorted(undeclared)}, but declares to write {sorted(writes)}. "
            "Add the field to `writes` on its card, or do not return it."
        )


def in_one(updates: Sequence[ContextUpdate]) -> ContextUpdate:
    """Return the updates as one. Of single values, the last one counts."""
    joined: dict[str, Any] = {}
    for name in frozenset[str]().union(*(update.changed for update in updates)):
        given = [getattr(update, name) for update in updates if name in update.changed]
        joined[name] = given[-1] if name in SINGLE_VALUED else tuple(chain.from_iterable(given))
    return ContextUpdate(**joined)


def admit(context: ResearchContext, numbers: Collection[int]) -> ResearchContext:
    """Return the context with only this evidence. Drops everything that rests on other evidence."""
    dropped = [item for item in context.evidence if item.number not in numbers]
    places = {item.place for item in dropped}
    spans = {(item.chunk_id, item.start, item.end) for item in dropped}
    kept: dict[str, Any] = {
        "evidence": tuple(item for item in context.evidence if item.number in numbers),
        "records": tuple(each for each in context.records if (each.chunk_id, each.start, each.end) not in spans),
        "computations": tuple(each for each in context.computations if not _rests_on(each.evidence, places)),
        "findings": tuple(each for each in context.findings if not _rests_on(each.synthesis.evidence, places)),
    }
    return context.model_copy(update=kept)


def _rests_on(evidence: Iterable[Evidence], places: Collection[Place]) -> bool:
    return any(item.place in places for item in evidence)


def number_evidence(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Drop duplicates, sort by document and position, and number from 1.

    The remaining item keeps the reasons (``why``) of all its duplicates, because a table row can contain several
    records.
    """
    reasons: dict[Hashable, dict[str, None]] = {}
    items = tuple(evidence)
    for item in items:
        reasons.setdefault(item.place, {})[item.why] = None
    unique = _union(items, key=lambda item: item.place)
    ordered = sorted(unique, key=lambda item: (item.name, item.start, item.end))
    return tuple(
        item.model_copy(update={"number": number, "why": "; ".join(_without_repeats(reasons[item.place]))})
        for number, item in enumerate(ordered, start=1)
    )


def _without_repeats(texts: Iterable[str]) -> list[str]:
    """Drop duplicates, including those from an earlier merge."""
    kept: list[str] = []
    for text in texts:
        if not any(text in each for each in kept):
            kept = [each for each in kept if each not in text] + [text]
    return kept


def _merged(name: str, context: ResearchContext, update: ContextUpdate) -> Any:
    new = getattr(update, name)
    if name in SINGLE_VALUED:
        return new
    if name == "records":
        return _records(context.records, update)
    return _UNIONS.get(name, _union)((*getattr(context, name), *new))


def _union(items: Iterable[T], key: Callable[[T], Hashable] = repr) -> tuple[T, ...]:
    """Drop duplicates. Keep the first of each, in order."""
    unique: dict[Hashable, T] = {}
    for item in items:
        unique.setdefault(key(item), item)
    return tuple(unique.values())


def _chunks(chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    return tuple(sorted(_union(chunks, key=lambda chunk: chunk.id), key=lambda chunk: (chunk.name, chunk.index)))


def _records(old: Iterable[Record], update: ContextUpdate) -> tuple[Record, ...]:
    """Replace the records of passages that were marked as read, even if they now have none, and drop duplicates."""
    again = {mark.partition("/")[0] for mark in update.read}
    return _union((*(record for record in old if record.chunk_id not in again), *update.records))


def _computations(computations: Iterable[Computation]) -> tuple[Computation, ...]:
    unique = _union(computations, key=lambda item: (item.purpose, item.sql, item.rows))
    return tuple(item.model_copy(update={"number": number}) for number, item in enumerate(unique, start=1))


_UNIONS: dict[str, Callable[[Iterable[Any]], tuple[Any, ...]]] = {
    "chunks": _chunks,
    "evidence": number_evidence,
    "computations": _computations,
}
