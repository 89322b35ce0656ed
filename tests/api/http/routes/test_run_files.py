"""Runs are exported, imported, measured and pruned over REST."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.auth.keys import KeyRequest
from api.auth.permissions import Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.services.exports.run_file import LARGEST, LARGEST_FILE
from api.settings import Settings
from multi_agent.llm.settings import EndpointSettings
from support.service import QUESTION, RunningService, model
from support.waiting import LIMIT_S, until
from vectorstore.embedding.embedder import Embedder


@pytest.fixture
def candor(make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path) -> Candor:
    """A data folder with two documents, and a scripted model."""
    found = make_candor(llm=serve(model))
    run_ingest(found, [folder], "papers", progress=False)
    return found


@contextmanager
def served(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        yield http


def research(http: httpx.Client, **request: Any) -> str:
    response = http.post("/v1/research", json={"question": QUESTION, **request})
    assert response.is_success, response.text
    return str(response.json()["run_id"])


def parts(http: httpx.Client, run_id: str) -> list[Any]:
    return [
        http.get(f"/v1/runs/{run_id}{part}").json()
        for part in ("", "/events?follow=false", "/journal", "/conversation")
    ]


def test_a_run_is_exported_and_imported(candor: Candor, tmp_path: Path, embedder: Embedder) -> None:
    with served(candor) as http:
        run_id = research(http, mode="high")
        file = http.get(f"/v1/runs/{run_id}/export", params={"format": "run"})
        bare = http.get(f"/v1/runs/{run_id}/export", params={"format": "run", "texts": False})
        again = http.post("/v1/runs/import", content=file.content)
        run, *others = parts(http, run_id)
    assert file.headers["content-disposition"] == f'attachment; filename="{run_id}.candor"'
    assert "-25 °C" in gzip.decompress(file.content).decode()
    assert "-25 °C" not in gzip.decompress(bare.content).decode()
    assert (again.status_code, again.json()["title"]) == (409, "Run exists")
    colleague = Candor(Settings(home=tmp_path / "colleague"))
    colleague.embedder = embedder
    with served(colleague) as there:
        added = there.post("/v1/runs/import", params={"collection": "theirs"}, content=file.content)
        copy, *copies = parts(there, run_id)
    assert (added.status_code, added.json()) == (201, {"run_id": run_id, "collection": "theirs", "has_texts": True})
    assert copies == others
    basis = copy["answer"]["basis"]
    assert basis.startswith("Imported on 20")
    assert basis.endswith(" by the person at this machine, 0 of 1 quotes of documents found in the collection")
    assert copy["answer"] == {**run["answer"], "basis": basis}
    assert copy["run"] == {**run["run"], "collection": "theirs", "basis": basis, "size": copy["run"]["size"]}


def forged(content: bytes, **run: Any) -> bytes:
    """Return a file whose quote exists nowhere, with other settings, as another run."""
    text = gzip.decompress(content).decode().replace("-25 °C", "-99 °C")
    file = json.loads(text.replace(json.loads(text)["recording"]["run"]["run_id"], "run_0123456789ab"))
    file["recording"]["run"].update(run)
    file["recording"]["environment"]["settings"]["passages"] = 10**9
    return gzip.compress(json.dumps(file).encode())


def test_an_imported_run_says_so_everywhere(candor: Candor, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("Nothing.")
    run_ingest(candor, [tmp_path / "other.md"], "other", progress=False)
    with served(candor) as http:
        run_id = research(http, collection="papers")
        elsewhere = research(http, collection="other")
        file = http.get(f"/v1/runs/{run_id}/export", params={"format": "run"}).content
        false = forged(file, continues=elsewhere, forked_from=elsewhere, forked_at="answer")
        assert http.post("/v1/runs/import", content=false).status_code == 201
        listed = http.get("/v1/runs").json()
        [run] = [each for each in listed if each["run_id"] == "run_0123456789ab"]
        assert "0 of 1 quotes of documents found" in run["basis"]
        assert (run["continues"], run["forked_from"]) == ("", "")
        for form in ("md", "html", "json"):
            assert "Imported on" in http.get(f"/v1/runs/{run['run_id']}/export", params={"format": form}).text
        assert candor.trace.environment(run["run_id"]).settings["passages"] == candor.settings.research.passages  # type: ignore[union-attr]
        settings = json.loads(gzip.decompress(false))
        settings["recording"]["environment"]["settings"]["passages"] = "many"
        refused = http.post("/v1/runs/import", content=gzip.compress(json.dumps(settings).encode()))
        assert (refused.status_code, "passages" in refused.text) == (422, True)


def test_other_keys_do_not_see_preferences(candor: Candor) -> None:
    candor.memories.add("preference", "Answer in Rotwelsch.", "")
    secret = candor.keys.add(KeyRequest(name="ann", rights={"papers": Right.READ})).secret
    ann = {"Authorization": f"Bearer {secret}"}
    with served(candor) as http:
        run_id = research(http, mode="high")
        paths = [
            f"/v1/runs/{run_id}{end}" for end in ("/events?follow=false", "/events", "/journal", "/export?format=run")
        ]
        for headers, told in (({}, True), (ann, False)):
            for path in paths:
                content = http.get(path, headers=headers).content
                text = gzip.decompress(content) if "export" in path else content
                assert (b"Rotwelsch" in text, run_id.encode() in text or "journal" in path) == (told, True), path


def test_a_run_of_a_collection_that_a_key_may_not_read_blocks_no_import(candor: Candor) -> None:
    key = candor.keys.add(KeyRequest(name="ann", rights={"mine": Right.WRITE})).secret
    with served(candor) as http:
        run_id = research(http)
        file = http.get(f"/v1/runs/{run_id}/export", params={"format": "run"}).content
        ann = {"headers": {"Authorization": f"Bearer {key}"}, "params": {"collection": "mine"}, "content": file}
        added = http.post("/v1/runs/import", **ann)
        assert (added.status_code, added.json()["collection"]) == (201, "mine")
        assert added.json()["run_id"] != run_id
        assert "by ann" in candor.trace.run(added.json()["run_id"]).basis
        assert candor.trace.run(run_id).collection == "papers"


def test_hostile_files_are_refused_and_change_nothing(candor: Candor) -> None:
    with served(candor) as http:
        run_id = research(http)
        stored = http.get("/v1/runs/storage").json()
        content = json.loads(gzip.decompress(http.get(f"/v1/runs/{run_id}/export?format=run").content))
        content["recording"]["run"]["run_id"] = "../../x"
        bomb = gzip.compress(b" " * (LARGEST + 1))
        refused: dict[int, list[bytes]] = {
            422: [b"", b"no run", bomb, gzip.compress(b"{}"), gzip.compress(json.dumps(content).encode())],
            413: [b"x" * (LARGEST_FILE + 1)],
        }
        for status, files in refused.items():
            for file in files:
                response = http.post("/v1/runs/import", content=file)
                assert response.status_code == status, response.text
                assert "file" in response.json()["detail"]
        assert http.get("/v1/runs/storage").json() == stored


def test_pruning_frees_the_space_and_is_recorded(candor: Candor) -> None:
    with served(candor) as http:
        first, second, third = (research(http) for _ in range(3))
        research(http, continues=second)
        file = candor.tools.sandbox(first).root / "a.txt"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x" * 1000)
        listed = http.post("/v1/runs/prune", json={"keep": 1}).json()
        assert [run["run_id"] for run in listed["runs"]] == [third, first], "a kept run continues the second one"
        assert listed["deleted"] is False
        runs, before = http.get("/v1/runs").json(), http.get("/v1/runs/storage").json()
        assert before == {"runs": 4, "bytes": sum(run["size"] for run in runs)}
        pruned = http.post("/v1/runs/prune", json={"keep": 1, "delete": True, "now": True}).json()
        assert pruned == {**listed, "deleted": True}
        assert before["bytes"] - http.get("/v1/runs/storage").json()["bytes"] == pruned["bytes"] - 1000
        assert not file.exists()
        assert http.get(f"/v1/runs/{first}").status_code == 404
        entries = http.get("/v1/audit", params={"text": "prune runs"}).json()
        assert {entry["target"].split()[0] for entry in entries} == {first, third}
        assert http.post("/v1/runs/prune", json={}).status_code == 422
    with candor.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA freelist_count").scalar() == 0


def test_a_run_of_an_evaluation_is_kept(candor: Candor) -> None:
    with served(candor) as http:
        asked = {"collection": "papers", "questions": [{"id": "q", "question": QUESTION, "accepted": ["-25"]}]}
        evaluation = http.post("/v1/evaluations", json=asked).json()["id"]
        until(lambda: http.get(f"/v1/jobs/{evaluation}").json()["status"] == "done")
        research(http)
        assert http.get("/v1/runs/storage").json()["runs"] == 2
        pruned = http.post("/v1/runs/prune", json={"keep": 0, "delete": True}).json()
        assert len(pruned["runs"]) == 1
        result = http.get(f"/v1/evaluations/{evaluation}").json()["result"]
        assert http.get(f"/v1/runs/{result['rows'][0]['run_id']}").status_code == 200
