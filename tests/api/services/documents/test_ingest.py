"""Tests of the ingest service: one plan per ingest, executed under the collection's lock."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import event

from api.bootstrap import Candor
from api.cli.ingest import run_ingest, run_request
from api.errors import SettingsError
from api.services.documents.collection_pool import CollectionPool
from api.services.documents.ingest import run_ingest_job
from ingest.errors import IngestUnderWay, NothingToIngest
from ingest.ledger.lock import ingest_lock
from ingest.pipeline.plan import IngestRequest
from vectorstore.edge.store import EdgeStore
from vectorstore.models import CollectionSpec

SNAPSHOT = "SELECT documents.id, documents.path"  # how the statement starts; other reads select all columns

_listeners: list[list[str]] = []


@contextmanager
def listed_folders() -> Iterator[list[str]]:
    """Yield the folders that are listed within the block."""
    _install_hook()
    listed: list[str] = []
    _listeners.append(listed)
    try:
        yield listed
    finally:
        _listeners.remove(listed)


@cache
def _install_hook() -> None:
    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("os.listdir", "os.scandir"):
            place = arguments[0]  # a descriptor, if the ingest may not leave some folders
            for listed in _listeners:
                listed.append(os.readlink(f"/proc/self/fd/{place}") if isinstance(place, int) else str(place))

    sys.addaudithook(hook)


@contextmanager
def executed_statements(candor: Candor) -> Iterator[list[str]]:
    """Yield the SQL statements that Candor's database executes within the block."""
    executed: list[str] = []

    def record(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        executed.append(statement)

    event.listen(candor.engine, "before_cursor_execute", record)
    try:
        yield executed
    finally:
        event.remove(candor.engine, "before_cursor_execute", record)


class CountingStore(EdgeStore):
    """Counts how often it is asked for a collection."""

    lookups = 0

    def find(self, name: str) -> CollectionSpec | None:
        self.lookups += 1
        return super().find(name)


@pytest.fixture
def candor(make_candor: Callable[..., Candor], folder: Path) -> Candor:
    candor = make_candor(service={"ingest_roots": (folder,)})
    candor.store = CountingStore(candor.settings.home / "collections")
    return candor


@pytest.fixture
def deep(folder: Path) -> Path:
    """A folder with a folder in it."""
    (folder / "deep").mkdir()
    (folder / "deep" / "more.md").write_text("# More\n\nA heat pump works below zero.\n")
    return folder


def test_an_ingest_plans_once(candor: Candor, deep: Path) -> None:
    for indexed in (3, 0):  # a new collection, then an unchanged one
        with listed_folders() as listed, executed_statements(candor) as executed:
            lookups = candor.store.lookups
            assert run_ingest(candor, [deep], "papers", progress=False).indexed == indexed
        assert sorted(path for path in listed if Path(path).is_relative_to(deep)) == [str(deep), str(deep / "deep")]
        assert sum(statement.startswith(SNAPSHOT) for statement in executed) == 1
        assert candor.store.lookups - lookups == 1, "the model is checked once"


def test_an_ingest_job_plans_once(candor: Candor, deep: Path) -> None:
    pool = CollectionPool(candor.collections)
    spec = IngestRequest(collection="papers", paths=(str(deep),))
    try:
        with listed_folders() as listed, executed_statements(candor) as executed:
            assert run_ingest_job(candor.ingest, pool, spec, lambda _: None, lambda: False).indexed == 3
    finally:
        pool.close()
    assert sorted(path for path in listed if Path(path).is_relative_to(deep)) == [str(deep), str(deep / "deep")]
    assert sum(statement.startswith(SNAPSHOT) for statement in executed) == 1


def test_a_check_stops_at_the_first_file(candor: Candor, deep: Path) -> None:
    (deep / "a.md").write_text("# First\n")
    (deep / "deep").rename(deep / "z")
    with listed_folders() as listed:
        candor.ingest.check(IngestRequest(collection="papers", paths=(deep,)))
    assert [path for path in listed if Path(path).is_relative_to(deep)] == [str(deep)]
    assert candor.collections.list() == []


def test_a_retry_without_failures_creates_no_collection(candor: Candor) -> None:
    with pytest.raises(NothingToIngest):
        run_request(candor, IngestRequest(collection="papers", retry_failed=True), progress=False)
    assert candor.collections.list() == []


def test_nothing_is_planned_without_the_lock(candor: Candor, folder: Path) -> None:
    plans: list[object] = []
    with ingest_lock(candor.engine, "papers"), pytest.raises(IngestUnderWay):
        candor.ingest.ingest(IngestRequest(collection="papers", paths=(folder,)), on_plan=plans.append)
    assert plans == []


def test_a_removed_archive_takes_its_members_out_of_the_searches(
    make_candor: Callable[..., Candor], tmp_path: Path
) -> None:
    candor, folder = make_candor(), tmp_path / "papers"
    folder.mkdir()
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("pumps.md", "The Borea 12 works down to -25 °C.")
        archive.writestr("soup.txt", "Boil the lentils for 20 minutes.")
    (folder / "tea.md").write_text("Green tea steeps for two minutes.")
    run_ingest(candor, [folder], "papers", progress=False)
    candor.documents.remove(candor.documents.find("all.zip", "papers"))
    with candor.store.open("papers") as collection:
        assert {chunk.name for chunk in collection.scan()} == {"tea.md"}
    states = {each.name: each.state for each in candor.documents.list("papers", None)}
    assert states == {
        "all.zip": "removed",
        "all.zip/pumps.md": "removed",
        "all.zip/soup.txt": "removed",
        "tea.md": "indexed",
    }


def test_more_tokens_than_the_model_reads_are_refused(make_candor: Callable[..., Candor], tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text("Green tea.")
    limit = make_candor().embedder.max_tokens
    run_ingest(make_candor(ingest={"chunk_tokens": limit}), [tmp_path / "tea.md"], "fits", progress=False)
    with pytest.raises(SettingsError, match=f"ingest.chunk_tokens is {limit + 1}"):
        run_ingest(make_candor(ingest={"chunk_tokens": limit + 1}), [tmp_path / "tea.md"], "exceeds", progress=False)


def test_the_list_of_collections_reads_the_documents_once(make_candor: Callable[..., Candor], folder: Path) -> None:
    candor = make_candor()
    run_ingest(candor, [folder], "papers", progress=False)
    with executed_statements(candor) as executed:
        [listed] = candor.collections.overview()
    assert (listed.documents, listed.chunks, listed.failed) == (2, 2, 0)
    assert len([each for each in executed if "FROM documents" in each]) == 1
