"""Create the tables, and upgrade the databases of all earlier versions.

Such a database may be older than Candor's use of Alembic: each store created its tables on first use, so any subset of
the tables may exist. So the database itself says what it lacks, and whether its payloads are still plain JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import sqlalchemy as sql
from alembic import op

from api.storage.upgrade import complete_schema
from ingest.ledger.schema import IDENTITY
from multi_agent.storage.tables import CALLS, CITATIONS, EVENTS, JOURNAL, RUNS, store_size

revision = "0022"
down_revision = None

Row = dict[str, Any]

_OBSOLETE = "service_runs"  # process ids of active runs; jobs replaced it


def upgrade() -> None:
    """Convert rows of earlier versions, create what is missing, and drop the obsolete table."""
    connection = op.get_bind()
    existing = set(sql.inspect(connection).get_table_names())
    old = list(_compress_payloads(connection, existing))
    complete_schema(connection)
    ended = connection.scalars(sql.select(RUNS.c.run_id).where(RUNS.c.answer.is_not(None)).order_by(RUNS.c.run_id))
    for run_id in ended.all() if old else ():
        if CITATIONS.name not in existing:
            _add_citations(connection, run_id)
        store_size(connection, run_id)
    for name in (*reversed(old), *({_OBSOLETE} & existing)):  # the runs after the tables that refer to them
        op.drop_table(name)
    if not connection.scalar(sql.select(IDENTITY)):
        connection.execute(IDENTITY.insert(), {"id": str(uuid4())})
    _widen_selections(connection)
    _assign_conversations(connection)


def _compress_payloads(connection: sql.Connection, existing: set[str]) -> Iterator[str]:
    """Rewrite the tables whose payloads are plain JSON. Yield the new names of the old tables.

    What queries need from the payloads becomes columns. So do the citations, which refer to runs. Postgres frees the
    space of a dropped table. On SQLite, ``upgrade_schema`` shrinks the file.
    """
    if "runs" not in existing or _has_column(connection, "runs", "size"):
        return
    conversions = {RUNS: _run, EVENTS: _event, JOURNAL: _model_call}
    for table in (RUNS, EVENTS, JOURNAL, CALLS, CITATIONS):
        if table.name in existing:
            yield _rewrite(connection, table, conversions.get(table, dict))


def _has_column(connection: sql.Connection, table: str, name: str) -> bool:
    return any(column["name"] == name for column in sql.inspect(connection).get_columns(table))


def _rewrite(connection: sql.Connection, table: sql.Table, convert: Callable[[Row], Row]) -> str:
    """Rename the table, and create and fill the new one. Return the new name of the old table."""
    name = f"old_{table.name}"
    for index in sql.inspect(connection).get_indexes(table.name):
        op.drop_index(str(index["name"]), table.name)
    op.rename_table(table.name, name)
    if connection.dialect.name == "postgresql":  # where the names of primary keys are unique
        connection.exec_driver_sql(f"ALTER TABLE {name} RENAME CONSTRAINT {table.name}_pkey TO {name}_pkey")
    table.create(connection)
    old = sql.Table(name, sql.MetaData(), autoload_with=connection, resolve_fks=False)
    for run_id in connection.scalars(sql.select(old.c.run_id).distinct()).all():
        rows = connection.execute(sql.select(old).where(old.c.run_id == run_id)).mappings().all()
        connection.execute(table.insert(), [convert(dict(row)) for row in rows])
    return name


def _run(row: Row) -> Row:
    """Return the row of a run with columns taken from its answer, such as tokens."""
    answer = row["answer"] or None
    figures: Row = {"seconds": None, "tokens": None, "cost": None, "confidence": None}
    if answer:
        usage = answer.get("usage") or {}
        figures = {
            "seconds": usage.get("seconds", 0.0),
            "tokens": _tokens(usage),
            "cost": usage.get("cost") or None,
            "confidence": answer.get("confidence", 0.0) if answer.get("answer") else None,
        }
    return {**row, **figures, "answer": answer}


def _event(row: Row) -> Row:
    return {**row, "type": row["event"]["body"]["type"]}


def _model_call(row: Row) -> Row:
    return {**row, "tokens": _tokens(row["entry"].get("usage") or {})}


def _tokens(usage: Row) -> int:
    return int(usage.get("prompt_tokens", 0)) + int(usage.get("completion_tokens", 0))


def _add_citations(connection: sql.Connection, run_id: str) -> None:
    """Fill the index of citations from the answer of a run."""
    [answer] = connection.scalars(sql.select(RUNS.c.answer).where(RUNS.c.run_id == run_id)).all()
    for position, (number, quote) in enumerate(_quotes(answer)):
        if not quote.get("origin"):
            fields = {name: quote[name] for name in ("document_id", "pages", "start", "end", "quote")}
            row = {"run_id": run_id, "position": position, "number": number, **fields}
            connection.execute(CITATIONS.insert(), row)


def _quotes(answer: Row) -> Iterator[tuple[int | None, Row]]:
    cited = {number for claim in answer.get("claims", ()) for number in claim.get("evidence", ())}
    yield from ((quote["number"], quote) for quote in answer.get("evidence", ()) if quote["number"] in cited)
    yield from ((None, quote) for computed in answer.get("computations", ()) for quote in computed["evidence"])


def _widen_selections(connection: sql.Connection) -> None:
    """Widen columns to hold the names of several collections. SQLite does not limit their length."""
    if connection.dialect.name == "postgresql":
        for table in ("runs", "plans", "memories"):
            op.alter_column(table, "collection", type_=sql.Text, existing_type=sql.String(64))


def _assign_conversations(connection: sql.Connection) -> None:
    """Assign each exchange of a conversation to the collection of its run. Earlier versions shared them."""
    connection.exec_driver_sql(
        "UPDATE memories SET collection = COALESCE("
        "(SELECT collection FROM runs WHERE 'mem_' || run_id = memories.id), collection) WHERE kind = 'conversation'"
    )
