"""The search process: it has the collections open, embeds queries, and is replaced when it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import psutil
import pytest

from base.models import FrozenModel
from support.chunks import make_chunk
from support.waiting import LIMIT_S, until
from vectorstore.edge.collection import EdgeCollection
from vectorstore.edge.store import EdgeStore
from vectorstore.embedded import EmbeddedStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.errors import CollectionLocked, EmbeddingModelError, StoreUnavailable
from vectorstore.models import CollectionSpec, SearchMode
from vectorstore.remote import client, process
from vectorstore.remote.address import FILE, listen, new_address, read_address, remove_address
from vectorstore.remote.client import RemoteQueries
from vectorstore.remote.messages import Hello
from vectorstore.remote.process import SearchProcess
from vectorstore.retrieval import Retriever
from vectorstore.settings import EmbeddingSettings
from vectorstore.store import Query

SPEC = CollectionSpec(name="papers", embedding_model="all-MiniLM-L6-v2", dimension=384, chunking="sections-v1/256")
TEXTS = ["The heat pump works at 25 degrees below zero.", "Whisk the eggs.", "Die Wärmepumpe arbeitet bei Frost."]
SETTINGS = EmbeddingSettings()
PROGRAM = """
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from vectorstore.embedded import EmbeddedStore
from vectorstore.remote.process import SearchProcess
from vectorstore.settings import EmbeddingSettings
with SearchProcess(Path(sys.argv[1]), EmbeddingSettings()) as process:
    EmbeddedStore(Path(sys.argv[1])).list()
    print(process.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def searches(tmp_path: Path) -> Iterator[SearchProcess]:
    with SearchProcess(tmp_path, SETTINGS) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path, embedder: Embedder) -> EmbeddedStore:
    """A folder with the collection ``papers``."""
    store = EmbeddedStore(tmp_path)
    with store.create(SPEC) as papers:
        papers.upsert(
            [make_chunk(text, index=number, metadata={"language": "de" if "Die" in text else "en"})
             for number, text in enumerate(TEXTS)],
            embedder.embed_passages(TEXTS),
        )  # fmt: skip
    return store


def kill(searches: SearchProcess) -> None:
    """Kill the process and wait for the next one."""
    before = searches.pid
    os.kill(before, signal.SIGKILL)
    until(lambda: searches.pid != before)


def test_it_ranks_like_this_process(searches: SearchProcess, store: EmbeddedStore, embedder: Embedder) -> None:
    with store.open("papers") as papers:
        for queries in (["frost"], ["heat pump", "eggs"], ["Was macht die Wärmepumpe bei Frost?"]):
            for mode in SearchMode:
                here = Retriever(papers, embedder).search(queries, 3, mode=mode)
                there = Retriever(papers, None).search(queries, 3, mode=mode)
                assert [hit.chunk for hit in here] == [hit.chunk for hit in there], (queries, mode)
                np.testing.assert_allclose([hit.score for hit in here], [hit.score for hit in there], atol=1e-5)


def test_it_ranks_the_quotes_of_mails_once(searches: SearchProcess, store: EmbeddedStore, embedder: Embedder) -> None:
    price = "The agreed price for the boiler is 1007 EUR, and we will pay it in two parts."
    texts = [price, f"Too much for the boiler.\n\n> {price}"]
    with store.open("papers") as papers:
        mails = [make_chunk(text, document=f"/docs/{name}.eml") for name, text in zip("ab", texts, strict=True)]
        papers.upsert(mails, embedder.embed_passages(texts))
        here, there = (Retriever(papers, each).search(["agreed price for the boiler"], 5) for each in (embedder, None))
    np.testing.assert_allclose([hit.score for hit in here], [hit.score for hit in there], atol=1e-5)


def test_it_embeds_queries(searches: SearchProcess, tmp_path: Path, embedder: Embedder) -> None:
    queries = RemoteQueries(tmp_path, SETTINGS)
    with ThreadPoolExecutor(4) as threads:
        for text, there in zip(TEXTS, threads.map(queries.embed_query, TEXTS), strict=True):
            for found, expected in zip(there, embedder.embed_query(text), strict=True):
                assert found is not None
                assert expected is not None
                np.testing.assert_allclose(found, expected, atol=2e-6)
    assert queries.embed_query("long " * 300)[1] is None
    assert queries.languages == embedder.languages


def test_a_model_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    wrong = EmbeddingSettings(model=str(tmp_path / "nothing"))
    with SearchProcess(tmp_path, wrong), pytest.raises(EmbeddingModelError, match="nothing"):
        RemoteQueries(tmp_path, wrong).embed_query("heat")


