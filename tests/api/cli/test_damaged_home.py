"""Damaged or deleted files of the data folder, and full disks: the message says which, and what to do."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from api.bootstrap import Candor
from api.settings import load_settings
from support.service import RunningService, with_service
from support.waiting import LIMIT_S, until
from vectorstore.edge import disk
from vectorstore.errors import StoreUnavailable
from vectorstore.remote import address

NOISE = b"noise" * 4_000


@pytest.fixture
def home(ingested: None) -> Path:
    """A data folder with two documents in ``papers``."""
    return Path(os.environ["CANDOR_HOME"])


def test_a_damaged_list_of_jobs_is_named(home: Path, run: Callable) -> None:
    (home / "jobs.db").write_bytes(NOISE)
    failed = run("serve", "--port", "0")
    assert failed.code == 1
    assert "jobs.db', the list of jobs, is damaged" in failed.err
    assert "delete this file" in failed.err
    assert "Traceback" not in failed.err
    doctor = run("doctor")
    assert doctor.code == 1
    assert "the list of jobs, is damaged" in " ".join(doctor.out.split())


def test_a_damaged_database_names_the_backup(home: Path, run: Callable) -> None:
    for name in ("candor.db", "candor.db-wal"):
        (home / name).unlink(missing_ok=True)
    (home / "candor.db").write_bytes(NOISE)
    failed = run("search", "lentils")
    assert failed.code == 1
    assert "file is not a database" in failed.err
    assert "`candor restore`" in failed.err


def test_damaged_metadata_names_the_backup(home: Path, run: Callable, folder: Path) -> None:
    assert run("ingest", folder, "-c", "papers", "--meta", "project=Orion").code == 0
    with closing(sqlite3.connect(home / "candor.db")) as database, database:
        assert database.execute("UPDATE document_fields SET fields = '{noise'").rowcount
    failed = run("documents", "-c", "papers")
    assert failed.code == 1
    assert "A row of the database is damaged" in failed.err
    assert "`candor restore`" in failed.err


@pytest.mark.parametrize(
    ("column", "noise", "named"),
    [
        ("state", "noise", "its state is 'noise'"),
        ("updated_at", "noise", "Invalid isoformat string: 'noise'"),
        ("metadata", "{noise", "Expecting property name"),
    ],
)
def test_a_damaged_row_is_listed_and_read_again(home: Path, run: Callable, column: str, noise: str, named: str) -> None:
    with closing(sqlite3.connect(home / "candor.db")) as database, database:
        database.execute(f"UPDATE documents SET {column} = ? WHERE name = 'soup.txt'", [noise])
    checks = {check.name: check for check in Candor(load_settings()).doctor.diagnose().checks}
    assert checks["documents of papers"].detail == "damaged rows in the database: soup.txt"
    assert "`candor ingest --retry-failed --collection papers`" in checks["documents of papers"].remedy
    listed = {each["name"]: each for each in json.loads(run("documents", "-c", "papers", "--json").out)}
    assert {name: each["state"] for name, each in listed.items()} == {"soup.txt": "failed", "pumps.md": "indexed"}
    assert f"Its row in the database was damaged ({named}" in listed["soup.txt"]["reason"]
    assert "soup.txt" in run("search", "lentils", "-c", "papers").out
    assert run("ingest", "--retry-failed", "--collection", "papers").code == 0
    repaired = {each["name"]: each for each in json.loads(run("documents", "-c", "papers", "--json").out)}
    assert (repaired["soup.txt"]["state"], repaired["soup.txt"]["chunks"]) == ("indexed", 1)
    assert run("search", "lentils", "-c", "papers").out.count("soup.txt") == 1


def test_an_ingest_reads_past_a_damaged_row(home: Path, run: Callable, folder: Path) -> None:
    with closing(sqlite3.connect(home / "candor.db")) as database, database:
        database.execute("UPDATE documents SET chunks = 'noise', attempts = 'noise' WHERE name = 'soup.txt'")
    assert "papers: 1 indexed, 1 unchanged" in run("ingest", folder, "-c", "papers").err
    assert run("search", "lentils", "-c", "papers").out.count("soup.txt") == 1


def test_a_damaged_shard_is_restored_as_the_message_says(home: Path, run: Callable) -> None:
    papers = home / "collections" / "papers"
    (papers / "shard" / "edge_config.json").write_bytes(NOISE)
    failed = run("search", "lentils", "-c", "papers")
    assert failed.code == 1
    assert f"Rename {str(papers)!r}; `candor ingest --retry-failed --collection papers`" in failed.err
    papers.rename(home / "old")
    assert run("ingest", "--retry-failed", "--collection", "papers").code == 0
    assert "soup.txt" in run("search", "lentils", "-c", "papers").out


def test_an_index_without_its_database_gives_no_answers(home: Path, run: Callable, folder: Path) -> None:
    for path in home.glob("candor.db*"):
        path.unlink()
    failed = run("search", "lentils", "-c", "papers")
    assert (failed.code, failed.out) == (1, "")
    assert "`candor.db` was deleted or replaced" in failed.err
    assert run("ingest", folder, "-c", "papers").code == 0
    assert "soup.txt" in run("search", "lentils", "-c", "papers").out


def test_a_full_disk_is_named_by_the_checks_of_readyz(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(home)
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: usage._replace(free=1 << 20))
    [check] = [each for each in Candor(load_settings()).doctor.check_parts() if each.name == "store"]
    assert not check.ok
    assert f"The disk of {str(home / 'collections')!r} has 1 MiB free" in check.remedy


def test_a_start_on_a_full_disk_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(address, "write_address", full)
    with pytest.raises(StoreUnavailable, match="Free some space on the disks of") as failed:
        address.listen(tmp_path, address.new_address())
    assert "Set TMPDIR" not in str(failed.value)


def test_a_service_without_its_database_says_so_until_the_collection_is_dropped(home: Path) -> None:
    for path in home.glob("candor.db*"):
        path.unlink()
    candor = Candor(load_settings())
    candor.settings = with_service(candor.settings, ingest_roots=(home.parent,))
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        asked = {"query": "lentils", "collection": "papers"}
        refused = http.post("/v1/search", json=asked)
        assert (refused.status_code, "was deleted or replaced" in refused.text) == (503, True)
        assert http.delete("/v1/collections/papers?now=true").status_code == 200
        uploaded = http.post("/v1/collections/papers/documents", files=[("files", ("tea.md", b"Green tea."))])
        until(lambda: http.get(f"/v1/jobs/{uploaded.json()['id']}").json()["status"] == "done")
        found = http.post("/v1/search", json=asked).json()
        assert {hit["name"] for hit in found} == {"tea.md"}
