"""Deleted items move to the bin. They are hidden, can be restored, and are removed after the configured days."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sql

from api.auth.audit import AuditQuery
from api.auth.keys import KeyRequest
from api.auth.permissions import LOCAL_CALLER, Caller, Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.errors import HomeError, InBin, Unauthorized, UsageError
from api.settings import ServiceSettings
from base.bin import BIN
from ingest.errors import DocumentNotFound, IngestUnderWay
from ingest.ledger.lock import ingest_lock
from ingest.pipeline.plan import IngestRequest
from multi_agent.errors import NameTaken, RunNotFound, TableNotFound
from multi_agent.storage.tables import RUNS
from multi_agent.values.answer import Status
from multi_agent.values.request import Request

COLUMN = {"name": "Limit", "question": "The limit"}
WRITER = Caller(key="w", name="Writer", rights={"papers": Right.WRITE})


@pytest.fixture
def candor(make_candor: Callable[..., Candor], tmp_path: Path) -> Candor:
    made, folder = make_candor(), tmp_path / "papers"
    folder.mkdir()
    (folder / "pumps.md").write_text("The Borea 12 works down to -25 °C.")
    (folder / "soup.txt").write_text("Boil the lentils for 20 minutes.")
    run_ingest(made, [folder], "papers", progress=False)
    return made


def upload(candor: Candor, name: str, text: str) -> Path:
    path = candor.uploads.folder("papers") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    run_ingest(candor, [path], "papers", progress=False)
    return path


def found(candor: Candor, words: str) -> list[str]:
    with candor.collections.open_library("papers") as library:
        return [hit.chunk.name for hit in library.retriever.search([words], 5)]


def restore(candor: Candor, name: str) -> None:
    if candor.bin.restore(entry := candor.bin.find(name)):
        candor.ingest.ingest(IngestRequest(collection=entry.collection, repair=True))


def age(candor: Candor, days: int) -> None:
    """Let everything in the bin be older."""
    with candor.engine.begin() as connection:
        connection.execute(BIN.update().values(deleted_at=datetime.now(UTC) - timedelta(days=days)))


def stored_run(candor: Candor, run_id: str, collection: str = "papers") -> None:
    candor.trace.start(run_id, Request(question="How cold?"), collection, "m")
    candor.trace.abort(run_id, Status.CANCELLED, "a test")


def test_a_collection_comes_back_as_it_was(candor: Candor, tmp_path: Path) -> None:
    path = upload(candor, "tea.md", "Green tea steeps for two minutes.")
    before = list(candor.collections.overview()), candor.documents.list("papers", None)
    candor.bin.delete_collection("papers")
    assert (list(candor.collections.overview()), candor.collections.counts(), candor.collections.searchable()) == (
        [],
        {},
        [],
    )
    with pytest.raises(InBin, match="in the bin"), candor.collections.open("papers"):
        pass
    with pytest.raises(InBin):
        candor.documents.find("tea.md", "papers")
    with pytest.raises(InBin):  # its name is taken
        candor.ingest.ingest(IngestRequest(collection="papers", paths=(tmp_path / "papers",)))
    assert (path.exists(), candor.bin.find("papers").size) == (True, path.stat().st_size)
    restore(candor, "papers")
    assert (list(candor.collections.overview()), candor.documents.list("papers", None)) == before
    assert candor.bin.list() == []


def test_a_document_comes_back_with_its_text_its_file_and_its_passages(candor: Candor) -> None:
    path = upload(candor, "notes/tea.md", "Green tea steeps for two minutes.")
    candor.documents.tag("tea.md", "papers", add=("drinks",))
    before = candor.documents.find("tea.md", "papers")
    candor.bin.delete_document(before)
    assert (path.exists(), path.parent.exists()) == (False, False)
    assert "notes/tea.md" not in found(candor, "green tea")
    assert list(candor.collections.counts()) == ["papers"]  # what the bin keeps is no collection
    restore(candor, "notes/tea.md")
    now, measured = candor.documents.find("tea.md", "papers"), {"updated_at", "seconds", "tokens", "facts"}
    assert now.model_dump(exclude=measured) == before.model_dump(exclude=measured)
    assert path.read_text() == "Green tea steeps for two minutes."
    assert found(candor, "green tea")[0] == "notes/tea.md"
    assert [each.name for each in candor.uploads.folder("papers").parent.rglob("*") if each.is_file()] == ["tea.md"]


def test_a_document_comes_back_with_the_fields_that_its_file_states(candor: Candor) -> None:
    upload(candor, "tea.md", "---\nproject: Orion\nauthor: Marta Olin\n---\n\nGreen tea steeps for two minutes.")
    before = candor.documents.find("tea.md", "papers").fields
    assert before["project"] == "Orion"
    candor.bin.delete_document(candor.documents.find("tea.md", "papers"))
    restore(candor, "tea.md")
    assert candor.documents.find("tea.md", "papers").fields == before


def test_what_was_restored_is_not_removed_by_an_older_list(candor: Candor) -> None:
    upload(candor, "tea.md", "Green tea steeps for two minutes.")
    candor.bin.delete_collection("papers")
    listed = candor.bin.list()
    restore(candor, "papers")
    candor.bin.empty(listed)
    assert found(candor, "green tea")[0] == "tea.md"


def test_a_collection_that_is_removed_at_once_takes_its_documents_in_the_bin_along(candor: Candor) -> None:
    upload(candor, "tea.md", "Green tea steeps for two minutes.")
    candor.bin.delete_document(candor.documents.find("tea.md", "papers"))
    candor.bin.delete_collection("papers", now=True)
    assert candor.bin.list() == []
    assert [each for each in candor.uploads.folder("papers").parent.rglob("*") if each.is_file()] == []


def test_a_refused_deletion_leaves_no_entry(candor: Candor) -> None:
    upload(candor, "tea.md", "Green tea steeps for two minutes.")
    with ingest_lock(candor.engine, "papers"), pytest.raises(IngestUnderWay):
        candor.bin.delete_document(candor.documents.find("tea.md", "papers"))
    assert candor.bin.list() == []


def test_an_entry_that_cannot_be_removed_does_not_block_the_others(candor: Candor) -> None:
    upload(candor, "tea.md", "Green tea steeps for two minutes.")
    candor.bin.delete_document(candor.documents.find("tea.md", "papers"))
    candor.bin.delete_collection("papers")
    with candor.engine.begin() as connection:
        connection.execute(BIN.update().values(deleted_at=datetime.now(UTC) - timedelta(days=31)))
    with ingest_lock(candor.engine, "papers"), pytest.raises(IngestUnderWay):
        candor.bin.expire()
    assert [each.kind for each in candor.bin.list()] == ["collection"]


def test_a_folder_that_cannot_be_removed_does_not_block_the_others(candor: Candor) -> None:
    upload(candor, "tea.md", "Green tea steeps for two minutes.")
    candor.bin.delete_collection("papers")
    made = candor.keys.add(KeyRequest(name="x", rights={"papers": "read"}))
    candor.bin.delete_key(made.key)
    with candor.engine.begin() as connection:
        connection.execute(BIN.update().values(deleted_at=datetime.now(UTC) - timedelta(days=31)))

    def fail(_: str) -> None:
        raise HomeError("Cannot delete the uploads.")

    with pytest.raises(HomeError):
        candor.bin.expire(fail)
    assert [each.kind for each in candor.bin.list()] == ["collection"]


def test_a_key_that_is_erased_leaves_the_bin(candor: Candor) -> None:
    made = candor.keys.add(KeyRequest(name="x", rights={"papers": "read"}))
    candor.bin.delete_key(made.key)
    candor.bin.delete_key(candor.keys.get(made.key.id), now=True)
    assert candor.bin.list() == []
    candor.keys.restore(made.key.id)
    assert candor.keys.get(made.key.id).revoked_at


def test_an_archive_comes_back_with_its_members_although_its_file_is_gone(candor: Candor, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("tea.md", "Green tea steeps for two minutes.")
    run_ingest(candor, [tmp_path / "all.zip"], "papers", progress=False)
    candor.bin.delete_document(candor.documents.find("all.zip", "papers"))
    (tmp_path / "all.zip").unlink()
    restore(candor, "all.zip")
    assert found(candor, "green tea")[0] == "all.zip/tea.md"


def test_a_document_that_is_there_again_is_not_overwritten(candor: Candor) -> None:
    upload(candor, "tea.md", "Green tea steeps for two minutes.")
    candor.bin.delete_document(candor.documents.find("tea.md", "papers"))
    path = upload(candor, "tea.md", "Black tea steeps for four minutes.")
    with pytest.raises(UsageError, match="again"):
        restore(candor, "tea.md")
    assert path.read_text() == "Black tea steeps for four minutes."
    candor.bin.delete_document(candor.documents.find("tea.md", "papers"))
    with pytest.raises(UsageError, match="several times"):
        candor.bin.find("tea.md")
    restore(candor, candor.bin.list()[1].id[:8])  # the first one
    assert path.read_text() == "Green tea steeps for two minutes."


def test_a_document_of_a_collection_in_the_bin_waits_for_it(candor: Candor) -> None:
    candor.bin.delete_document(candor.documents.find("pumps.md", "papers"))
    candor.bin.delete_collection("papers")
    with pytest.raises(InBin):
        restore(candor, "pumps.md")
    candor.bin.empty([candor.bin.find("papers")])
    assert candor.bin.list() == []  # its documents in the bin went, too
    assert candor.ledger.counts() == {}


def test_runs_and_tables_are_hidden_until_they_are_restored(candor: Candor) -> None:
    stored_run(candor, "run_1")
    candor.tables.create({"name": "limits", "columns": [COLUMN]}, "papers")
    candor.bin.delete_runs([candor.pruning.one(candor.trace.run("run_1"))])
    candor.bin.delete_table(candor.tables.store.get("limits"))
    assert (candor.trace.runs(), candor.tables.store.list()) == ([], ())
    with pytest.raises(RunNotFound):
        candor.trace.answer("run_1")
    with pytest.raises(TableNotFound):
        candor.tables.store.get("limits")
    with pytest.raises(NameTaken, match="in the bin"):
        candor.tables.create({"name": "limits", "columns": [COLUMN]}, "papers")
    restore(candor, "run_1")
    restore(candor, "limits")
    assert (candor.trace.run("run_1").question, candor.tables.store.get("limits").collection) == ("How cold?", "papers")


def test_a_run_that_others_need_is_kept(candor: Candor) -> None:
    stored_run(candor, "run_1")
    candor.trace.start("run_2", Request(question="Why?", continues="run_1"), "papers", "m")
    with pytest.raises(UsageError, match="run_2"):
        candor.pruning.one(candor.trace.run("run_1"))


def test_a_key_is_revoked_at_once_and_its_secret_erased_at_the_end(candor: Candor) -> None:
    made = candor.keys.add(KeyRequest(name="Ada", rights={"papers": Right.READ}))
    candor.bin.delete_key(made.key)
    candor.bin.delete_key(candor.keys.get(made.key.id))  # twice is once
    with pytest.raises(Unauthorized):
        candor.keys.authenticate(made.secret)
    restore(candor, "Ada")
    assert candor.keys.authenticate(made.secret).name == "Ada"
    candor.bin.delete_key(candor.keys.get(made.key.id), now=True)
    candor.keys.restore(made.key.id)
    with pytest.raises(Unauthorized):
        candor.keys.authenticate(made.secret)


def test_what_is_old_is_removed_with_rows_files_and_passages(candor: Candor) -> None:
    path = upload(candor, "tea.md", "Green tea steeps for two minutes.")
    stored_run(candor, "run_1")
    candor.tables.create({"name": "limits", "columns": [COLUMN]}, "papers")
    candor.bin.delete_runs([candor.pruning.one(candor.trace.run("run_1"))])
    candor.bin.delete_table(candor.tables.store.get("limits"))
    candor.bin.delete_document(candor.documents.find("tea.md", "papers"))
    candor.bin.delete_collection("papers")
    age(candor, 29)
    candor.bin.expire()
    assert len(candor.bin.list()) == 4
    age(candor, 30)
    candor.bin.expire()
    assert (candor.bin.list(), candor.store.list(), candor.ledger.counts()) == ([], [], {})
    with candor.engine.connect() as connection:
        assert connection.scalar(sql.select(sql.func.count()).select_from(RUNS)) == 0
    assert not any(each.is_file() for each in path.parent.parent.rglob("*"))
    assert {each.action for each in candor.audit.list(AuditQuery())} >= {"empty bin", "prune runs"}


def test_zero_days_and_now_remove_at_once(candor: Candor, make_candor: Callable[..., Candor]) -> None:
    candor.bin.delete_document(candor.documents.find("pumps.md", "papers"), now=True)
    no_bin = make_candor(service=ServiceSettings(bin_days=0))
    no_bin.bin.delete_collection("papers")
    assert (no_bin.bin.list(), no_bin.ledger.counts()) == ([], {})


def test_only_who_deleted_it_and_owners_see_it(candor: Candor) -> None:
    candor.bin.delete_document(candor.documents.find("pumps.md", "papers"), WRITER)
    candor.bin.delete_document(candor.documents.find("soup.txt", "papers"))
    other = WRITER.model_copy(update={"key": "v"})
    owner = Caller(key="o", name="Owner", rights={"papers": Right.ADMIN})
    stranger = Caller(key="w", name="Writer", rights={"mail": Right.ADMIN})  # may no longer read papers
    shown = {
        name: len(candor.bin.list(caller))
        for name, caller in {
            "writer": WRITER,
            "other": other,
            "owner": owner,
            "stranger": stranger,
            "local": LOCAL_CALLER,
        }.items()
    }
    assert shown == {"writer": 1, "other": 0, "owner": 2, "stranger": 0, "local": 2}


def test_a_removed_document_cannot_be_found(candor: Candor) -> None:
    candor.bin.delete_document(candor.documents.find("pumps.md", "papers"))
    with pytest.raises(DocumentNotFound):
        candor.documents.text(candor.documents.find("pumps.md", "papers"))
