"""Completes names of collections and ids of runs in a shell."""

import sqlite3
from contextlib import closing
from typing import Any

import typer

_RUNS = 50
_KEPT = "NOT IN (SELECT target FROM bin UNION SELECT id FROM bin)"
_QUESTION_LENGTH = 60
_BUSY_TIMEOUT_S = 0.5


def complete_collections(context: typer.Context, incomplete: str) -> list[str]:
    """Return the collections whose names start with ``incomplete``."""
    names = _query(context, f"SELECT DISTINCT collection FROM documents WHERE collection {_KEPT} ORDER BY collection")
    return [name for (name,) in names if name.startswith(incomplete)]


def complete_runs(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the latest runs whose ids start with ``incomplete``, each with its question."""
    query = f"SELECT run_id, question FROM runs WHERE run_id {_KEPT} ORDER BY started_at DESC LIMIT {_RUNS}"
    runs = ((run_id, " ".join(question.split())) for run_id, question in _query(context, query))
    return [(run_id, question[:_QUESTION_LENGTH]) for run_id, question in runs if run_id.startswith(incomplete)]


def _query(context: typer.Context, query: str) -> list[Any]:
    """Return the rows. Return none if there is no database or it cannot be read now.

    The shell waits for it each time the user presses Tab. So it reads the SQLite database of the data folder directly,
    and does not import SQLAlchemy. With Postgres, names are not completed.
    """
    from api.settings import find_home
    from api.storage.home import DATABASE

    path = find_home(context.params.get("home")) / DATABASE
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_BUSY_TIMEOUT_S)) as connection:
            return connection.execute(query).fetchall()
    except sqlite3.Error:  # an error message would break the line that the user is typing
        return []
