"""What can go wrong with the store, by who must act. Foreign errors are translated where their library is imported.

StoreError
├── CollectionNotFound      the user names another collection, or ingests into this one
├── CollectionMismatch      the user rebuilds, or asks with the collection's own settings
├── CollectionLocked        the user ends the other process, or goes through its server
├── CollectionClosed        the user asks again: it was deleted meanwhile, or the program is ending
├── StoreUnavailable        the user starts the server, frees the disk, mends the folder
└── EmbeddingModelError     the user names a model that exists, or installs one
"""

from __future__ import annotations

from collections.abc import Sequence


class StoreError(Exception):
    """Base of the store's errors; the message says what happened, to what, and what to do."""


class CollectionNotFound(StoreError):
    """No collection of that name. Who may not know which ones there are is told the name alone."""

    def __init__(self, name: str, known: Sequence[str] | None = None) -> None:
        self.name = name
        told = f"There is no collection {name!r}."
        if known is not None:
            there_are = f"There are: {', '.join(known)}." if known else "There are none yet."
            told = f"{told} {there_are} `candor ingest FOLDER --collection {name}` makes it."
        super().__init__(told)


class CollectionMismatch(StoreError):
    """The collection was made with another embedding model, dimension or chunking."""


class CollectionLocked(StoreError):
    """Another process has the embedded collection open."""


class CollectionClosed(StoreError):
    """The collection was closed while somebody still used it."""


class StoreUnavailable(StoreError):
    """The store's server does not answer, or its folder cannot be read or written."""


class EmbeddingModelError(StoreError):
    """The embedding model cannot be loaded, or is not the one it claims to be."""
