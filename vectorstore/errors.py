"""What can go wrong with the store, by who must act. Foreign errors are translated where their library is imported.

StoreError
├── CollectionNotFound      the user names another collection, or ingests into this one
├── CollectionMismatch      the user rebuilds, or asks with the collection's own settings
├── CollectionLocked        the user ends the other process, or goes through its server
├── CollectionClosed        the user asks again: it was deleted meanwhile, or the program is ending
├── StoreUnavailable        the user starts the server, frees the disk, mends the folder
└── EmbeddingModelError     the user names a model that exists, or installs one
"""


class StoreError(Exception):
    """Base of the store's errors; the message says what happened, to what, and what to do."""


class CollectionNotFound(StoreError):
    """No collection of that name."""


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
