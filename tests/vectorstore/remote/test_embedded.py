"""The collections of a folder, used by several processes through the search process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from base import rpc
from support.chunks import SPEC, make_chunk, make_vectors
from support.serving import serving
from support.waiting import LIMIT_S
from vectorstore.edge.store import EdgeCollection, EdgeStore
from vectorstore.embedded import EmbeddedStore
from vectorstore.embedding.embedder import make_embedder
from vectorstore.errors import CollectionClosed, CollectionLocked, CollectionNotFound, StoreUnavailable
from vectorstore.models import ChunkFilter, SearchMode
from vectorstore.remote import client, server
from vectorstore.remote.address import FILE, ServiceAddress, read_address
from vectorstore.remote.client import RemoteCollection, RemoteStore
from vectorstore.settings import EmbeddingSettings
from vectorstore.store import Query

CHUNKS = [make_chunk(f"passage {number}", index=number) for number in range(600)]
VECTORS = make_vectors(len(CHUNKS))

_PROCESS = """
import sys
from pathlib import Path
from vectorstore.embedded import EmbeddedStore
from vectorstore.remote.process import SearchProcess
from vectorstore.settings import EmbeddingSettings
folder = Path(sys.argv[1])
store = EmbeddedStore(folder)
{body}
    print("open", flush=True)
    sys.stdin.read()
"""
SERVING = _PROCESS.format(
    body="with SearchProcess(folder, EmbeddingSettings()) as process, store.open('papers'):\n"
    "    print(process.pid, flush=True)"
)
OPEN = _PROCESS.format(body="with store.open('papers') as papers:\n    print(papers.count().chunks, flush=True)")


class Process:
    """Python code in another process, which prints ``open`` and then waits."""

    def __init__(self, code: str, folder: Path) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-c", code, str(folder)],
            env={"PYTHONPATH": ":".join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.printed: list[str] = []

    def wait_until_open(self) -> None:
        assert self.popen.stdout is not None
        while (line := self.popen.stdout.readline().strip()) != "open":
            assert line, "the process ended"
            self.printed.append(line)

    def kill(self) -> None:
        self.popen.send_signal(signal.SIGKILL)
        self.popen.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the collection ``papers``."""
    with EdgeStore(tmp_path).create(SPEC) as papers:
        papers.upsert(CHUNKS, VECTORS)
    return tmp_path


@pytest.fixture
def address(folder: Path) -> Iterator[ServiceAddress]:
    """The address of a server of the folder."""
    with serving(folder) as found:
        yield found


def test_two_processes_use_a_collection_through_the_one_that_serves_it(folder: Path) -> None:
    serving = Process(SERVING, folder)
    serving.wait_until_open()
    other = Process(OPEN, folder)
    try:
        with EmbeddedStore(folder).open("papers") as papers:
            other.wait_until_open()
            assert other.printed == ["600"]
            assert list(papers.scan()) == CHUNKS
            papers.delete(ChunkFilter(positions=(0, 99)))
            assert papers.count().chunks == 500
    finally:
        other.kill()
        serving.kill()


def test_a_service_that_was_killed_is_not_asked(folder: Path) -> None:
    serving = Process(SERVING, folder)
    serving.wait_until_open()
    with EmbeddedStore(folder).open("papers") as papers:
        serving.kill()
        with pytest.raises(StoreUnavailable, match=rf"process {serving.popen.pid}\) ended.*is kept\.$") as raised:
            papers.count()
        assert "Run the command again" in raised.value.command
        assert papers.closed  # so that who keeps it open, opens it again
    assert (folder / FILE).exists()
    with EmbeddedStore(folder).open("papers") as papers:
        assert isinstance(papers, EdgeCollection)
        assert papers.count().chunks == 600


