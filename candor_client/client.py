"""The client of Candor's REST API. Written by docs/build_client.py from ``aio.py``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeAlias, Unpack

import httpx

from candor_client.answer import Answer
from candor_client.errors import JobFailed, checked, parsed, reaching
from candor_client.models import (
    CollectionInfo,
    DescribedEvent,
    DocumentRecord,
    Grid,
    Job,
    RemovedSource,
    ScoredPassage,
    SourceRecord,
)
from candor_client.options import (
    Column,
    FillRequest,
    NewSource,
    PlannedSection,
    ResearchRequest,
    SearchRequest,
    TableRequest,
)
from candor_client.wire import EndedRun, Events, path_of, upload

Names: TypeAlias = str | Sequence[str] | None  # a collection, several, or "*" for all; the only one needs no name


class Run(Events):
    """Iterate over the events of a run as they happen. ``answer`` waits for its end."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(response)
        self._following = self._follow(response)

    def __iter__(self) -> Iterator[DescribedEvent]:
        return self._following

    def _follow(self, response: httpx.Response) -> Iterator[DescribedEvent]:
        with reaching(response.url):
            for data in response.iter_bytes():
                yield from self._feed(data)

    def answer(self) -> Answer:
        """Return the answer when it is there. Raises RunFailed, and Unreachable if the stream ends before."""
        for _ in self:
            pass
        return self._result()


class Candor:
    """A connection to ``candor serve``. ``options`` are those of ``httpx.Client``. Raises CandorError."""

    def __init__(self, url: str = "http://127.0.0.1:8484", key: str | None = None, **options: Any) -> None:
        self._http = httpx.Client(**{"base_url": url, "timeout": 60.0, **options})  # streams send every 15 s
        if key:
            self._http.headers["Authorization"] = f"Bearer {key}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def collections(self) -> list[CollectionInfo]:
        """Return the collections that the key may read."""
        return parsed(list[CollectionInfo], self._send("GET", path_of("collections")))

    def documents(self, collection: str | None = None, after: str = "") -> list[DocumentRecord]:
        """Return the documents of a collection with their states, 100,000 at most, ``after`` the id of another."""
        asked = {"limit": 100_000, "after": after} | ({"collection": collection} if collection else {})
        return parsed(list[DocumentRecord], self._send("GET", path_of("documents"), params=asked))

    def ingest(self, *paths: Path | str, collection: str, tags: Sequence[str] = ()) -> Job:
        """Upload files, and folders without hidden files and links, and wait until they are read. Raises JobFailed.

        ``result`` of the job counts the files, and lists those that cannot be read under ``failed``.
        """
        path, tagged = path_of("collections", collection, "documents"), {"tags": list(tags)}
        return self._job(self._send("POST", path, files=list(upload(paths)), params=tagged))

    def fetch(self, *urls: str, collection: str) -> Job:
        """Read web pages and files by their addresses, and wait. Raises JobFailed. ``result`` is as of ``ingest``."""
        path = path_of("collections", collection, "ingest")
        return self._job(self._send("POST", path, json={"urls": list(urls)}))

    def sources(self, collection: str | None = None) -> list[SourceRecord]:
        """Return the sources of a collection, or of all, with the outcome of their last syncs."""
        asked = {"collection": collection} if collection else {}
        return parsed(list[SourceRecord], self._send("GET", path_of("sources"), params=asked))

    def add_source(self, address: str, collection: str, **options: Unpack[NewSource]) -> SourceRecord:
        """Add a site, a feed or a Git repository, or change the options of one with the same address and name.

        ``every="1h"`` lets the service sync it. The service refuses other kinds of sources (Refused).
        """
        path = path_of("collections", collection, "sources")
        return parsed(SourceRecord, self._send("POST", path, json={"address": address, **options}))

    def sync_source(self, name: str, collection: str) -> Job:
        """Read what is new or has changed in a source, remove what it no longer has, and wait. Raises JobFailed."""
        path = path_of("collections", collection, "sources", name, "sync")
        return self._job(self._send("POST", path))

    def remove_source(self, name: str, collection: str) -> int:
        """Remove a source with its documents, and return their number."""
        path = path_of("collections", collection, "sources", name)
        return parsed(RemovedSource, self._send("DELETE", path)).documents

    def search(self, query: str, collection: Names = None, **options: Unpack[SearchRequest]) -> list[ScoredPassage]:
        """Return the best passages, best first, without a language model."""
        asked = {"query": query, "collection": collection, **options}
        return parsed(list[ScoredPassage], self._send("POST", path_of("search"), json=asked))

    def ask(self, question: str, collection: Names = None, **options: Unpack[ResearchRequest]) -> Answer:
        """Research a question and return the answer with its quotes. Raises RunFailed.

        A question that the documents do not answer is no error: its answer has the status ``insufficient``.
        """
        with self.stream(question, collection, **options) as run:
            return run.answer()

    @contextmanager
    def stream(self, question: str, collection: Names = None, **options: Unpack[ResearchRequest]) -> Iterator[Run]:
        """Research a question and follow its run, which goes on if the connection is closed.

        with candor.stream("Which of these pumps works below -20 °C?") as run:
            for event in run:
                print(event.title)
            print(run.answer())
        """
        asked = {"question": question, "collection": collection, "stream": True, **options}
        request = self._http.build_request("POST", path_of("research"), json=asked)
        with reaching(request.url):
            response = self._http.send(request, stream=True)
        try:
            if response.is_error:
                response.read()
            yield Run(checked(response))
        finally:
            response.close()

    def report(
        self, question: str, collection: Names = None, sections: Sequence[PlannedSection] = (),
        **options: Unpack[ResearchRequest],
    ) -> Answer:  # fmt: skip
        """Research a question in sections. Without ``sections``, the model proposes them."""
        asked: ResearchRequest = {**options, "report": {**(options.get("report") or {}), "sections": list(sections)}}
        return self.ask(question, collection, **asked)

    def answer(self, run_id: str) -> Answer | None:
        """Return the answer of a run. None while it is active."""
        return parsed(EndedRun, self._send("GET", path_of("runs", run_id))).answer

    def make_table(
        self, name: str, columns: Sequence[Column], collection: Names = None, **options: Unpack[TableRequest]
    ) -> Grid:
        """Ask the same questions of each document: create a table, fill it, and return it."""
        asked = {"name": name, "columns": list(columns), "collection": collection, **options}
        self._send("POST", path_of("tables"), json=asked)
        return self.fill_table(name)

    def fill_table(self, name: str, **options: Unpack[FillRequest]) -> Grid:
        """Fill the open cells of a table: of new and changed documents, and those that failed. Raises JobFailed."""
        self._job(self._send("POST", path_of("tables", name, "fill"), json=options))
        return self.table(name)

    def table(self, name: str) -> Grid:
        """Return a table with its filled cells."""
        return parsed(Grid, self._send("GET", path_of("tables", name)))

    def _job(self, data: bytes) -> Job:
        """Wait until a job has ended, and return it. Raises JobFailed."""
        job, pause = parsed(Job, data), 0.1
        while job.status in ("waiting", "running"):
            time.sleep(pause)
            pause = min(2.0, 1.5 * pause)
            job = parsed(Job, self._send("GET", path_of("jobs", job.id)))
        if job.status != "done":
            raise JobFailed(job)
        return job

    def _send(self, method: str, path: str, **options: Any) -> bytes:
        request = self._http.build_request(method, path, **options)
        with reaching(request.url):
            response = self._http.send(request)
        return checked(response).content
