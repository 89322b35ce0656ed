"""Errors of the vector store, by the action that resolves them.

Errors of other libraries are translated in the module that imports the library.

StoreError
├── CollectionNotFound      name another collection, or ingest into this one
├── CollectionMismatch      rebuild the collection, or use its own settings
├── CollectionLocked        end the other process, or use `candor serve` or a Qdrant server
├── ForeignCollection       use the database that owns it, or another name
├── PassagesLost            ingest again
├── RecordsLost             restore a backup, or ingest again
├── CollectionClosed        retry: the collection was deleted or the program is ending
├── StoreUnavailable        start the server, free disk space, correct the folder
│   └── StoreKeyRejected    set another API key of the server
├── EmbeddingModelError     name an existing model, or install one
├── EndpointError           start the endpoint, or correct its settings
└── RerankError             name an existing reranker, or search without one
"""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from base.errors import Explained


class StoreError(Explained):
    """Base of the store's errors."""


class CollectionNotFound(StoreError):
    """There is no collection with this name. The remedy lists the ``known`` collections, but the message does not."""

    def __init__(self, name: str, known: Sequence[str] | None = None) -> None:
        self.name = name
        super().__init__(f"There is no collection {name!r}.")
        if known is not None:
            near = difflib.get_close_matches(name, known)
            meant = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
            existing = f"{meant}Existing collections: {', '.join(known)}." if known else "No collection exists yet."
            create = f"Create it with `candor ingest FOLDER --collection {name}`."
            path = (
                "This is a path: `--folder` names a folder within a collection, `candor ask QUESTION PATH` reads one."
            )
            self.command = f"{existing} {path if '/' in name else create}"


class CollectionMismatch(StoreError):
    """The collection was created with another embedding model, dimension or chunking."""


class CollectionLocked(StoreError):
    """Another process has the embedded collection open."""


class ForeignCollection(StoreError):
    """The collection on the server belongs to another database."""


class PassagesLost(StoreError):
    """The database lists documents of the collection, but the store has none of their passages."""

    def __init__(self, name: str, documents: str) -> None:
        super().__init__(
            f"The vector store has lost passages of collection {name!r}: the database lists {documents}, but the store "
            "has none of their passages."
        )
        self.command = f"`candor ingest --retry-failed --collection {name}` restores them from the stored text."


class RecordsLost(StoreError):
    """The store has passages of the collection, but the database has never listed a document of it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The database knows no document of collection {name!r}, but the index has passages of it: `candor.db` was "
            "deleted or replaced. Restore a backup of the data folder, or drop the collection and ingest again."
        )


class CollectionClosed(StoreError):
    """The collection was closed while it was in use."""


class StoreUnavailable(StoreError):
    """The server does not respond, or the folder cannot be read or written."""


class StoreKeyRejected(StoreUnavailable):
    """The server does not accept the API key, or not for writing."""


class EmbeddingModelError(StoreError):
    """The embedding model cannot be loaded, or its weights are not the expected ones."""


class EndpointError(StoreError):
    """The endpoint of an embedding model or a reranker does not answer, or not as it should.

    ``away`` is whether the same request may succeed later, ``retry_after`` the seconds that the endpoint asks to wait.
    """

    def __init__(self, message: str, *, status: int = 0, away: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.away, self.retry_after = status, away, retry_after
        self.embedded: Mapping[str, Any] = {}
        """The vectors of the texts of the same call that were embedded nevertheless."""
        self.wait_s = 0.0
        """Seconds that an ingest waits until the endpoint is back."""


class RerankError(StoreError):
    """The reranker cannot be loaded, or does not return a score for each passage."""