def test_a_killed_process_is_replaced(
    searches: SearchProcess, store: EmbeddedStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with store.open("papers") as papers:
        before = searches.pid
        kill(searches)
        assert papers.count().chunks == len(TEXTS)
        kill(searches)
        papers.upsert([make_chunk("new", document="/docs/new.md")], np.ones((1, 384), np.float32))
        kill(searches)
        assert len(list(papers.scan())) == len(TEXTS) + 1
        kill(searches)
        assert len(papers.search(SearchMode.HYBRID, Query("eggs"), limit=1)) == 1
    kill(searches)
    assert [spec.name for spec in store.list()] == ["papers"]
    assert RemoteQueries(tmp_path, SETTINGS).embed_query("heat")[0].shape == (384,)
    assert f"The search process {before} ended (SIGKILL). Starting another one." in caplog.text
    until(lambda: not searches.failure)


def test_requests_under_way_are_repeated(searches: SearchProcess, store: EmbeddedStore) -> None:
    """It is killed several times while threads search and write.

    It is not killed again before each thread has completed two rounds: a request is repeated only once.
    """
    ended, errors, found, rounds = threading.Event(), list[Exception](), list[int](), [0] * 4

    def use(number: int) -> None:
        with store.open("papers") as papers:
            while not ended.is_set():
                try:
                    found.append(len(papers.search(SearchMode.HYBRID, Query(f"eggs {number}"), limit=3)))
                    papers.upsert([make_chunk("more", document=f"/docs/{number}.md")], np.ones((1, 384), np.float32))
                except StoreUnavailable as error:
                    errors.append(error)
                rounds[number] += 1

    with ThreadPoolExecutor(4) as threads, contextlib.ExitStack() as ends:
        ends.callback(ended.set)  # also after a failed assertion, so that the threads end
        done = [threads.submit(use, number) for number in range(4)]
        for _ in range(3):
            kill(searches)
            needed = [each + 2 for each in rounds]
            until(lambda: all(now >= then for now, then in zip(rounds, needed, strict=True)))  # noqa: B023
    for each in done:
        each.result()
    assert not errors
    assert set(found) == {3}
    with store.open("papers") as papers:
        assert papers.count().chunks == len(TEXTS) + 4


def test_it_gives_up_when_the_process_ends_again(
    searches: SearchProcess, store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.open("papers") as papers:
        send = client.send

        def killing(connection: Connection, message: FrozenModel, body: bytes = b"") -> None:
            if not isinstance(message, Hello):
                kill(searches)
            send(connection, message, body)

        monkeypatch.setattr(client, "send", killing)
        with pytest.raises(StoreUnavailable, match=r"search process .* ended during this request. Stored data is kept"):
            papers.count()


def test_a_process_that_cannot_start_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_RETRY_S", 0.05)
    monkeypatch.setattr(client, "HANDSHAKE_S", 0.5)
    monkeypatch.setattr(SearchProcess, "_TARGET", "vectorstore.remote.process:nothing")
    with SearchProcess(tmp_path, SETTINGS) as searches:
        until(lambda: "exit status 1" in searches.failure)
        with pytest.raises(StoreUnavailable, match="did not respond within"):
            EmbeddedStore(tmp_path).open("papers")
        monkeypatch.undo()
        until(lambda: not searches.failure)


def test_nothing_is_left_when_the_service_ends(store: EmbeddedStore, tmp_path: Path) -> None:
    with SearchProcess(tmp_path, SETTINGS) as searches:
        address = read_address(tmp_path)
        assert address
        assert address.socket.exists()
        papers = store.open("papers")
        child = psutil.Process(searches.pid)
    assert not child.is_running()
    assert not (tmp_path / FILE).exists()
    assert not address.socket.parent.exists()
    assert not list(tmp_path.glob("*.owner")), "it released its locks"
    with pytest.raises(StoreUnavailable, match=r"ended while this process used its collections"):
        papers.count()
    with store.open("papers") as papers:
        assert isinstance(papers, EdgeCollection)
        assert papers.count().chunks == len(TEXTS)


def test_it_may_end_before_it_has_started(tmp_path: Path) -> None:
    with SearchProcess(tmp_path, SETTINGS) as searches:
        child = psutil.Process(searches.pid)
    assert not child.is_running()


def test_it_ends_with_a_killed_service(store: EmbeddedStore, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout
        child = psutil.Process(int(program.stdout.readline()))
        with store.open("papers") as papers:
            with pytest.raises(CollectionLocked):
                EdgeStore(tmp_path).open("papers")
            for number in (signal.SIGINT, signal.SIGTERM):  # as signals to the whole service do
                os.kill(child.pid, number)
            assert papers.count().chunks == len(TEXTS)
        program.kill()
        child.wait(LIMIT_S)
    with store.open("papers") as papers:
        assert isinstance(papers, EdgeCollection)


def test_a_socket_that_was_removed_is_made_again(
    store: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a cleaner of temporary files does."""
    monkeypatch.setattr(process, "_CHECK_S", 0.05)
    with SearchProcess(tmp_path, SETTINGS), store.open("papers") as papers:
        address = read_address(tmp_path)
        assert address
        address.socket.unlink()
        address.socket.parent.rmdir()
        until(address.socket.exists)
        assert papers.count().chunks == len(TEXTS)
    assert read_address(tmp_path) is None
    assert not address.socket.parent.exists()


def test_sockets_of_killed_services_are_removed(tmp_path: Path) -> None:
    killed, running, started = (new_address() for _ in range(3))
    listen(tmp_path / "killed", killed).close()
    with listen(tmp_path / "running", running):
        for old in (killed, running):
            os.utime(old.socket, (0, 0))
        with listen(tmp_path / "started", started):
            assert not killed.socket.parent.exists()
            assert running.socket.exists()
            assert started.socket.exists()
        remove_address(tmp_path / "started", started)
    remove_address(tmp_path / "running", running)
