"""Memories in SQL: what people wrote of what they want, notes on how to go about questions, and conversations.

    memories.add("preference", "Answer in German.", key)
    memories.of(key).recall(Request(question="…", session="monday"))

Preferences and conversations belong to the key of whoever wrote them, and nobody else reads them. How-to notes are for
all; those are shown that are like the question, by the cosine of their embeddings. Plans that worked are kept in
``plans.py``.
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
HELPS = 0.25
"""How like a note and a question must be. Of 5 notes and 7 questions of as many subjects, MiniLM put those that belong
together at 0.31 to 0.46, and all but one of the others under 0.2."""
HOW_TOS = 3
EXCHANGES = 6
PREFERENCES = 20
_LONGEST = 500
_SHORT = 400
_DIGITS = 3  # of a similarity: the last ones differ between machines

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
    """One thing that is remembered."""

    id: str
    kind: Kind
    text: str = Field(description="what the person wrote; of a conversation, the question")
    answer: str = Field(default="", description="of a conversation: what came of the question, in short")
    session: str = Field(default="", description="of a conversation: which")
    changed_at: AwareDatetime


class Memories:
    """All memories, in the database behind ``engine``. Safe to use from several threads.

    ``embed`` gives a text's vector of length 1, by the model ``embedding_model``.
    """

    def __init__(self, engine: sql.Engine, embed: Callable[[str], Vectors], embedding_model: str) -> None:
        self._engine, self._embed, self._embedding_model = engine, embed, embedding_model

    def of(self, key: str) -> OwnMemory:
        """What is remembered for the holder of this key."""
        return OwnMemory(self, key)

    def entries(self, key: str, kind: Kind | None = None) -> tuple[MemoryEntry, ...]:
        """What the holder of the key may read: their own, and how-to notes; the latest last."""
        return tuple(map(_entry, self._rows(key, *([_memories.c.kind == kind] if kind else []))))

    def get(self, memory_id: str, key: str) -> MemoryEntry:
        """Raises NotKept, also for what is another's."""
        for row in self._rows(key, _memories.c.id == memory_id):
            return _entry(row)
        raise NotKept(f"There is no memory {memory_id!r}.")

    def add(self, kind: Literal["preference", "how_to"], text: str, key: str) -> MemoryEntry:
        """Keep what somebody wrote. Raises AgentError if it is empty or too long, or if they have too many."""
        if kind == "preference" and len(self._rows(key, _memories.c.kind == kind)) >= PREFERENCES:
            raise AgentError(f"There are {PREFERENCES} preferences already, all of which the planner is told; delete "
                             "one, or put two into one.")  # fmt: skip
        row = self._row(f"mem_{secrets.token_hex(6)}", kind, key, _checked(text))
        with self._engine.begin() as connection:
            connection.execute(_memories.insert().values(row))
        return self.get(row["id"], key)

    def edit(self, memory_id: str, text: str, key: str) -> MemoryEntry:
        """Put other words in its place. Raises NotKept, AgentError."""
        entry = self.get(memory_id, key)
        if entry.kind == "conversation":
            raise AgentError("What was said was said: a conversation can be deleted, and not edited.")
        changed = self._row(entry.id, entry.kind, key, _checked(text))
        with self._engine.begin() as connection:
            connection.execute(_memories.update().where(_memories.c.id == entry.id).values(changed))
        return self.get(entry.id, key)

    def delete(self, memory_id: str, key: str) -> None:
        """Forget it. Raises NotKept."""
        entry = self.get(memory_id, key)
        with self._engine.begin() as connection:
            connection.execute(_memories.delete().where(_memories.c.id == entry.id))

    def keep(self, key: str, session: str, run_id: str, exchange: Exchange) -> None:
        """Note an exchange of a conversation; that of a run is kept once."""
        row = self._row(f"mem_{run_id}", "conversation", key, exchange.question)
        with self._engine.begin() as connection:
            connection.execute(_memories.delete().where(_memories.c.id == row["id"]))
            connection.execute(_memories.insert().values({**row, "session": session, "answer": exchange.answer}))

    def conversation(self, key: str, session: str) -> tuple[Exchange, ...]:
        """The last exchanges of the session, in order."""
        rows = self._rows(key, _memories.c.kind == "conversation", _memories.c.session == session)
        return tuple(Exchange(question=row.text, answer=row.answer) for row in rows[-EXCHANGES:])

    def how_to(self, question: str) -> tuple[str, ...]:
        """The notes that are most like the question, the most like first."""
        rows = self._rows("", _memories.c.kind == "how_to")
        if not rows:
            return ()
        vector = self._embed(question)
        like = {row.text: round(float(self._vector(row) @ vector), _DIGITS) for row in rows}
        best = sorted(like, key=lambda text: (-like[text], text))[:HOW_TOS]
        return tuple(text for text in best if like[text] >= HELPS)

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
        """Of a note that was embedded by another model, the vector by the one in force."""
        if row.embedding_model == self._embedding_model:
            return np.frombuffer(row.vector, dtype="<f4")
        return self._embed(row.text)


@dataclass(frozen=True)
class OwnMemory:
    """Implements ``Memory`` for the holder of a key."""

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
            said = answer.short or answer.answer or f"Not found: {answer.found or answer.reasoning}"
            exchange = Exchange(question=request.question, answer=shorten(said, _SHORT, placeholder=" …"))
            self.memories.keep(self.key, request.session, answer.run_id, exchange)


def _checked(text: str) -> str:
    said = text.strip()
    if not 0 < len(said) <= _LONGEST:
        raise AgentError(f"A memory has 1 to {_LONGEST} characters, not {len(said)}: write it short.")
    return said


def _entry(row: sql.Row[Any]) -> MemoryEntry:
    changed_at = row.changed_at if row.changed_at.tzinfo else row.changed_at.replace(tzinfo=UTC)
    kept = {name: getattr(row, name) for name in MemoryEntry.model_fields}
    return MemoryEntry(**{**kept, "changed_at": changed_at})
