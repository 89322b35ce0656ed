"""Add the index of citations, and fill it from the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sql
from alembic import op

revision = "0007"
down_revision = "0006"

_BATCH = 500


def upgrade() -> None:
    citations = op.create_table(
        "citations",
        sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
        sql.Column("position", sql.Integer, primary_key=True),
        sql.Column("document_id", sql.String(64), nullable=False),
        sql.Column("number", sql.Integer, nullable=True),
        sql.Column("pages", sql.JSON, nullable=False),
        sql.Column("start", sql.Integer, nullable=False),
        sql.Column("end", sql.Integer, nullable=False),
        sql.Column("quote", sql.Text, nullable=False),
    )
    op.create_index("ix_citations_document_id", "citations", ["document_id"])
    runs = sql.table("runs", sql.column("run_id", sql.String), sql.column("answer", sql.JSON))
    connection = op.get_bind()
    ids = connection.scalars(sql.select(runs.c.run_id).order_by(runs.c.run_id)).all()
    for start in range(0, len(ids), _BATCH):
        query = sql.select(runs).where(runs.c.run_id.in_(ids[start : start + _BATCH]))
        rows = [row for run_id, answer in connection.execute(query) for row in _rows(run_id, answer or {})]
        if rows:
            op.bulk_insert(citations, rows)


def _rows(run_id: str, answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for position, (number, quote) in enumerate(_quotes(answer)):
        if not quote.get("origin"):
            fields = {name: quote[name] for name in ("document_id", "pages", "start", "end", "quote")}
            yield {"run_id": run_id, "position": position, "number": number, **fields}


def _quotes(answer: dict[str, Any]) -> Iterator[tuple[int | None, dict[str, Any]]]:
    cited = {number for claim in answer.get("claims", ()) for number in claim.get("evidence", ())}
    yield from ((quote["number"], quote) for quote in answer.get("evidence", ()) if quote["number"] in cited)
    yield from ((None, quote) for computed in answer.get("computations", ()) for quote in computed["evidence"])
