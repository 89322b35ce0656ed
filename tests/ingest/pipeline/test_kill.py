"""An ingest that is killed with SIGKILL at random moments ends in the same index as an undisturbed one.

It parses in child processes, as the command line does. They must exit when the ingest is killed.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import psutil
import pytest

from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentState
from ingest.ledger.versions import LiveCollection
from support import killable_ingest
from support.database import make_engine
from support.files import copy_folder, write_docx, write_xlsx
from support.waiting import until
from vectorstore.edge.store import EdgeStore
from vectorstore.models import Chunk

TRIALS, KILLS = 4, 3  # ingests, and how often each is killed before it is left to finish
MARK = "XDG_TEST_OF_KILLING"  # of the ingests of one test and their child processes, which get variables of this prefix

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="forks the ingest"), pytest.mark.timeout(1800)]


class Index(NamedTuple):
    """The result of an ingest: documents, texts, chunks, vectors and hidden versions."""

    documents: dict[str, tuple[Any, ...]]
    texts: dict[str, str]
    chunks: dict[str, Chunk]
    vectors: dict[str, np.ndarray]
    hidden: dict[str, str]


class Ingests:
    """A process that forks ingests."""

    def __init__(self, documents: Path) -> None:
        self.documents = documents
        self._mark = str(uuid4())
        root = Path(killable_ingest.__file__).parents[2]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")]), "TOKENIZERS_PARALLELISM": "false",
            MARK: self._mark,
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, killable_ingest.__file__],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def run(self, home: Path, kill_after: float | None = None) -> tuple[int, float]:
        """Run one ingest. Return its exit code, negative if it was killed, and its seconds."""
        assert self._process.stdin
        assert self._process.stdout
        wanted = {"home": str(home), "documents": str(self.documents), "kill_after": kill_after}
        print(json.dumps(wanted), file=self._process.stdin, flush=True)
        outcome = json.loads(self._process.stdout.readline())
        return outcome["code"], outcome["seconds"]

    def processes(self) -> list[int]:
        """Return the ids of the ingest's process and of its child processes that are alive."""
        return [
            each.pid for each in psutil.process_iter()
            if each.pid != self._process.pid and _mark_of(each) == self._mark
        ]  # fmt: skip

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def _mark_of(process: psutil.Process) -> str:
    try:
        return "" if process.status() == psutil.STATUS_ZOMBIE else process.environ().get(MARK, "")
    except psutil.Error:  # it has exited, or belongs to another user
        return ""


@pytest.fixture
def ingests(tmp_path: Path) -> Iterator[Ingests]:
    documents = tmp_path / "documents"
    documents.mkdir()
    running = Ingests(documents)
    yield running
    running.close()


def report(topic: str, parts: int, version: str = "first") -> str:
    """Return a document of about ``parts`` chunks that contain the version, and one chunk common to all documents."""
    sections = [f"## Part {n}\n\n" + f"The {version} account of {topic} number {n}. " * 6 for n in range(parts)]
    return f"# About {topic}\n\n" + "\n\n".join(sections) + "\n\n# Notice\n\n" + "All rights reserved by nobody. " * 8


def write_first(documents: Path) -> None:
    for topic in ("pumps", "bread", "tea"):
        (documents / f"{topic}.md").write_text(report(topic, 5))
    (documents / "untitled.txt").write_text("Nothing here is a heading. " * 20)
    (documents / "kept.md").write_text(report("stones", 2))
    (documents / "gone.md").write_text(report("smoke", 2))
    members = {"copper.md": report("copper", 2), "inner/zinc.md": report("zinc", 2), "lead.md": report("lead", 1)}
    write_zip(documents / "metals.zip", members)
    write_message(documents / "post.eml", "Of the first parcel. " * 10, report("parcels", 2))
    write_docx(documents / "minutes.docx", [("h1", "Minutes"), "It was agreed to dig the well. " * 10])
    write_xlsx(documents / "prices.xlsx", {"Prices": [["Thing", "Price"], ["Spade", "12"], ["Rope", "7"]]})


