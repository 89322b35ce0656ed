"""``candor move``: from files to a real Postgres and a real Qdrant server, and back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from qdrant_client import QdrantClient

from api.auth.keys import KeyRequest
from api.bootstrap import Candor
from api.cli.ask.run import run_question
from api.cli.ingest import run_request
from api.jobs.locks import lock_home
from api.services.move import collections as copying
from api.services.move.move import Move, MoveProgress, MoveTarget
from api.settings import Settings, load_settings
from ingest.pipeline.plan import IngestRequest
from multi_agent.llm.settings import EndpointSettings
from multi_agent.storage.run_filter import Rating
from multi_agent.values.request import Request
from support.panel import Panel
from support.qdrant import QdrantNode, needs_qdrant, running_qdrant
from support.scripted_endpoint import ScriptedEndpoint
from vectorstore.embedding.embedder import Embedder
from vectorstore.qdrant_server.store import OWNER

pytestmark = needs_qdrant

DOCUMENTS = {
    "pumps.md": "# Pumps\n\n## Limits\n\nThe Borea 12 works down to -25 °C.\n",
    "soup.txt": "Boil the lentils for 20 minutes.\n",
}
QUESTION = "Down to which temperature does the Borea 12 work?"
SPARE = "spare"
"""A database for tests that leave something behind."""


@pytest.fixture(scope="module")
def qdrant() -> Iterator[QdrantNode]:
    with running_qdrant() as node:
        yield node


@pytest.fixture
def servers(postgres: str, qdrant: QdrantNode) -> Iterator[tuple[str, str]]:
    """The URLs of an empty database and of an empty Qdrant server."""
    admin = sql.create_engine(postgres, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sql.text(f"DROP DATABASE IF EXISTS {SPARE} WITH (FORCE)"))
        connection.execute(sql.text(f"CREATE DATABASE {SPARE}"))
    admin.dispose()
    yield f"{postgres.rpartition('/')[0]}/{SPARE}", qdrant.url
    client = QdrantClient(url=qdrant.url, check_compatibility=False)
    for each in client.get_collections().collections:
        client.delete_collection(each.name)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[tuple[Path, EndpointSettings]]:
    """A folder with documents and a data folder with their collection, tags, a rated run and a key; and a model."""
    base = tmp_path_factory.mktemp("prepared")
    (base / "papers").mkdir()
    with ScriptedEndpoint(Panel("-25 °C")) as endpoint:
        model = endpoint.settings("openai")
        candor = Candor(Settings(home=base / "home", llm=model))
        candor.embedder = embedder
        write_documents(base / "papers")
        request = IngestRequest(collection="papers", paths=(base / "papers",), tags=("pumps",))
        run_request(candor, request, progress=False)
        answer = run_question(candor, Request(question=QUESTION), "papers", progress=False)
        candor.trace.rate(answer.run_id, Rating.UP, "")
        candor.keys.add(KeyRequest(name="reader", rights={"papers": "read"}))
        candor.engine.dispose()
        yield base, model


@pytest.fixture
def home(
    prepared: tuple[Path, EndpointSettings],
    tmp_path: Path,
    use_model: Callable,
    embedder: Embedder,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A copy of the prepared data folder. Commands use the loaded embedding model."""
    base, model = prepared
    use_model(model)
    monkeypatch.setattr(Candor, "embedder", embedder)
    return shutil.copytree(base / "home", tmp_path / "home", dirs_exist_ok=True)


@pytest.fixture
def papers(prepared: tuple[Path, EndpointSettings]) -> Iterator[Path]:
    """The folder with the documents, which the test may change."""
    folder = prepared[0] / "papers"
    yield folder
    shutil.rmtree(folder)
    folder.mkdir()
    write_documents(folder)


def write_documents(folder: Path) -> None:
    """Write two documents, with the same times each time."""
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))


@pytest.fixture
def look(run: Callable) -> Callable[[], dict[str, Any]]:
    """Return a function that returns all that a person sees of the data."""

    def hits(query: str) -> list[dict[str, Any]]:
        """Search. A server returns scores with fewer digits."""
        found = run("search", query, "-c", "papers", "--json").json
        return [each | {"score": round(each["score"], 3)} for each in found]

    def see() -> dict[str, Any]:
        runs = run("runs", "--json").json
        return {
            "documents": run("documents", "-c", "papers", "--json").json,
            "search": hits("heat pump temperature"),
            "words": hits("lentils"),
            "text": run("show", "pumps.md", "-c", "papers", "--text").out,
            "runs": runs,
            "trace": run("trace", runs[0]["run_id"], "--prompts", "--json").json,
            "keys": [each["id"] for each in run("keys", "--json").json],
            "replay": run("replay", runs[0]["run_id"]).code,
        }

    return see


def use(monkeypatch: pytest.MonkeyPatch, servers: tuple[str, str] | None) -> None:
    """Set the variables that a person sets after a move. None uses the files."""
    for name, value in zip(("CANDOR_DATABASE_URL", "CANDOR_STORE__URL"), servers or ("", ""), strict=True):
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)


def options(servers: tuple[str, str]) -> list[str]:
    return ["move", "--to-database", servers[0], "--to-store", servers[1]]


def rows(engine: sql.Engine) -> dict[str, list[Any]]:
    """Return all rows of a database."""
    metadata = sql.MetaData()
    metadata.reflect(engine)
    with engine.connect() as connection:
        return {
            table.name: [
                [str(value) for value in row]
                for row in connection.execute(
                    sql.select(*(sql.cast(column, sql.Text) if isinstance(column.type, sql.JSON) else column
                                 for column in table.columns if not isinstance(column.type, sql.DateTime)))
                    .order_by(*table.primary_key.columns)
                )
            ]
            for table in metadata.sorted_tables
        }  # fmt: skip


