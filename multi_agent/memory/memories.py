"""Memories in SQL, which are preferences, how-to notes, conversations, and tool use that led to answers.

    memories.add("preference", "Answer in German.", key)
    memories.for_key(key).recall(Request(question="…", session="monday"), "papers")

Preferences and conversations are private to one API key. A conversation belongs to one collection, because its answers
quote documents. All keys share how-to notes, and the keys that query the same collection share its tool use. A run
gets the entries most similar to its question, by the cosine of their embeddings. It reads them before planning and
stores entries at its end. ``plans.py`` stores plans.

The latest suggested questions of each collection are stored with the documents from which they were created.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import sqlalchemy as sql
from pydantic import AwareDatetime, Field

from base.database import METADATA, SqlStore
from base.models import FrozenModel
from base.text import shorten
from multi_agent.errors import AgentError, NotKept
from multi_agent.memory.similarity import SimilarityScale, similarity
from multi_agent.storage.tables import SELECTION
from multi_agent.values.answer import Answer, Status
from multi_agent.values.request import EXCHANGES, Exchange, Remembered, Request, ToolUse, words_to_look_up
from vectorstore.store import Vectors


class Memory:
    """The memory of one API key's holder. Calls block. This one stores nothing, and recalls what the request has."""

    def recall(self, request: Request, collection: str) -> Remembered:
        """Return the entries that apply to the request."""
        return Remembered(conversation=request.conversation)

    def keep(self, request: Request, collection: str, answer: Answer) -> None:
        """Store the question and the answer if the request belongs to a conversation about the collection."""

    def keep_tool_uses(self, collection: str, uses: Sequence[ToolUse]) -> None:
        """Store the tool use of an answered run for later questions about the same collection."""


NO_MEMORY = Memory()


Kind = Literal["preference", "how_to", "conversation", "tool_use"]
HOW_TOS = 3
TOOL_USES = 3
TOOL_USES_KEPT = 100
"""Maximum stored tool uses of a collection. The oldest are deleted."""
PREFERENCES = 20
_LONGEST = 500
_WITH_ANSWER = (Status.ANSWERED, Status.PARTIAL)
_EMBEDDED: tuple[Kind, ...] = ("how_to", "tool_use")

