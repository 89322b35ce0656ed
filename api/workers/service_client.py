"""A client with which the research process uses the service's open collections and embedding model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from api.services.research.library import list_catalogue
from api.workers.channel import Channel
from api.workers.messages import Operation, ServiceRequest, ServiceResponse
from ingest.ledger.ledger import Ledger
from multi_agent.library import CatalogueEntry
from vectorstore.models import Chunk
from vectorstore.store import Vectors


class ServiceClient:
    """Blocking calls to the service. Any number of threads may use it."""

    def __init__(self, connection: Connection, on_close: Callable[[], None]) -> None:
        self._numbers = itertools.count(1)
        self._pending: dict[int, Future[Any]] = {}
        self._channel = Channel(connection, self._receive, on_close)
        self._channel.open()

    def call(self, operation: Operation, task: int, *arguments: Any) -> Any:
        """Return the result of the operation. Raises the exception that the service raised."""
        number, response = next(self._numbers), Future[Any]()
        self._pending[number] = response
        self._channel.send(ServiceRequest(number, task, operation, arguments))
        return response.result()

    def embed_query(self, text: str) -> Vectors:
        """Embed a question with the service's embedding model. Raises EmbeddingModelError."""
        vector: Vectors = self.call("embed", 0, text)
        return vector

    def _receive(self, response: ServiceResponse) -> None:
        pending = self._pending.pop(response.number)
        if response.error:
            pending.set_exception(response.error.to_exception())
        else:
            pending.set_result(response.result)


@dataclass(frozen=True)
class RemoteLibrary:
    """Implements ``multi_agent.library.Library`` over the collection that the service has open for a task."""

    collection: str
    ledger: Ledger
    service: ServiceClient
    task: int

    def catalogue(self) -> Sequence[CatalogueEntry]:
        return list_catalogue(self.ledger, self.collection)  # reads the database directly

    def index(self) -> Mapping[str, str]:
        settings: Mapping[str, str] = self.service.call("index", self.task)
        return settings

    def search(self, queries: Sequence[str], limit: int, documents: Sequence[str] = ()) -> list[Chunk]:
        found: list[Chunk] = self.service.call("search", self.task, queries, limit, documents)
        return found

    def around(self, chunks: Sequence[Chunk], reach: int) -> list[Chunk]:
        found: list[Chunk] = self.service.call("around", self.task, chunks, reach)
        return found

    def scan(self, documents: Sequence[str] = ()) -> list[Chunk]:
        found: list[Chunk] = self.service.call("scan", self.task, documents)
        return found

    def page_picture(self, chunk: Chunk, page: int) -> bytes:
        picture: bytes = self.service.call("page_picture", self.task, chunk, page)
        return picture