def test_there_and_back(
    run: Callable, home: Path, look: Callable, servers: tuple[str, str], papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, original = look(), rows(Candor(load_settings()).engine)
    moved = run(*options(servers))
    assert moved.code == 0, moved.err
    assert "1 collection with 2 passages, and compared them. The source is unchanged." in moved.err
    assert "set CANDOR_DATABASE_URL" in moved.err
    assert rows(Candor(load_settings()).engine) == original

    use(monkeypatch, servers)
    assert look() == before
    metadata = QdrantClient(url=servers[1], check_compatibility=False).get_collection("papers").config.metadata
    assert metadata
    assert metadata[OWNER] == Candor(load_settings()).ledger.database_id()
    again = run("ingest", papers, "-c", "papers", "--json").json
    assert (again["unchanged"], again["indexed"]) == (2, 0)
    assert run("ask", QUESTION, "-c", "papers").code == 0  # new ids do not collide with copied ones
    (papers / "new.md").write_text("# New\n\nThe Borea 14 is new.\n")
    assert run("ingest", papers, "-c", "papers", "--json").json["indexed"] == 1
    changed = look()

    (home / "candor.db").rename(home / "old.db")
    (home / "collections").rename(home / "old")
    back = run("move", "--to-database", "files", "--to-store", "files", "--json")
    assert (back.code, back.json["collections"], back.err) == (0, {"papers": 3}, "")
    use(monkeypatch, None)
    assert look() == changed
    assert run("ingest", papers, "-c", "papers", "--json").json["unchanged"] == 3


def test_only_the_collections(
    run: Callable, home: Path, look: Callable, servers: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = look()
    assert run("move", "--to-store", servers[1]).code == 0
    monkeypatch.setenv("CANDOR_STORE__URL", servers[1])
    assert look() == before
    assert home.exists()


def start(home: Path, servers: tuple[str, str], monkeypatch: pytest.MonkeyPatch, progress: MoveProgress) -> None:
    """Start a move with callbacks that can interrupt it."""
    source = Candor(load_settings())
    with monkeypatch.context() as context:
        use(context, servers)
        target = Candor(load_settings())
        place = MoveTarget(f"{servers[0]} {servers[1]}", target.engine, target.store)
        Move(source.engine, source.store, place, home).run(progress)


class Interrupted(Exception):
    """Ctrl-C, or the end of the process."""


@pytest.mark.parametrize("moment", ["journal", "papers"])
def test_an_interrupted_move_is_completed_by_the_same_command(
    run: Callable, home: Path, servers: tuple[str, str], monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    before = rows(Candor(load_settings()).engine)
    monkeypatch.setattr(copying, "_BATCH", 1)

    def stop(name: str, *_: object) -> None:
        if name == moment:
            raise Interrupted

    with pytest.raises(Interrupted):
        start(home, servers, monkeypatch, MoveProgress(stop, lambda name: lambda *_: stop(name)))
    other = run("move", "--to-store", servers[1])
    assert (other.code, "A move to another target was interrupted" in other.err) == (2, True)
    assert run(*options(servers)).code == 0
    assert not (home / "move.json").exists()
    use(monkeypatch, servers)
    candor = Candor(load_settings())
    assert rows(candor.engine) == before
    with candor.store.open("papers") as collection:
        assert collection.count().chunks == 2


def test_documents_that_change_between_two_attempts_are_copied(
    run: Callable, home: Path, papers: Path, servers: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        start(home, servers, monkeypatch, MoveProgress(lambda *_: None, lambda _: stop))
    (papers / "soup.txt").unlink()
    assert run("ingest", papers, "-c", "papers", "--sync").code == 0
    assert run(*options(servers)).code == 0
    use(monkeypatch, servers)
    found = run("search", "lentils", "-c", "papers", "--json").json
    assert "soup.txt" not in str(found)


def test_a_target_with_data_is_refused_and_unchanged(
    run: Callable, home: Path, servers: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(*options(servers)).code == 0
    database = run(*options(servers))
    assert (database.code, "The database at the target is not empty" in database.err) == (2, True)
    store = run("move", "--to-store", servers[1])
    assert (store.code, "it has a collection 'papers' with 2 passages" in store.err) == (2, True)
    assert not (home / "move.json").exists()
    use(monkeypatch, servers)
    assert run("search", "lentils", "-c", "papers").code == 0


def test_it_is_refused_while_a_service_runs(run: Callable, home: Path, servers: tuple[str, str]) -> None:
    with lock_home(home):
        refused = run(*options(servers))
    assert (refused.code, "uses the home folder" in refused.err) == (2, True)


def test_unfinished_jobs_are_refused(run: Callable, home: Path, servers: tuple[str, str]) -> None:
    jobs = sql.create_engine(f"sqlite:///{home / 'jobs.db'}")
    with jobs.begin() as connection:
        connection.execute(sql.text("CREATE TABLE workflow_status (status TEXT)"))
        connection.execute(sql.text("INSERT INTO workflow_status VALUES ('PENDING'), ('ENQUEUED'), ('SUCCESS')"))
    refused = run(*options(servers))
    assert (refused.code, "has 2 unfinished jobs" in refused.err) == (2, True)


@pytest.mark.parametrize("given", [[], ["--to-database", "files"], ["--to-store", "files"]])
def test_a_target_is_required(run: Callable, given: list[str]) -> None:
    assert run("move", *given).code == 2
