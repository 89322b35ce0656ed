"""Memories in SQL: preferences, how-to notes and conversations.

    memories.add("preference", "Answer in German.", key)
    memories.for_key(key).recall(Request(question="…", session="monday"))

Preferences and conversations are private to one API key. How-to notes are shared; the planner sees those most similar
to the question, by the cosine of their embeddings. ``plans.py`` stores plans.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from textwrap import shorten
from typing import Any, Literal

import numpy as np
import sqlalchemy as sql
from pydantic import AwareDatetime, Field

from multi_agent.answer import Answer, Status
from multi_agent.errors import AgentError, NotKept
from multi_agent.remembered import Exchange, Remembered
from multi_agent.request import Request
from vectorstore.database import METADATA
from vectorstore.models import FrozenModel
from vectorstore.store import Vectors

Kind = Literal["preference", "how_to", "conversation"]
MIN_SIMILARITY = 0.25
"""Minimum similarity of note and question. For 5 notes and 7 questions on different subjects, MiniLM gives matching
pairs 0.31 to 0.46, and all but one of the others less than 0.2."""
HOW_TOS = 3
EXCHANGES = 6
PREFERENCES = 20
_LONGEST = 500
_SHORT = 400
_DIGITS = 3  # of a similarity; further digits differ between machines

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
)


class MemoryEntry(FrozenModel):
    """A stored memory."""

    id: str
    kind: Kind
    text: str = Field(description="what the person wrote; in a conversation, the question")
    answer: str = Field(default="", description="in a conversation: the answer in short")
    session: str = Field(default="", description="in a conversation: its name")
    changed_at: AwareDatetime


class Memories:
    """All memories of a database. Thread-safe. ``embed`` returns the normalized embedding by ``embedding_model``."""

    def __init__(self, engine: sql.Engine, embed: Callable[[str], Vectors], embedding_model: str) -> None:
        self._engine, self._embed, self._embedding_model = engine, embed, embedding_model

    def for_key(self, key: str) -> KeyMemory:
        """Return the memory of one API key."""
        return KeyMemory(self, key)

    def entries(self, key: str, kind: Kind | None = None) -> tuple[MemoryEntry, ...]:
        """Return the key's own memories and all how-to notes, the latest last."""
        return tuple(map(_entry, self._rows(key, *([_memories.c.kind == kind] if kind else []))))

    def get(self, memory_id: str, key: str) -> MemoryEntry:
        """Return a memory. Raises NotKept, also for another key's memory."""
        for row in self._rows(key, _memories.c.id == memory_id):
            return _entry(row)
        raise NotKept(f"There is no memory {memory_id!r}.")

    def add(self, kind: Literal["preference", "how_to"], text: str, key: str) -> MemoryEntry:
        """Store a memory. Raises AgentError if it is empty or too long, or for too many preferences."""
        if kind == "preference" and len(self._rows(key, _memories.c.kind == kind)) >= PREFERENCES:
            raise AgentError(
                f"There are already {PREFERENCES} preferences, and the planner reads all of them. Delete one, or "
                "combine two."
            )
        row = self._row(f"mem_{secrets.token_hex(6)}", kind, key, _validated(text))
        with self._engine.begin() as connection:
            connection.execute(_memories.insert().values(row))
        return self.get(row["id"], key)

    def edit(self, memory_id: str, text: str, key: str) -> MemoryEntry:
        """Replace the text of a memory. Raises NotKept, AgentError."""
        entry = self.get(memory_id, key)
        if entry.kind == "conversation":
            raise AgentError("A conversation can be deleted, but not edited.")
        changed = self._row(entry.id, entry.kind, key, _validated(text))
        with self._engine.begin() as connection:
            connection.execute(_memories.update().where(_memories.c.id == entry.id).values(changed))
        return self.get(entry.id, key)

    def delete(self, memory_id: str, key: str) -> None:
        """Delete a memory. Raises NotKept."""
        entry = self.get(memory_id, key)
        with self._engine.begin() as connection:
            connection.execute(_memories.delete().where(_memories.c.id == entry.id))

    def add_exchange(self, key: str, session: str, run_id: str, exchange: Exchange) -> None:
        """Store an exchange of a conversation, once per run."""
        row = self._row(f"mem_{run_id}", "conversation", key, exchange.question)
        with self._engine.begin() as connection:
            connection.execute(_memories.delete().where(_memories.c.id == row["id"]))
            connection.execute(_memories.insert().values({**row, "session": session, "answer": exchange.answer}))

    def conversation(self, key: str, session: str) -> tuple[Exchange, ...]:
        """Return the last exchanges of the session, in order."""
        rows = self._rows(key, _memories.c.kind == "conversation", _memories.c.session == session)
        return tuple(Exchange(question=row.text, answer=row.answer) for row in rows[-EXCHANGES:])

    def how_to(self, question: str) -> tuple[str, ...]:
        """Return the notes most similar to the question, best first."""
        rows = self._rows("", _memories.c.kind == "how_to")
        if not rows:
            return ()
        vector = self._embed(question)
        similarities = {row.text: round(float(self._vector(row) @ vector), _DIGITS) for row in rows}
        best = sorted(similarities, key=lambda text: (-similarities[text], text))[:HOW_TOS]
        return tuple(text for text in best if similarities[text] >= MIN_SIMILARITY)

    def _rows(self, key: str, *where: sql.ColumnElement[bool]) -> list[sql.Row[Any]]:
        readable = sql.or_(_memories.c.key == key, _memories.c.kind == "how_to")
        query = sql.select(_memories).where(readable, *where).order_by(_memories.c.changed_at, _memories.c.id)
        with self._engine.connect() as connection:
            return list(connection.execute(query))

    def _row(self, memory_id: str, kind: Kind, key: str, text: str) -> dict[str, Any]:
        row: dict[str, Any] = {"id": memory_id, "kind": kind, "key": key, "session": "", "text": text, "answer": ""}
        if kind == "how_to":
            vector = np.asarray(self._embed(text), dtype="<f4").tobytes()
            row |= {"embedding_model": self._embedding_model, "vector": vector}
        return {**row, "changed_at": datetime.now(UTC)}

    def _vector(self, row: sql.Row[Any]) -> Vectors:
        """Return a note's vector; embed it again if it was embedded by another model."""
        if row.embedding_model == self._embedding_model:
            return np.frombuffer(row.vector, dtype="<f4")
        return self._embed(row.text)