def write_zip(path: Path, members: Mapping[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def write_message(path: Path, text: str, attached: str) -> None:
    message = EmailMessage()
    message["Subject"] = "A parcel"
    message["From"] = message["To"] = "post@example.org"
    message.set_content(text)
    message.add_attachment(attached.encode(), maintype="text", subtype="markdown", filename="parcels.md")
    path.write_bytes(bytes(message))


def write_second(documents: Path) -> None:
    """Change, move, copy, delete, add and break files, in folders and in containers."""
    (documents / "pumps.md").write_text(report("pumps", 6, "second"))
    (documents / "bread.md").write_text(report("bread", 3, "second"))
    (documents / "tea.md").write_text("")
    (documents / "untitled.txt").rename(documents / "renamed.txt")
    (documents / "gone.md").unlink()
    (documents / "copy.md").write_text(report("stones", 2))
    (documents / "new.md").write_text(report("rain", 4))
    members = {
        "copper.md": report("copper", 2),
        "inner/zinc.md": report("zinc", 3, "second"),
        "tin.md": report("tin", 2),
    }
    write_zip(documents / "metals.zip", members)
    write_message(documents / "post.eml", "Of the second parcel. " * 10, report("parcels", 2))
    write_docx(documents / "minutes.docx", [("h1", "Minutes"), "It was agreed to fill the well. " * 10])


def read_index(home: Path, *, live: bool = False) -> Index:
    ledger = Ledger(make_engine(home / "candor.sqlite"))
    with EdgeStore(home / "store", reserve=0).open(killable_ingest.NAME) as raw:
        chunks = {chunk.id: chunk for chunk in (LiveCollection(raw, ledger) if live else raw).scan()}
        vectors = raw.vectors(list(chunks))
    records = ledger.list(killable_ingest.NAME)
    documents = {
        each.path: (each.id, each.state, each.stage, each.reason, each.version, each.size, each.title, each.chunks,
                    each.tokens, each.parser, each.chunking, each.metadata)
        for each in records
    }  # fmt: skip
    texts = {each.path: ledger.text(each.collection, each.id).text for each in records if each.chunks}
    return Index(documents, texts, chunks, vectors, ledger.hidden(killable_ingest.NAME))


def assert_searches_see_one_version_of_every_document(home: Path, before: Index, after: Index) -> None:
    """Searches see all chunks of the first version of a document, or all of the second."""
    seen: dict[str, set[str]] = {}
    for chunk in read_index(home, live=True).chunks.values():
        seen.setdefault(chunk.document, set()).add(chunk.id)
    for path in before.documents.keys() | after.documents.keys():
        versions = [
            {chunk.id for chunk in index.chunks.values() if chunk.document == path} for index in (before, after)
        ]
        assert seen.get(path, set()) in versions, path
    for index in (before, after):
        assert {chunk.id for chunk in index.chunks.values() if chunk.document.endswith("kept.md")} <= {
            identity for some in seen.values() for identity in some
        }
    contents = [path for path in seen if path.endswith(("untitled.txt", "renamed.txt"))]
    assert len(contents) == 1  # a moved document is seen under one of its two paths


def test_killed_ingests_end_in_the_index_of_an_undisturbed_one(ingests: Ingests, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    write_first(ingests.documents)
    assert ingests.run(base)[0] == 0
    before = read_index(base)
    write_second(ingests.documents)
    undisturbed = copy_folder(base, tmp_path / "undisturbed")
    (undisturbed / "embedded.jsonl").unlink()
    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(ingests.run, undisturbed)
        processes = 0
        while not running.done():
            processes = max(processes, len(ingests.processes()))
            time.sleep(0.1)
    assert processes == 1 + killable_ingest.WORKERS
    code, seconds = running.result()
    assert code == 0
    after = read_index(undisturbed)
    assert_the_second_ingest_is_correct(after, undisturbed)

    moments, killed = random.Random(), 0
    for trial in range(TRIALS):
        home = copy_folder(base, tmp_path / f"trial-{trial}")
        for attempt in range(KILLS):
            (home / "embedded.jsonl").unlink(missing_ok=True)
            code, took = ingests.run(home, kill_after=moments.uniform(0, seconds))
            killed += code < 0
            if code == 0 and not attempt:  # it had as much to do as the undisturbed one, which was slower
                seconds = min(seconds, took)
            assert_no_process_is_left(ingests)
            assert_searches_see_one_version_of_every_document(home, before, after)
        stored = {chunk.embedded_text for chunk in read_index(home).chunks.values()}
        (home / "embedded.jsonl").unlink(missing_ok=True)
        assert ingests.run(home)[0] == 0
        assert not stored & set(embedded(home)), "a stored text was embedded again"
        assert_same(read_index(home), after)
    assert killed > 0  # not always all: a later ingest has less to do, and may finish before it is killed


def assert_no_process_is_left(ingests: Ingests) -> None:
    """The workers exit when the ingest's end of a pipe closes, which takes a moment on a busy machine."""
    until(lambda: not ingests.processes())


def assert_the_second_ingest_is_correct(index: Index, home: Path) -> None:
    root = os.path.commonpath(index.documents)
    states = {os.path.relpath(path, root): document[1] for path, document in index.documents.items()}
    assert states == {
        "pumps.md": DocumentState.INDEXED, "bread.md": DocumentState.INDEXED, "tea.md": DocumentState.FAILED,
        "kept.md": DocumentState.INDEXED, "copy.md": DocumentState.INDEXED, "new.md": DocumentState.INDEXED,
        "renamed.txt": DocumentState.INDEXED, "untitled.txt": DocumentState.REMOVED, "gone.md": DocumentState.REMOVED,
        "metals.zip": DocumentState.INDEXED, "metals.zip/copper.md": DocumentState.INDEXED,
        "metals.zip/inner/zinc.md": DocumentState.INDEXED, "metals.zip/lead.md": DocumentState.REMOVED,
        "metals.zip/tin.md": DocumentState.INDEXED, "post.eml": DocumentState.INDEXED,
        "post.eml/parcels.md": DocumentState.INDEXED, "minutes.docx": DocumentState.INDEXED,
        "prices.xlsx": DocumentState.INDEXED,
    }  # fmt: skip
    texts = embedded(home)
    assert texts
    assert len(texts) == len(set(texts))
    kept = ("Nothing here", "stones", "copper", "parcels number", "Spade")  # moved, copied or unchanged
    assert not any(words in text for text in texts for words in kept)


def embedded(home: Path) -> list[str]:
    notes = home / "embedded.jsonl"
    return [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []


def assert_same(index: Index, wanted: Index) -> None:
    assert index.documents == wanted.documents
    assert index.texts == wanted.texts
    assert index.chunks == wanted.chunks
    assert index.hidden == wanted.hidden == {}
    assert index.vectors.keys() == wanted.vectors.keys()
    for identity, vector in wanted.vectors.items():
        # The padding of a passage depends on its batch, and changes the last digits of a float32.
        np.testing.assert_allclose(index.vectors[identity], vector, atol=2e-6)
