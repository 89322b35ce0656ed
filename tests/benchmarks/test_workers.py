"""The checks after kills of workers and nodes find planted faults in Postgres and Qdrant, and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

import httpx
import pytest

from api.bootstrap import Candor
from api.settings import Settings
from benchmarks.chaos.submitted import Submitted, Upload
from benchmarks.workers.checks import Postgres, calls, check, finish_times
from support.panel import Panel
from support.qdrant import needs_qdrant, running_qdrant
from support.scripted_endpoint import ScriptedEndpoint
from support.service import RunningService
from support.waiting import LIMIT_S, until
from vectorstore.embedding.embedder import Embedder
from vectorstore.settings import VectorStoreSettings

TEXT = "# Pumps\n\nThe Borea 12 works down to -25 °C.\n"

pytestmark = needs_qdrant


class Sound(NamedTuple):
    """The database and the store after an upload and a run, and what was submitted."""

    database: Postgres
    qdrant: str
    submitted: Submitted


@pytest.fixture(scope="module")
def sound(postgres: str, tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[Sound]:
    """Upload a file and ask a question."""
    submitted = Submitted("papers")
    with running_qdrant() as node, ScriptedEndpoint(Panel("-25 °C")) as endpoint:
        settings = Settings(
            home=tmp_path_factory.mktemp("workers") / "home", llm=endpoint.settings("openai"), database_url=postgres,
            store=VectorStoreSettings(url=node.url),
        )  # fmt: skip
        candor = Candor(settings)
        candor.embedder = embedder
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
            job = http.post("/v1/collections/papers/documents", files={"files": ("pumps.md", TEXT)}).json()["id"]
            submitted.ingests["upload 1"] = [job]
            submitted.uploads["pumps.md"] = [Upload(hashlib.sha256(TEXT.encode()).hexdigest(), job)]
            until(lambda: http.get(f"/v1/jobs/{job}").json()["status"] == "done")
            asked = {"question": "How cold may it get?", "collection": "papers"}
            run_id = http.post("/v1/research", json=asked).json()["run_id"]
            submitted.runs["run 1"] = [run_id]
            until(lambda: http.get(f"/v1/jobs/{run_id}").json()["status"] == "done")
        with closing(Postgres(postgres)) as database:
            yield Sound(database, node.url, submitted)


def test_a_sound_database_has_no_problem(sound: Sound) -> None:
    assert check(sound.database, sound.qdrant, sound.submitted) == []
    assert len(finish_times(sound.database)) == 1
    assert calls(sound.database) == 7


DAMAGES = {
    "is PENDING": "UPDATE workflow_status SET status = 'PENDING'",
    "is failed": "UPDATE runs SET status = 'failed'",
    "have the numbers [1, 2": "UPDATE events SET number = number + 1 WHERE type = 'run_finished'",
    "the ledger counts": "UPDATE documents SET chunks = chunks + 1",
    "document pumps.md is failed": "UPDATE documents SET state = 'failed'",
}


@pytest.mark.parametrize(("problem", "damage"), DAMAGES.items(), ids=list(DAMAGES))
def test_planted_faults_are_found(sound: Sound, problem: str, damage: str) -> None:
    connection = sound.database.connection
    connection.execute("BEGIN")
    connection.execute(damage.encode())
    try:
        found = check(sound.database, sound.qdrant, sound.submitted)
    finally:
        connection.execute("ROLLBACK")
    assert any(problem in each for each in found), found


def test_a_lost_point_is_found(sound: Sound) -> None:
    everything: dict[str, object] = {"filter": {}}
    [named] = httpx.get(f"{sound.qdrant}/collections").json()["result"]["collections"]
    url = f"{sound.qdrant}/collections/{named['name']}/points/delete?wait=true"
    httpx.post(url, json=everything).raise_for_status()
    assert any("has 0 passages" in each for each in check(sound.database, sound.qdrant, sound.submitted))
