"""The index of citations, which maps documents to the answers that cite them. The trace writes it with each answer."""

from __future__ import annotations

import sqlalchemy as sql
from pydantic import Field

from base.database import METADATA
from base.models import FrozenModel
from multi_agent.values.answer import Answer, Quote

CITATIONS = sql.Table(
    "citations",
    METADATA,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True),
    sql.Column("document_id", sql.String(64), nullable=False, index=True),
    sql.Column("number", sql.Integer, nullable=True),
    sql.Column("pages", sql.JSON, nullable=False),
    sql.Column("start", sql.Integer, nullable=False),
    sql.Column("end", sql.Integer, nullable=False),
    sql.Column("quote", sql.Text, nullable=False),
)


class Citation(FrozenModel):
    """A quote of a document in an answer."""

    number: int | None = Field(description="Number of the evidence in the answer. Null for a record of a computation.")
    pages: tuple[int, ...]
    start: int
    end: int
    quote: str


def citation_rows(answer: Answer) -> list[dict[str, object]]:
    """Return the rows of the quotes that an answer cites directly or through its computations."""
    quotes: list[tuple[int | None, Quote]] = [(quote.number, quote) for quote in answer.cited]
    quotes += [(None, quote) for computed in answer.computations for quote in computed.evidence]
    return [
        {"run_id": answer.run_id, "position": position, "number": number, "document_id": quote.document_id}
        | quote.model_dump(include={"pages", "start", "end", "quote"})
        for position, (number, quote) in enumerate(quotes)
        if quote.origin is None
    ]
