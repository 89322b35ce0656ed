"""``candor backup`` while a service runs, and ``candor restore`` into another data folder."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from api.bootstrap import Candor
from api.services.move.backup import back_up
from api.settings import MODELS_FILE, Settings
from ingest.ledger.lock import ingest_lock
from support.panel import Panel
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, ServiceProcess
from support.waiting import until

MANIFEST = "backup.json"
FULL = "database or disk is full"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(Panel("-25 °C")) as running:
        yield running


@pytest.fixture(scope="module")
def service(endpoint: ScriptedEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A service with an uploaded document, about which it has answered a question."""
    home = tmp_path_factory.mktemp("service") / "home"
    settings = endpoint.settings("openai")
    model = {f"CANDOR_LLM__{name.upper()}": getattr(settings, name) for name in ("provider", "base_url", "model")}
    with ServiceProcess(home, CANDOR_SERVICE__RESEARCH_PROCESS="false", **model) as running:
        upload(running.http, "pumps.md", b"# Pumps\n\nThe Borea 12 works down to -25 \xc2\xb0C.\n")
        yield running


@pytest.fixture(scope="module")
def archive(service: ServiceProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the data folder, written while the service runs."""
    file = tmp_path_factory.mktemp("archive") / "candor.zip"
    back_up_home(service.home, file)
    return file


def back_up_home(home: Path, file: Path, **changes: Any) -> Any:
    candor = Candor(Settings(home=home, **changes))
    try:
        return back_up(
            candor.settings, candor.engine, candor.store, lambda copies: Candor(Settings(home=copies)).store, file,
            lambda _: lambda *_: None,
        )  # fmt: skip
    finally:
        candor.engine.dispose()


def upload(http: httpx.Client, name: str, content: bytes) -> None:
    response = http.post("/v1/collections/papers/documents", files=[("files", (name, content))])
    assert response.status_code == 202, response.text
    until(lambda: http.get(f"/v1/jobs/{response.json()['id']}").json()["status"] == "done")


def test_a_restored_folder_searches_answers_and_opens_citations(
    service: ServiceProcess, archive: Path, run: Callable, endpoint: ScriptedEndpoint, use_model: Callable,
    tmp_path: Path,
) -> None:  # fmt: skip
    use_model(endpoint.settings("openai"))
    assert archive.stat().st_mode & 0o777 == 0o600
    home = tmp_path / "second"
    restored = run("restore", archive, "--home", home)
    assert (restored.code, restored.err) == (0, f"Restored into {str(home)!r}: 1 collection with 1 passage.\n")
    upload(service.http, "later.md", b"Only the first data folder has this.\n")
    [document] = run("documents", "-c", "papers", "--home", home, "--json").json
    assert document["path"] == str(home / "uploads" / "papers" / "pumps.md")
    assert Path(document["path"]).read_bytes().startswith(b"# Pumps")
    [hit] = run("search", "Borea", "-c", "papers", "--home", home, "--json").json
    assert (hit["name"], hit["document_id"]) == ("pumps.md", document["id"])
    answer = run("ask", QUESTION, "-c", "papers", "--home", home, "--json").json
    assert (answer["status"], answer["evidence"][0]["document_id"]) == ("answered", document["id"])
    cited = run("show", answer["run_id"], "1", "--home", home)
    assert "works down to -25 °C" in cited.out
    again = run("ingest", "--retry-failed", "-c", "papers", "--home", home)
    assert "No file has failed" in again.err  # the restored index has all documents of the restored database


def test_ingests_wait_for_a_backup(service: ServiceProcess, tmp_path: Path) -> None:
    candor = Candor(Settings(home=service.home))
    with ingest_lock(candor.engine, "papers"), pytest.raises(Exception, match="is being changed by process"):
        back_up_home(service.home, tmp_path / "candor.zip")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, FULL), sqlite3.OperationalError(FULL)])
def test_a_full_disk_is_an_error_that_leaves_no_file(
    ingested: None, run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fail(home: Path, copies: Path) -> None:
        (copies / "candor.db").write_bytes(b"half")
        raise fault

    monkeypatch.setattr("api.services.move.backup._copy_databases", fail)
    (folder := tmp_path / "backups").mkdir()
    failed = run("backup", folder / "new.zip", "--json")
    assert failed.code == 1
    assert f"new.zip': {FULL}. Check the folder, its permissions and space." in failed.json["error"]["message"]
    assert list(folder.iterdir()) == []


def test_the_archive_is_consistent_while_runs_are_written(
    service: ServiceProcess, run: Callable, tmp_path: Path
) -> None:
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            service.http.post("/v1/research", json={"question": QUESTION, "collection": "papers"}).raise_for_status()

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for number in range(2):
            back_up_home(service.home, tmp_path / f"{number}.zip")
    finally:
        done.set()
        asking.join()
    for number in range(2):
        home = tmp_path / f"home{number}"
        assert run("restore", tmp_path / f"{number}.zip", "--home", home).code == 0
        assert {each["status"] for each in run("runs", "--home", home, "--json").json} <= {
            "answered",
            "running",
            "waiting",
        }


def test_a_folder_with_files_is_refused(archive: Path, run: Callable, tmp_path: Path) -> None:
    (tmp_path / "home" / "candor.toml").write_text("")
    refused = run("restore", archive, "--home", tmp_path / "home")
    assert (refused.code, "is not empty" in refused.err) == (2, True)
    assert [each.name for each in (tmp_path / "home").iterdir()] == ["candor.toml"]


def rewrite(archive: Path, file: Path, **changed: Any) -> None:
    """Copy an archive with other values in its manifest."""
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(file, "w") as copy:
        for name in source.namelist():
            content = source.read(name)
            copy.writestr(name, json.dumps(json.loads(content) | changed) if name == MANIFEST else content)


def cut(archive: Path, file: Path) -> None:
    file.write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])


def flip(archive: Path, file: Path) -> None:
    content = bytearray(shutil.copyfile(archive, file).read_bytes())
    for position in range(len(content) // 2, len(content) // 2 + 64):
        content[position] ^= 0xFF
    file.write_bytes(content)


def forge(archive: Path, file: Path) -> None:
    with zipfile.ZipFile(archive) as source:
        files = json.loads(source.read(MANIFEST))["files"]
    rewrite(archive, file, files=dict.fromkeys(files, "0" * 64))


def foreign(_: Path, file: Path) -> None:
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("letter.txt", "Hello")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut, "is damaged, or no backup of Candor"),
        (flip, "damaged"),
        (forge, "has changed"),
        (foreign, "is no backup of Candor"),
        (lambda _, file: file.write_text("text"), "is damaged, or no backup of Candor"),
        (lambda archive, file: rewrite(archive, file, schema_version="9999", candor="99"), "which is newer"),
        (lambda archive, file: rewrite(archive, file, format=2), "one of a newer version"),
        (lambda archive, file: rewrite(archive, file, files={"../evil": "0"}), "does not have the files"),
        (lambda *_: None, "There is no file"),
        (lambda _, file: file.mkdir(), "bad.zip'"),
    ],
)
def test_a_damaged_or_foreign_archive_is_refused(
    archive: Path, run: Callable, tmp_path: Path, damage: Callable, message: str
) -> None:
    damage(archive, tmp_path / "bad.zip")
    refused = run("restore", tmp_path / "bad.zip", "--home", tmp_path / "home")
    assert (refused.code, message in refused.err) == (2, True), refused.err
    assert not list((tmp_path / "home").glob("*"))


def test_a_backup_overwrites_nothing_and_is_not_in_the_data_folder(
    run: Callable, ingested: None, tmp_path: Path
) -> None:
    (tmp_path / "old.zip").write_bytes(b"old")
    refused = run("backup", tmp_path / "old.zip")
    assert (refused.code, "exists already" in refused.err) == (2, True)
    inside = run("backup", Path(os.environ["CANDOR_HOME"]) / "new.zip")
    assert (inside.code, "is in the data folder" in inside.err) == (2, True)
    nowhere = run("backup", tmp_path / "missing" / "new.zip")
    assert (nowhere.code, "No such file or directory" in nowhere.err) == (1, True)
    written = run("backup", tmp_path / "new.zip")
    assert (written.code, "1 collection with 2 passages" in written.err) == (0, True)
    assert "NOT in the archive" not in written.err


def test_what_is_not_in_the_archive_is_named(ingested: None, run: Callable, tmp_path: Path) -> None:
    home = Path(os.environ["CANDOR_HOME"])
    (home / "linked").symlink_to(tmp_path)
    assert "is a link: copy what it names" in run("backup", tmp_path / "a.zip").err
    settings = Settings(home=home, store={"url": "http://127.0.0.1:9"})
    report = back_up_home(home, tmp_path / "b.zip", store=settings.store)
    assert "The collections are on the Qdrant server" in report.left_out[0]
    assert report.collections == {}
    from api.services.move.backup import _left_out

    postgres = Settings(home=home, database_url=SecretStr("postgresql+psycopg://db/candor"))
    assert "The database is in Postgres" in next(iter(_left_out(postgres)))


def test_the_keys_of_chosen_models_are_left_out(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / MODELS_FILE).write_text('{"llm": {"api_key": "sesame"}}')
    report = back_up_home(home, tmp_path / "candor.zip")
    assert "choose them again" in report.left_out[0]
    assert MODELS_FILE not in report.files
