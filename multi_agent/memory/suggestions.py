"""The latest suggested questions of each collection in SQL, with the documents from which they were created."""

from __future__ import annotations

import sqlalchemy as sql
from pydantic import Field

from base.database import METADATA
from base.models import FrozenModel

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


class Suggestions:
    """The suggested questions of all collections. Thread-safe."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    def find(self, collection: str) -> Suggestion | None:
        """Return the suggested questions of a collection, if there are any."""
        query = sql.select(_suggestions.c.suggestion).where(_suggestions.c.collection == collection)
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return Suggestion.model_validate(row.suggestion) if row else None

    def keep(self, collection: str, suggestion: Suggestion) -> None:
        """Replace the suggested questions of a collection."""
        row = {"collection": collection, "suggestion": suggestion.model_dump(mode="json")}
        with self._engine.begin() as connection:
            connection.execute(_suggestions.delete().where(_suggestions.c.collection == collection))
            connection.execute(_suggestions.insert().values(row))

    def forget(self, collection: str) -> None:
        """Delete the suggested questions of a collection."""
        with self._engine.begin() as connection:
            connection.execute(_suggestions.delete().where(_suggestions.c.collection == collection))
