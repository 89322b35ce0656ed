"""What the research process has not got itself, and asks the service for: its collections, and the embedding model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Literal

from api.bootstrap import Candor
from api.settings import Settings
from api.workers.channel import Channel
from api.workers.messages import Ask, Reply
from multi_agent.library import CatalogueEntry
from vectorstore.models import Chunk
from vectorstore.store import Vectors


class ServiceClient:
    """Calls of the service, which block; from any number of threads."""

    def __init__(self, connection: Connection, end: Callable[[], None]) -> None:
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._line = Channel(connection, self._hear, end)
        self._line.open()

    def ask(self, what: Literal["search", "scan", "embed"], task: int, *arguments: Any) -> Any:
        """What came of it there. Raises what was raised there."""
        number, reply = next(self._numbers), Future[Any]()
        self._waiting[number] = reply
        self._line.say(Ask(number, task, what, arguments))
        return reply.result()

    def _hear(self, reply: Reply) -> None:
        waiting = self._waiting.pop(reply.number)
        if reply.error:
            waiting.set_exception(reply.error.error())
        else:
            waiting.set_result(reply.result)


class RemoteCandor(Candor):
    """Candor in the research process."""

    def __init__(self, settings: Settings, service: ServiceClient) -> None:
        super().__init__(settings)
        self._service = service

    def embed_query(self, text: str) -> Vectors:
        """By the model that the service has loaded."""
        vector: Vectors = self._service.ask("embed", 0, text)
        return vector


@dataclass(frozen=True)
class RemoteLibrary:
    """Implements ``multi_agent.library.Library``: the one that the service has open for a task."""

    collection: str
    candor: Candor
    service: ServiceClient
    task: int

    def catalogue(self) -> Sequence[CatalogueEntry]:
        return self.candor.catalogue(self.collection)  # from the database, which is this process's, too

    def search(self, queries: Sequence[str], limit: int, documents: Sequence[str] = ()) -> list[Chunk]:
        found: list[Chunk] = self.service.ask("search", self.task, queries, limit, documents)
        return found

    def scan(self, documents: Sequence[str] = ()) -> list[Chunk]:
        found: list[Chunk] = self.service.ask("scan", self.task, documents)
        return found
