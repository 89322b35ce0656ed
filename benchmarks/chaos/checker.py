"""Check the data folder of a stopped service for lost data, duplicates and jobs that have not ended.

    python -m benchmarks.chaos.checker HOME SUBMITTED.json

The checker does not use Candor. It reads the SQLite files with plain SQL and the vectors with Qdrant Edge.
`benchmarks.chaos` writes SUBMITTED.json into its work folder. The exit status is 1 if there is a problem.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sqlite3
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import httpx
import qdrant_edge as qdrant

from benchmarks.chaos.submitted import Submitted

JOB_ENDS = {"done", "failed", "cancelled"}
DBOS_ENDS = {"ERROR": "failed", "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "failed", "CANCELLED": "cancelled"}
RUN_ENDS = {"answered", "partial", "needs_clarification", "insufficient", "failed", "cancelled"}
DOCUMENT_ENDS = {"indexed", "failed", "skipped", "removed"}
EDITION = "edition"
PAGE = 1000


class Database(Protocol):
    """An SQLite connection, or one to Postgres (``benchmarks/workers/checks.py``)."""

    def execute(self, statement: str, parameters: Sequence[str] = (), /) -> Iterable[Any]:
        """Return the rows as tuples, and JSON as text."""
        ...


class Passage(NamedTuple):
    """A point of the vector store."""

    document: str
    position: int
    edition: str


def check(home: Path, submitted: Submitted) -> list[str]:
    """Return the problems. No process may use the data folder."""
    with closing(_open(home / "candor.db")) as candor, closing(_open(home / "jobs.db")) as jobs:
        return [
            *integrity(candor, "candor.db"), *integrity(jobs, "jobs.db"),
            *unended_jobs(jobs, submitted), *doubled_keys(submitted),
            *faulty_runs(candor, submitted), *faulty_events(candor),
            *faulty_evaluations(candor, submitted), *unended_documents(candor),
            *lost_uploads(candor, jobs, submitted), *_faulty_collections(candor, home / "collections"),
        ]  # fmt: skip


def integrity(database: sqlite3.Connection, name: str) -> Iterator[str]:
    """Yield the damaged pages, and the rows that refer to missing rows, that SQLite reports."""
    for [found] in database.execute("PRAGMA integrity_check"):
        if found != "ok":
            yield f"{name}: {found}"
    for table, row, parent, _ in database.execute("PRAGMA foreign_key_check"):
        yield f"{name}: row {row} of {table} refers to a missing row of {parent}"


def unended_jobs(jobs: Database, submitted: Submitted) -> Iterator[str]:
    """Yield the acknowledged jobs that do not exist, and all jobs that have not ended."""
    states = _job_states(jobs)
    yield from (f"job {each} is lost" for each in submitted.jobs() if each not in states)
    yield from (f"job {each} is {state}" for each, state in states.items() if state not in JOB_ENDS)


def doubled_keys(submitted: Submitted) -> Iterator[str]:
    """Yield the idempotency keys with several jobs."""
    for key, ids in {**submitted.runs, **submitted.ingests}.items():
        if len(set(ids)) > 1:
            yield f"the idempotency key {key} got several jobs: {', '.join(sorted(set(ids)))}"


def faulty_runs(candor: Database, submitted: Submitted) -> Iterator[str]:
    """Yield the lost runs, the runs that have not ended, and the questions with several runs."""
    stored = candor.execute("SELECT run_id, status, answer FROM runs")
    known = {run_id: (status, answer) for run_id, status, answer in stored}
    for run_id in dict.fromkeys(each for ids in submitted.runs.values() for each in ids):
        if run_id not in known:
            yield f"run {run_id} is lost"
    for run_id, (status, answer) in known.items():
        if status not in RUN_ENDS or answer is None:
            yield f"run {run_id} is {status} {'with' if answer else 'without'} an answer"
    asked: dict[str, list[str]] = defaultdict(list)
    for run_id, question in candor.execute("SELECT run_id, question FROM runs"):
        asked[question].append(run_id)
    for question, ids in asked.items():
        if len(ids) > 1:
            yield f"the question {question!r} has several runs: {', '.join(ids)}"


def faulty_events(candor: Database) -> Iterator[str]:
    """Yield the runs with a gap in their events, without a terminal event at the end, or with several."""
    events: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for run_id, number, event in candor.execute("SELECT run_id, number, event FROM events ORDER BY run_id, number"):
        events[run_id].append((number, json.loads(zlib.decompress(event))["body"]))
    for run_id, status in candor.execute("SELECT run_id, status FROM runs"):
        own = events[run_id]
        if [number for number, _ in own] != list(range(1, len(own) + 1)):
            yield f"the events of run {run_id} have the numbers {[number for number, _ in own]}"
        ends = [body["status"] for _, body in own if body["type"] == "run_finished"]
        if len(ends) != 1 or own[-1][1]["type"] != "run_finished":
            last = own[-1][1]["type"] if own else "none"
            yield f"run {run_id} has {len(ends)} terminal events; its last event is {last}"
        elif ends != [status]:
            yield f"run {run_id} is {status}, but its last event says {ends[0]}"


def faulty_evaluations(candor: Database, submitted: Submitted) -> Iterator[str]:
    """Yield the acknowledged evaluations that are lost, are unfinished, or lack the result of a question."""
    found = {each: (json.loads(evaluation)["state"], json.loads(questions)) for each, evaluation, questions in
             candor.execute("SELECT id, evaluation, questions FROM evaluations")}  # fmt: skip
    rows: dict[str, dict[str, Any]] = defaultdict(dict)
    for evaluation, question, row in candor.execute("SELECT evaluation_id, question_id, row FROM evaluation_rows"):
        rows[evaluation][question] = json.loads(row)
    for each in submitted.evaluations:
        state, questions = found.get(each, ("lost", []))
        if state != "finished":
            yield f"evaluation {each} is {state}"
        for question in questions:
            if not rows[each].get(question["id"], {}).get("status"):
                yield f"evaluation {each} has no result for the question {question['id']}"


def unended_documents(candor: Database) -> Iterator[str]:
    """Yield the documents without a terminal state or a reason for it, and the ingests that still seem to run."""
    for collection, name, state, reason in candor.execute("SELECT collection, name, state, reason FROM documents"):
        if state not in DOCUMENT_ENDS:
            yield f"document {name} of {collection} is {state}"
        elif state in ("failed", "skipped") and not reason:
            yield f"document {name} of {collection} is {state} without a reason"
    for [collection] in candor.execute("SELECT collection FROM ingests_under_way"):
        yield f"an ingest into {collection} has never ended"


def lost_uploads(candor: Database, jobs: Database, submitted: Submitted) -> Iterator[str]:
    """Yield the files whose stored content differs from the last upload that was ingested."""
    states = _job_states(jobs)
    documents = {name: rest for name, *rest in candor.execute(
        "SELECT name, state, version, path FROM documents WHERE collection = ?", [submitted.collection])}  # fmt: skip
    for name, uploads in submitted.uploads.items():
        last = uploads[-1]
        state, version, path = documents.get(name, ["lost", "", ""])
        if not last.sha256:
            if state not in ("removed", "lost"):
                yield f"document {name} was deleted and is {state}"
        elif states.get(last.job) == "done":
            if (state, version) != ("indexed", last.sha256):
                yield f"document {name} is {state} with the content {version[:8]}; {last.sha256[:8]} was uploaded"
            elif hashlib.sha256(Path(path).read_bytes()).hexdigest() != last.sha256:
                yield f"the uploaded file {name} has another content than its document"


def _faulty_collections(candor: Database, folder: Path) -> Iterator[str]:
    for path in sorted(each.parent for each in folder.glob("*/collection.json")):
        yield from faulty_passages(candor, path.name, passages(path / "shard"))


def faulty_passages(candor: Database, name: str, stored: Iterable[Passage]) -> Iterator[str]:
    """Yield the documents with more or fewer passages than in the ledger, and the passages without a document."""
    selected = candor.execute("SELECT edition FROM hidden_editions WHERE collection = ?", [name])
    hidden = {edition for [edition] in selected}
    documents = {each: (title, count) for each, title, count in candor.execute(
        "SELECT id, name, chunks FROM documents WHERE collection = ?", [name])}  # fmt: skip
    live = defaultdict(list)
    for passage in stored:
        if passage.edition not in hidden:
            live[passage.document].append(passage)
    for each, own in live.items():
        if not documents.get(each, ("", 0))[1]:
            yield f"{len(own)} passages in {name} belong to no indexed document: {each}"
    for each, (title, count) in documents.items():
        own = live.get(each, [])
        positions = Counter(passage.position for passage in own)
        if count and len(own) != count:
            yield f"document {title} of {name} has {len(own)} passages; the ledger counts {count}"
        elif max(positions.values(), default=1) > 1 or len({passage.edition for passage in own}) > 1:
            yield f"document {title} of {name} has a passage twice"


def passages(shard: Path) -> Iterator[Passage]:
    """Yield all points of a collection."""
    opened = qdrant.EdgeShard.load(str(shard))
    try:
        offset = None
        while True:
            request = qdrant.ScrollRequest(limit=PAGE, offset=offset, with_payload=True, with_vector=False)
            records, offset = opened.scroll(request)
            yield from (passage_of(record.payload or {}) for record in records)
            if offset is None:
                return
    finally:
        opened.close()


def passage_of(payload: dict[str, Any]) -> Passage:
    """Return the passage of a point of Qdrant."""
    metadata = json.loads(payload["chunk"]).get("metadata", {})
    return Passage(payload["document_id"], payload["index"], metadata.get(EDITION, ""))


def check_service(http: httpx.Client, submitted: Submitted) -> Iterator[str]:
    """Yield the acknowledged jobs and runs that have not ended according to the running service."""
    for each in submitted.jobs():
        job = http.get(f"/v1/jobs/{each}")
        if job.status_code != 200 or job.json()["status"] not in JOB_ENDS:
            yield f"GET /v1/jobs/{each}: {job.status_code} {job.json().get('status', job.text)}"
    for run_id in dict.fromkeys(each for ids in submitted.runs.values() for each in ids):
        run = http.get(f"/v1/runs/{run_id}")
        if run.status_code != 200 or run.json()["run"]["status"] not in RUN_ENDS:
            yield f"GET /v1/runs/{run_id}: {run.status_code} {run.text[:200]}"


def _job_states(jobs: Database) -> dict[str, str]:
    """Return the state of each job. A successful DBOS workflow returns the outcome of its job as JSON."""
    stored = jobs.execute(
        "SELECT workflow_uuid, status, o.output FROM workflow_status LEFT JOIN workflow_output o USING (workflow_uuid)"
    )
    return {
        job: json.loads(json.loads(output))["status"] if status == "SUCCESS" else DBOS_ENDS.get(status, status)
        for job, status, output in stored
    }


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("home", type=Path)
    options.add_argument("submitted", type=Path)
    chosen = options.parse_args()
    return report(check(chosen.home, Submitted.parse(json.loads(chosen.submitted.read_text()))))


def report(problems: Iterable[str]) -> int:
    """Print the problems. Return the exit status."""
    found = list(problems)
    for each in found:
        print(f"problem: {each}")
    print(f"{len(found)} problems")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
