"""The checker of a chaos run finds every sort of planted fault, and nothing in a sound data folder."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import qdrant_edge as qdrant

from api.bootstrap import Candor
from api.settings import Settings
from benchmarks.chaos.checker import check, check_service, passages
from benchmarks.chaos.faults import DISK_MB, small_disk
from benchmarks.chaos.processes import CLOCK
from benchmarks.chaos.submitted import Submitted, Upload
from support.panel import Panel
from support.scripted_endpoint import ScriptedEndpoint
from support.service import RunningService
from support.waiting import LIMIT_S, until
from vectorstore.embedding.embedder import Embedder

TEXT = "# Pumps\n\nThe Borea 12 works down to -25 °C.\n"
QUESTION = "How cold may it get?"
EVALUATED = {"id": "q1", "question": "How cold, in the evaluation?", "accepted": ["-25"]}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> tuple[Path, Submitted]:
    """The data folder of a stopped service after an upload, a run and an evaluation; and what was submitted."""
    home, submitted = tmp_path_factory.mktemp("chaos") / "home", Submitted("papers")
    with ScriptedEndpoint(Panel("-25 °C")) as endpoint:
        candor = Candor(Settings(home=home, llm=endpoint.settings("openai")))
        candor.embedder = embedder
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
            job = http.post("/v1/collections/papers/documents", files={"files": ("pumps.md", TEXT)}).json()["id"]
            submitted.ingests["upload 1"] = [job]
            submitted.uploads["pumps.md"] = [Upload(hashlib.sha256(TEXT.encode()).hexdigest(), job)]
            until(lambda: http.get(f"/v1/jobs/{job}").json()["status"] == "done")
            asked = {"question": QUESTION, "collection": "papers"}
            submitted.runs["run 1"] = [http.post("/v1/research", json=asked).json()["run_id"]]
            evaluation = {"collection": "papers", "questions": [EVALUATED]}
            submitted.evaluations = [http.post("/v1/evaluations", json=evaluation).json()["id"]]
            until(lambda: not list(check_service(http, submitted)))
            lost = Submitted("papers", runs={"run 2": ["run_lost"]})
            assert len(list(check_service(http, lost))) == 2, "neither a job nor a run"
    return home, submitted


@pytest.fixture
def home(sound: tuple[Path, Submitted], tmp_path: Path) -> Path:
    """A copy of the data folder to damage."""
    return Path(shutil.copytree(sound[0], tmp_path / "copy"))


@pytest.fixture
def submitted(sound: tuple[Path, Submitted]) -> Submitted:
    """A copy of what was submitted."""
    return Submitted.parse(sound[1].plain())


def test_a_sound_data_folder_has_no_problem(home: Path, submitted: Submitted) -> None:
    assert check(home, submitted) == []


DAMAGES = {
    "is PENDING": "jobs.db UPDATE workflow_status SET status = 'PENDING' WHERE workflow_uuid = '{run}'",
    "job {upload} is lost": "jobs.db DELETE FROM workflow_status WHERE workflow_uuid = '{upload}'",
    "run {run} is running": "candor.db UPDATE runs SET status = 'running', answer = NULL WHERE run_id = '{run}'",
    "several runs": "candor.db UPDATE runs SET question = 'the same'",
    "have the numbers [1, 3": "candor.db DELETE FROM events WHERE run_id = '{run}' AND number = 2",
    "0 terminal events": "candor.db DELETE FROM events WHERE run_id = '{run}' AND type = 'run_finished'",
    "2 terminal events": "candor.db INSERT INTO events SELECT run_id, number + 1, type, event FROM events "
    "WHERE run_id = '{run}' AND type = 'run_finished'",
    "last event says": "candor.db UPDATE runs SET status = 'cancelled' WHERE run_id = '{run}'",
    "has no result": "candor.db DELETE FROM evaluation_rows",
    "is unfinished": "candor.db UPDATE evaluations SET evaluation = json_set(evaluation, '$.state', 'unfinished')",
    "is embedding": "candor.db UPDATE documents SET state = 'embedding'",
    "without a reason": "candor.db UPDATE documents SET state = 'failed', reason = ''",
    "has never ended": "candor.db INSERT INTO ingests_under_way VALUES ('papers', '', '', 1, 1, 1, 1)",
    "was uploaded": "candor.db UPDATE documents SET version = 'other'",
    "the ledger counts 7": "candor.db UPDATE documents SET chunks = 7",
    "belong to no indexed document": "candor.db DELETE FROM documents",
    "refers to a missing row of runs": "candor.db UPDATE events SET run_id = 'run_none' WHERE run_id = '{run}'",
}


@pytest.mark.parametrize("problem", DAMAGES)
def test_a_damaged_database_is_found(home: Path, submitted: Submitted, problem: str) -> None:
    ids = {"run": submitted.runs["run 1"][0], "upload": submitted.ingests["upload 1"][0]}
    file, statement = DAMAGES[problem].format(**ids).split(" ", 1)
    with closing(sqlite3.connect(home / file)) as database:
        assert database.execute(statement).rowcount
        database.commit()
    found = check(home, submitted)
    assert any(problem.format(**ids) in each for each in found), found


def test_damaged_pages_of_a_database_are_found(home: Path, submitted: Submitted) -> None:
    with closing(sqlite3.connect(home / "candor.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("PRAGMA writable_schema = 1")
        database.execute("UPDATE sqlite_master SET rootpage = 3 WHERE name = 'suggested_questions'")
        database.commit()
    assert any(each.startswith("candor.db: ") for each in check(home, submitted))


def test_a_lost_run_and_a_key_with_two_jobs_are_found(home: Path, submitted: Submitted) -> None:
    submitted.runs["run 1"].append("run_other")
    found = check(home, submitted)
    assert any("the idempotency key run 1 got several jobs" in each for each in found)
    assert "run run_other is lost" in found


def test_a_lost_evaluation_is_found(home: Path, submitted: Submitted) -> None:
    submitted.evaluations.append("eval_none")
    assert "evaluation eval_none is lost" in check(home, submitted)


def test_a_lost_upload_is_found(home: Path, submitted: Submitted) -> None:
    submitted.uploads["other.md"] = submitted.uploads["pumps.md"]
    assert any("document other.md is lost" in each for each in check(home, submitted))


def test_a_document_that_was_deleted_and_exists_is_found(home: Path, submitted: Submitted) -> None:
    submitted.uploads["pumps.md"].append(Upload("", ""))
    assert "document pumps.md was deleted and is indexed" in check(home, submitted)


def test_another_uploaded_file_is_found(home: Path, submitted: Submitted) -> None:
    with closing(sqlite3.connect(home / "candor.db")) as database:
        other = home / "other.md"
        other.write_text("Not what was uploaded.")
        database.execute("UPDATE documents SET path = ?", [str(other)])
        database.commit()
    assert any("the uploaded file pumps.md has another content" in each for each in check(home, submitted))


@pytest.fixture
def shard(home: Path) -> qdrant.EdgeShard:
    """The opened passages of the collection."""
    return qdrant.EdgeShard.load(str(home / "collections" / "papers" / "shard"))


def test_a_lost_passage_is_found(home: Path, submitted: Submitted, shard: qdrant.EdgeShard) -> None:
    [point], _ = shard.scroll(qdrant.ScrollRequest(limit=1, with_payload=True))
    shard.update(qdrant.UpdateOperation.delete_points([point.id]))
    shard.flush()
    shard.close()
    assert any("has 0 passages; the ledger counts 1" in each for each in check(home, submitted))


def test_a_doubled_passage_is_found(home: Path, submitted: Submitted, shard: qdrant.EdgeShard) -> None:
    [point], _ = shard.scroll(qdrant.ScrollRequest(limit=1, with_payload=True, with_vector=True))
    again = qdrant.Point("7d4e5a4e-0b7c-4b1e-9a52-3e8d0f6a2b11", point.vector, point.payload)
    shard.update(qdrant.UpdateOperation.upsert_points([again]))
    shard.flush()
    shard.close()
    assert len(list(passages(home / "collections" / "papers" / "shard"))) == 2
    with closing(sqlite3.connect(home / "candor.db")) as database:
        database.execute("UPDATE documents SET chunks = 2")
        database.commit()
    assert any("has a passage twice" in each for each in check(home, submitted))


def test_the_clock_of_a_process_jumps(tmp_path: Path) -> None:
    file = tmp_path / "clock"
    file.write_text("86400")
    program = "import time; print(time.time())"
    environment = {"PYTHONPATH": str(CLOCK), "CHAOS_CLOCK": str(file)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert 86_000 < float(done.stdout) - time.time() < 87_000


def test_the_small_disk_is_small(tmp_path: Path) -> None:
    with small_disk(tmp_path) as mounted:
        if not mounted:
            pytest.skip("This process may not mount a file system.")
        assert shutil.disk_usage(tmp_path).total == DISK_MB << 20
    assert shutil.disk_usage(tmp_path).total != DISK_MB << 20
