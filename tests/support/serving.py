"""The server of the search process, in a thread of this process, where tests can change it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import QueryEmbedder
from vectorstore.remote.address import ServiceAddress, listen, new_address, remove_address
from vectorstore.remote.process import SearchProcess
from vectorstore.remote.server import SharedStore, StoreServer
from vectorstore.settings import EmbeddingSettings


def no_embedder() -> QueryEmbedder:
    """Fail, for tests that embed no query."""
    raise AssertionError("no query is embedded here")


@contextmanager
def serving(folder: Path, load_embedder: Callable[[], QueryEmbedder] = no_embedder) -> Iterator[ServiceAddress]:
    """Serve the collections of the folder."""
    address = new_address()
    with listen(folder, address) as listener:
        try:
            with (
                SharedStore(EdgeStore(folder, serving=True)) as store,
                StoreServer(store, load_embedder, listener, address),
            ):
                yield address
        finally:
            remove_address(folder, address)


class SearchThread(SearchProcess):
    """Stands in for the search process of a service, because a process imports libraries for a second."""

    def __init__(self, folder: Path, load_embedder: Callable[[], QueryEmbedder]) -> None:
        super().__init__(folder, EmbeddingSettings())
        self._load_embedder = load_embedder
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self.address = self._stack.enter_context(serving(self._folder, self._load_embedder))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def use(self, embedding: EmbeddingSettings) -> None:
        """The embedding model is that of the test."""

    @property
    def pid(self) -> int:
        return os.getpid()