@dataclass(frozen=True)
class KeyMemory:
    """Implements ``Memory`` for one API key."""

    memories: Memories
    key: str

    def recall(self, request: Request) -> Remembered:
        memories, key = self.memories, self.key
        return Remembered(
            preferences=tuple(entry.text for entry in memories.entries(key, "preference")),
            conversation=memories.conversation(key, request.session) if request.session else (),
            how_to=memories.how_to(request.question),
        )

    def keep(self, request: Request, answer: Answer) -> None:
        if request.session and answer.status in (Status.ANSWERED, Status.INSUFFICIENT):
            text = _in_short(answer)
            exchange = Exchange(question=request.question, answer=shorten(text, _SHORT, placeholder=" …"))
            self.memories.add_exchange(self.key, request.session, answer.run_id, exchange)


def _in_short(answer: Answer) -> str:
    if answer.status is Status.ANSWERED:
        return answer.short or answer.answer
    closest = f" Closest: {answer.nearest}." if answer.nearest else ""
    return f"Not found: {answer.found or answer.reasoning}{closest}"


def _validated(text: str) -> str:
    stripped = text.strip()
    if not 0 < len(stripped) <= _LONGEST:
        raise AgentError(f"A memory must have 1 to {_LONGEST} characters, not {len(stripped)}.")
    return stripped


def _entry(row: sql.Row[Any]) -> MemoryEntry:
    changed_at = row.changed_at if row.changed_at.tzinfo else row.changed_at.replace(tzinfo=UTC)
    values = {name: getattr(row, name) for name in MemoryEntry.model_fields}
    return MemoryEntry(**{**values, "changed_at": changed_at})
