"""The latest suggested questions of each collection in SQL, with the documents from which they were created."""

from __future__ import annotations

import sqlalchemy as sql
from pydantic import Field

from base.database import METADATA, SqlStore
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
        with self._engine.begin() as connection:
            connection.execute(_suggestions.delete().where(_suggestions.c.collection == collection))
