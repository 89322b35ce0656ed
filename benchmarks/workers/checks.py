"""Check Postgres and Qdrant for lost data, duplicates and jobs that have not ended, without Candor's code."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import httpx
import psycopg
from psycopg.types.string import TextLoader

from benchmarks.chaos import checker
from benchmarks.chaos.checker import Passage, passage_of
from benchmarks.chaos.submitted import Submitted

PAGE = 1000


class Postgres:
    """Implements ``Database`` of ``benchmarks/chaos/checker.py``: the tables of Candor and of DBOS."""

    def __init__(self, url: str) -> None:
        address = url.replace("postgresql+psycopg://", "postgresql://")
        self.connection = psycopg.connect(address, autocommit=True, options="-c search_path=public,dbos")
        self.connection.adapters.register_loader("json", TextLoader)

    def execute(self, statement: str, parameters: Sequence[str] = (), /) -> Iterable[Any]:
        """Return the rows as tuples, and JSON as text."""
        return self.connection.execute(statement.replace("?", "%s").encode(), parameters).fetchall()

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def check(database: Postgres, qdrant: str, submitted: Submitted) -> list[str]:
    """Return the problems. No job may be active."""
    return [
        *checker.unended_jobs(database, submitted), *checker.doubled_keys(submitted),
        *checker.faulty_runs(database, submitted), *checker.faulty_events(database), *_unanswered(database),
        *checker.unended_documents(database), *checker.lost_uploads(database, database, submitted),
        *_missing_documents(database, submitted), *_faulty_collections(database, qdrant),
    ]  # fmt: skip


def finish_times(database: Postgres) -> list[float]:
    """Return the times at which runs ended, in order, in seconds."""
    ended = database.execute("SELECT event FROM events WHERE type = 'run_finished'")
    return sorted(datetime.fromisoformat(json.loads(zlib.decompress(event))["at"]).timestamp() for [event] in ended)


def calls(database: Postgres) -> int:
    """Return the number of model calls whose responses are stored."""
    [[number]] = database.execute("SELECT count(*) FROM journal")
    return int(number)


def _unanswered(database: Postgres) -> Iterator[str]:
    for run_id, status in database.execute("SELECT run_id, status FROM runs WHERE status <> 'answered'"):
        yield f"run {run_id} is {status}"


def _missing_documents(database: Postgres, submitted: Submitted) -> Iterator[str]:
    """Yield the uploaded files that are not indexed. The scripted files are all readable."""
    found = dict(database.execute("SELECT name, state FROM documents"))
    for name in submitted.uploads:
        if found.get(name) != "indexed":
            yield f"document {name} is {found.get(name, 'lost')}"


def _faulty_collections(database: Postgres, qdrant: str) -> Iterator[str]:
    for found in httpx.get(f"{qdrant}/collections").raise_for_status().json()["result"]["collections"]:
        name = found["name"]
        yield from checker.faulty_passages(database, name, _passages(qdrant, name))


def _passages(qdrant: str, name: str) -> Iterator[Passage]:
    body: dict[str, Any] = {"limit": PAGE, "with_payload": ["document_id", "index", "chunk"]}
    while True:
        answer = httpx.post(f"{qdrant}/collections/{name}/points/scroll", json=body, timeout=60).raise_for_status()
        result = answer.json()["result"]
        for point in result["points"]:
            yield passage_of(point["payload"])
        if (offset := result["next_page_offset"]) is None:
            return
        body["offset"] = offset