_memories = sql.Table(
    "memories",
    METADATA,
    sql.Column("id", sql.String(80), primary_key=True),
    sql.Column("kind", sql.String(20), nullable=False, index=True),
    sql.Column("key", sql.String(64), nullable=False, index=True),
    sql.Column("session", sql.String(100), nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("answer", sql.Text, nullable=False),
    sql.Column("changed_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("embedding_model", sql.String(200), nullable=True),
    sql.Column("vector", sql.LargeBinary, nullable=True),
    sql.Column("collection", SELECTION, nullable=False, server_default=""),
)


class MemoryEntry(FrozenModel):
    """A stored memory."""

    id: str
    kind: Kind
    text: str = Field(description="text of the person; for a conversation, the question; for a tool use, its purpose")
    answer: str = Field(default="", description="for a conversation, the answer; for a tool use, the call")
    session: str = Field(default="", description="for a conversation, its name; for a tool use, its run")
    changed_at: AwareDatetime


class Memories(SqlStore):
    """All memories of a database. Thread-safe. ``embed`` returns the normalized embedding by ``embedding_model``."""

    def __init__(self, engine: sql.Engine, embed: Callable[[str], Vectors], embedding_model: str) -> None:
        super().__init__(engine)
        self._embed = embed
        self.use(embedding_model)

    def use(self, embedding_model: str) -> None:
        """Name the model by which ``embed`` embeds from now on."""
        self._embedding_model = embedding_model
        self._scale = SimilarityScale(self._engine, self._embed, embedding_model)

    def for_key(self, key: str) -> "KeyMemory":
        """Return the memory of one API key."""
        return KeyMemory(self, key)

    def entries(self, key: str, kind: Kind | None = None) -> tuple[MemoryEntry, ...]:
        """Return the key's own memories and all how-to notes, oldest first."""
        return tuple(map(_entry, self._rows(key, *([_memories.c.kind == kind] if kind else []))))

    def get(self, memory_id: str, key: str) -> MemoryEntry:
        """Return a memory. Raises NotKept, including for a memory of another key."""
        for row in self._rows(key, _memories.c.id == memory_id):
            return _entry(row)
        raise NotKept(f"There is no memory {memory_id!r}.")

    def add(self, kind: Literal["preference", "how_to"], text: str, key: str) -> MemoryEntry:
        """Store a memory. Raises AgentError if it is empty or too long, or if the key has too many preferences."""
        if kind == "preference" and len(self._rows(key, _memories.c.kind == kind)) >= PREFERENCES:
            raise AgentError(
                f"There are already {PREFERENCES} preferences, and the planner reads all of them. Delete one, or "
                "combine two."
            )
        row = self._row(f"mem_{secrets.token_hex(6)}", kind, key, _validated(text))
        self._execute(_memories.insert().values(row))
        return self.get(row["id"], key)

    def edit(self, memory_id: str, text: str, key: str) -> MemoryEntry:
        """Replace the text of a memory. Raises NotKept, AgentError."""
        entry = self.get(memory_id, key)
        if entry.kind in ("conversation", "tool_use"):
            raise AgentError(f"A {entry.kind.replace('_', ' ')} can be deleted, but not edited.")
        changed = self._row(entry.id, entry.kind, key, _validated(text))
        self._execute(_memories.update().where(_memories.c.id == entry.id).values(changed))
        return self.get(entry.id, key)

    def delete(self, memory_id: str, key: str) -> None:
        """Delete a memory. Raises NotKept."""
        entry = self.get(memory_id, key)
        self._execute(_memories.delete().where(_memories.c.id == entry.id))

    def add_exchange(self, key: str, session: str, collection: str, run_id: str, exchange: Exchange) -> None:
        """Store an exchange of a conversation, once per run."""
        row = self._row(f"mem_{run_id}", "conversation", key, exchange.question)
        self._replace(_memories, {**row, "session": session, "answer": exchange.answer, "collection": collection})

    def conversation(self, key: str, session: str, collection: str) -> tuple[Exchange, ...]:
        """Return the last exchanges of the session about the collection, in order."""
        own = (_memories.c.session == session, _memories.c.collection == collection)
        rows = self._rows(key, _memories.c.kind == "conversation", *own)
        return tuple(Exchange(question=row.text, answer=row.answer) for row in rows[-EXCHANGES:])

    def how_to(self, question: str) -> tuple[str, ...]:
        """Return the notes on similar questions, most similar first."""
        rows = self._related(question, self._find(_memories.c.kind == "how_to"))
        return tuple(row.text for row in rows[:HOW_TOS])

    def add_tool_use(self, key: str, collection: str, use: ToolUse) -> None:
        """Store a tool use once per call and purpose. Delete the oldest ones of the collection beyond the limit."""
        purpose = shorten(use.purpose, _LONGEST)
        identity = hashlib.sha256("\0".join((collection, use.call, purpose)).encode()).hexdigest()
        row = self._row(f"mem_{identity[:12]}", "tool_use", key, purpose)
        row |= {"session": use.run_id, "answer": use.call, "collection": collection}
        kept = self._tool_uses(collection)
        too_many = [each.id for each in kept[: max(0, len(kept) + 1 - TOOL_USES_KEPT)]]
        with self._engine.begin() as connection:
            connection.execute(_memories.delete().where(_memories.c.id.in_((row["id"], *too_many))))
            connection.execute(_memories.insert().values(row))

    def tool_uses(self, question: str, collection: str) -> tuple[ToolUse, ...]:
        """Return the tool use for similar questions to the collection, most similar first.

        Excludes tool use of other collections, because a purpose reveals what a collection contains.
        """
        rows = self._related(question, self._tool_uses(collection))
        return tuple(ToolUse(call=row.answer, purpose=row.text, run_id=row.session) for row in rows[:TOOL_USES])

    def _tool_uses(self, collection: str) -> Sequence[sql.Row[Any]]:
        return self._find(_memories.c.kind == "tool_use", _memories.c.collection == collection)

    def _related(self, question: str, rows: Sequence[sql.Row[Any]]) -> list[sql.Row[Any]]:
        """Return the rows whose text is more similar to the question than unrelated texts, best first."""
        if not rows:
            return []
        vector, least = self._embed(question), self._scale.at(0)
        similarities = {row.id: similarity(self._vector(row), vector) for row in rows}
        related = [row for row in rows if similarities[row.id] >= least]
        return sorted(related, key=lambda row: (-similarities[row.id], row.text))

    def _rows(self, key: str, *where: sql.ColumnElement[bool]) -> Sequence[sql.Row[Any]]:
        return self._find(sql.or_(_memories.c.key == key, _memories.c.kind == "how_to"), *where)

    def _find(self, *where: sql.ColumnElement[bool]) -> Sequence[sql.Row[Any]]:
        return self._select(sql.select(_memories).where(*where).order_by(_memories.c.changed_at, _memories.c.id))

    def _row(self, memory_id: str, kind: Kind, key: str, text: str) -> dict[str, Any]:
        row: dict[str, Any] = {"id": memory_id, "kind": kind, "key": key, "session": "", "text": text, "answer": ""}
        if kind in _EMBEDDED:
            vector = np.asarray(self._embed(text), dtype="<f4").tobytes()
            row |= {"embedding_model": self._embedding_model, "vector": vector}
        return {**row, "changed_at": datetime.now(UTC)}

    def _vector(self, row: sql.Row[Any]) -> Vectors:
        """Return an entry's vector. Embed it again if another model embedded it."""
        if row.embedding_model == self._embedding_model:
            return np.frombuffer(row.vector, dtype="<f4")
        return self._embed(row.text)


@dataclass(frozen=True)
class KeyMemory(Memory):
    """The memory of one API key."""

    memories: Memories
    key: str

    def recall(self, request: Request, collection: str) -> Remembered:
        memories, key = self.memories, self.key
        kept = memories.conversation(key, request.session, collection) if request.session else ()
        conversation = (*kept, *request.conversation)[-EXCHANGES:]
        words = words_to_look_up(request.question, conversation)
        return Remembered(
            preferences=tuple(entry.text for entry in memories.entries(key, "preference")),
            conversation=conversation,
            how_to=memories.how_to(words),
            tool_uses=memories.tool_uses(words, collection),
        )

    def keep(self, request: Request, collection: str, answer: Answer) -> None:
        if request.session and answer.status.is_result:
            self.memories.add_exchange(self.key, request.session, collection, answer.run_id, exchange_of(answer))

    def keep_tool_uses(self, collection: str, uses: Sequence[ToolUse]) -> None:
        for use in uses:
            self.memories.add_tool_use(self.key, collection, use)


def exchange_of(answer: Answer) -> Exchange:
    """Return the question of a run, as completed, and its answer with the documents that it cites."""
    full = tuple(_in_full(answer))
    few = "" if any(answer.short in text for text in full) else in_few_words(answer)
    said = "\n".join(filter(None, (f"{few}:" if full and few else few, *full, *_cited_documents(answer))))
    return Exchange.in_short(answer.completed_question or answer.question, said)


def _in_full(answer: Answer) -> Iterator[str]:
    """Yield the claims of an answer, numbered if they are a list."""
    if answer.status not in _WITH_ANSWER or not answer.short:
        return
    for number, claim in enumerate(answer.claims, 1):
        if claim.stands and claim.text != answer.short:
            yield claim.text if answer.layout == "prose" else f"{number}. {claim.text}"


def _cited_documents(answer: Answer) -> Iterator[str]:
    if names := dict.fromkeys(quote.name for quote in answer.cited):
        yield f"(From: {', '.join(names)})"


def in_few_words(answer: Answer) -> str:
    """Return the bare answer, what was asked back, or why there is no answer."""
    if answer.status in _WITH_ANSWER:
        return answer.short or answer.answer
    if asked := answer.clarification:
        return " ".join((asked.question, *(f"{n}. {each.name}" for n, each in enumerate(asked.candidates, 1))))
    if nearest := answer.nearest:
        return f"Not found. Closest: {nearest.answer}. Missing or different: {nearest.difference}."
    return f"Not found: {'; '.join(answer.missing) or answer.found or answer.reasoning}"


def _validated(text: str) -> str:
    stripped = text.strip()
    if not 0 < len(stripped) <= _LONGEST:
        raise AgentError(f"A memory must have 1 to {_LONGEST} characters, not {len(stripped)}.")
    return stripped


def _entry(row: sql.Row[Any]) -> MemoryEntry:
    changed_at = row.changed_at if row.changed_at.tzinfo else row.changed_at.replace(tzinfo=UTC)
    values = {name: getattr(row, name) for name in MemoryEntry.model_fields}
    return MemoryEntry(**{**values, "changed_at": changed_at})


_suggestions = sql.Table(
    "suggested_questions",
    METADATA,
    sql.Column("collection", sql.String(64), primary_key=True),
    sql.Column("suggestion", sql.JSON, nullable=False),
)


class Suggestion(FrozenModel):
    """Suggested questions about a collection."""

    questions: tuple[str, ...]
    documents: dict[str, str] = Field(description="versions of the documents that the model read, by id")
    passages: int = Field(description="number of passages of the collection at that time")


class Suggestions(SqlStore):
    """The suggested questions of all collections. Thread-safe."""

    def find(self, collection: str) -> Suggestion | None:
        """Return the suggested questions of a collection, if there are any."""
        query = sql.select(_suggestions.c.suggestion).where(_suggestions.c.collection == collection)
        found = self._select(query)
        return Suggestion.model_validate(found[0].suggestion) if found else None

    def keep(self, collection: str, suggestion: Suggestion) -> None:
        """Replace the suggested questions of a collection."""
        self._replace(_suggestions, {"collection": collection, "suggestion": suggestion.model_dump(mode="json")})

    def forget(self, collection: str) -> None:
        """Delete the suggested questions of a collection."""
        self._execute(_suggestions.delete().where(_suggestions.c.collection == collection))