def test_a_plain_owner_is_named(folder: Path) -> None:
    owner = Process(OPEN, folder)
    owner.wait_until_open()
    try:
        with pytest.raises(CollectionLocked, match=rf"process {owner.popen.pid}.* or end it\.$") as raised:
            EmbeddedStore(folder).open("papers")
        assert "`candor serve`" in raised.value.command
    finally:
        owner.kill()


def test_only_the_user_can_read_the_address_and_reach_the_socket(address: ServiceAddress, folder: Path) -> None:
    assert (folder / FILE).stat().st_mode & 0o777 == 0o600
    assert address.socket.parent.stat().st_mode & 0o777 == 0o700
    forged = address.model_copy(update={"secret": "0" * 64})
    with pytest.raises(StoreUnavailable):
        RemoteStore(forged).open("papers")
    with RemoteStore(address).open("papers") as papers:
        assert papers.count().chunks == 600


def test_another_version_is_told_to_restart(address: ServiceAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PROTOCOL", server.PROTOCOL + 1)
    with pytest.raises(StoreUnavailable, match=r"another version of Candor\.$") as raised:
        RemoteStore(address).open("papers")
    assert raised.value.command == "Restart the service."


def test_a_service_that_does_not_respond_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serving = Process(SERVING, folder)
    serving.wait_until_open()
    search_process = int(serving.printed[0])
    os.kill(search_process, signal.SIGSTOP)
    monkeypatch.setattr(client, "HANDSHAKE_S", 0.2)
    try:
        with pytest.raises(StoreUnavailable, match=f"process {serving.popen.pid}.*did not respond within"):
            EmbeddedStore(folder).open("papers")
    finally:
        serving.kill()
        os.kill(search_process, signal.SIGKILL)  # it cannot end while it is stopped


def test_a_damaged_address_is_named(folder: Path) -> None:
    (folder / FILE).write_text("{")
    with pytest.raises(StoreUnavailable, match=r"service\.json.*delete the file"):
        EmbeddedStore(folder).open("papers")
    with serving(folder) as replaced:
        assert read_address(folder) == replaced


def test_errors_keep_their_type_and_attributes(address: ServiceAddress) -> None:
    with pytest.raises(CollectionNotFound, match="no collection 'other'") as raised:
        RemoteStore(address).open("other")
    assert raised.value.name == "other"
    assert "Existing collections: papers" in raised.value.command


def test_an_unexpected_error_of_the_service_is_reported(
    address: ServiceAddress, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr(EdgeCollection, "count", fail)
    with RemoteStore(address).open("papers") as papers:
        with pytest.raises(StoreUnavailable, match="failed unexpectedly: KeyError"):
            papers.count()
        assert papers.languages()  # the connection is still good
    assert "a defect" in caplog.text


def test_a_message_that_is_too_large_is_rejected(address: ServiceAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    with RemoteStore(address).open("papers") as papers:
        monkeypatch.setattr(rpc, "MAX_BYTES", 10_000)
        with pytest.raises(StoreUnavailable, match=r"too large.*MiB\.$") as raised:
            papers.upsert(CHUNKS, VECTORS)
        assert "Stop the service" in raised.value.command
        with pytest.raises(StoreUnavailable, match="too large"):
            list(papers.scan())
        assert papers.count().chunks == 600


def test_many_threads_at_once(address: ServiceAddress) -> None:
    with RemoteStore(address).open("papers") as papers, ThreadPoolExecutor(8) as threads:

        def search(number: int) -> str:
            [hit] = papers.search(SearchMode.MEANING, Query("", VECTORS[number]), limit=1)
            return hit.chunk.id

        assert list(threads.map(search, range(100))) == [chunk.id for chunk in CHUNKS[:100]]


def test_an_abandoned_scan_blocks_nobody(address: ServiceAddress) -> None:
    with RemoteStore(address).open("papers") as papers:
        scan = papers.scan()
        next(scan)
        assert papers.count().chunks == 600
        scan.close()
        assert len(list(papers.scan())) == 600


def test_a_drop_closes_the_collection_of_everyone(address: ServiceAddress, folder: Path) -> None:
    with RemoteStore(address).open("papers") as one, RemoteStore(address).open("papers") as other:
        EmbeddedStore(folder).drop("papers")
        for papers in (one, other):
            with pytest.raises(CollectionClosed, match="it was deleted"):
                papers.count()
            assert papers.closed
    assert EmbeddedStore(folder).list() == []


def test_a_collection_that_was_made_again_is_used(address: ServiceAddress, folder: Path) -> None:
    with RemoteStore(address).open("papers") as papers:
        EmbeddedStore(folder).drop("papers")
        with EmbeddedStore(folder).create(SPEC) as again:
            again.upsert(CHUNKS[:1], VECTORS[:1])
            assert papers.count().chunks == 1


def test_one_with_other_settings_is_not_the_same(address: ServiceAddress, folder: Path) -> None:
    with RemoteStore(address).open("papers") as papers:
        EmbeddedStore(folder).drop("papers")
        with EmbeddedStore(folder).create(SPEC.model_copy(update={"chunking": "other"})):
            with pytest.raises(CollectionClosed, match="created again"):
                papers.count()
            assert papers.closed, "so that who keeps it open, opens it again"


def test_a_service_that_ends_during_a_request_completes_it_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, go_on = threading.Event(), threading.Event()
    upsert = EdgeCollection.upsert

    def slow(*arguments: object) -> None:
        started.set()
        assert go_on.wait(LIMIT_S)
        upsert(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(EdgeCollection, "upsert", slow)
    errors: list[str] = []

    def write(papers: RemoteCollection) -> None:
        try:
            papers.upsert([make_chunk("new", document="/docs/new.md")], make_vectors(1))
        except StoreUnavailable as error:
            errors.append(str(error))

    with serving(folder) as address:
        papers = RemoteStore(address).open("papers")
        writer = threading.Thread(target=write, args=(papers,))
        writer.start()
        assert started.wait(LIMIT_S)
        threading.Timer(0.1, go_on.set).start()
    writer.join()
    assert len(errors) == 1
    assert "Stored data is kept" in errors[0]
    with EdgeStore(folder).open("papers") as found:
        assert found.count().chunks == 601


def test_the_secret_is_not_in_the_command_line_or_the_lock(address: ServiceAddress, folder: Path) -> None:
    owner = json.loads((folder / FILE).read_text())
    assert len(owner["secret"]) == 64
    assert all(owner["secret"] not in file.read_text() for file in folder.glob("*.owner"))


def test_others_wait_for_a_search_of_the_service(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, go_on, order = threading.Event(), threading.Event(), list[str]()
    search = EdgeCollection.search

    def slow(*arguments: Any, **options: Any) -> Any:
        started.set()
        assert go_on.wait(LIMIT_S)
        return search(*arguments, **options)

    monkeypatch.setattr(EdgeCollection, "search", slow)
    monkeypatch.setattr(server, "_WAIT_S", LIMIT_S)

    def execute(name: str, request: Callable[[], object]) -> None:
        request()
        order.append(name)

    with (
        serving(folder, lambda: make_embedder(EmbeddingSettings())) as address,
        RemoteStore(address, urgent=True).open("papers") as service,
        RemoteStore(address).open("papers") as other,
        ThreadPoolExecutor(3) as threads,
    ):
        searching = threads.submit(service.search, SearchMode.WORDS, Query("passage"), limit=1)
        assert started.wait(LIMIT_S)
        waiting = [
            threads.submit(execute, "count", other.count),
            threads.submit(execute, "embed", lambda: RemoteStore(address).embed_query("passage")),
        ]
        execute("service", service.count)  # over a new connection
        go_on.set()
        assert len(searching.result()) == 1
        for each in waiting:
            each.result()
    assert order[0] == "service"
    assert set(order[1:]) == {"count", "embed"}
