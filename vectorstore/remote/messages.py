"""The messages between a process that uses a store and the search process, which serves it.

A message is one frame of ``multiprocessing.connection``: a line of JSON, then a body of raw bytes. Vectors travel as
float32 in the body, results as JSON in the body. Nothing is pickled: a message cannot run code in the other process.
"""

from __future__ import annotations

from multiprocessing.connection import Connection
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, JsonValue, TypeAdapter

from base.models import FrozenModel
from vectorstore.errors import (
    CollectionClosed,
    CollectionLocked,
    CollectionMismatch,
    CollectionNotFound,
    EmbeddingModelError,
    StoreError,
    StoreUnavailable,
)
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, SearchMode
from vectorstore.store import Vectors

PROTOCOL = 8
"""Raise it when a message or a model in ``vectorstore/models.py`` changes."""

BATCH = 256
"""Chunks per message."""

MAX_BYTES = 64 * 2**20
"""Limit of one message. A batch of chunks with vectors of 4,096 dimensions has about 5 MB."""


class Hello(FrozenModel):
    """The first message of a client."""

    op: Literal["hello"] = "hello"
    secret: str
    protocol: int = PROTOCOL
    urgent: bool = Field(default=False, description="users wait for its searches, so the requests of others wait")


class Create(FrozenModel):
    """Open a collection for the rest of the connection, creating it if it does not exist."""

    op: Literal["create"] = "create"
    spec: CollectionSpec


class Open(FrozenModel):
    """Open an existing collection for the rest of the connection."""

    op: Literal["open"] = "open"
    name: str


class Drop(FrozenModel):
    """Delete a collection."""

    op: Literal["drop"] = "drop"
    name: str


class Embed(FrozenModel):
    """Embed a query. The vector is the body of the reply."""

    op: Literal["embed"] = "embed"
    text: str


class Upsert(FrozenModel):
    """Write chunks. Their vectors are the body."""

    op: Literal["upsert"] = "upsert"
    chunks: tuple[Chunk, ...]
    shape: tuple[int, ...]


class Delete(FrozenModel):
    """Delete chunks."""

    op: Literal["delete"] = "delete"
    where: ChunkFilter


class Search(FrozenModel):
    """Search. The vector of the query is the body, unless ``shape`` is None."""

    op: Literal["search"] = "search"
    mode: SearchMode
    text: str
    shape: tuple[int, ...] | None
    limit: int
    where: ChunkFilter

    @property
    def embeds(self) -> bool:
        """Whether the serving process embeds the text, and ranks like a ``Retriever``."""
        return self.shape is None and self.mode is not SearchMode.WORDS


class Scan(FrozenModel):
    """Read chunks, in several replies."""

    op: Literal["scan"] = "scan"
    where: ChunkFilter


class Count(FrozenModel):
    """Count chunks."""

    op: Literal["count"] = "count"
    where: ChunkFilter


class CountLanguages(FrozenModel):
    """Count the chunks in each language."""

    op: Literal["languages"] = "languages"
    exact: bool


class ReadVectors(FrozenModel):
    """Read the dense vectors of chunks."""

    op: Literal["vectors"] = "vectors"
    ids: tuple[str, ...]


class FindMissing(FrozenModel):
    """Find the ids that no chunk has."""

    op: Literal["missing"] = "missing"
    ids: tuple[str, ...]


StoreRequest = Create | Open | Drop | Embed
CollectionRequest = Upsert | Delete | Search | Scan | Count | CountLanguages | ReadVectors | FindMissing
Request = StoreRequest | CollectionRequest


class Failure(FrozenModel):
    """An exception of the serving process."""

    kind: str
    message: str
    details: dict[str, JsonValue] = Field(default_factory=dict, description="the attributes of the exception")


class Reply(FrozenModel):
    """The answer to a request. The result is the body."""

    more: bool = Field(default=False, description="another reply to the same request follows")
    ids: tuple[str, ...] = Field(default=(), description="the chunks whose vectors are the body")
    failure: Failure | None = None


REQUEST: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="op")])

_RAISED: tuple[type[Exception], ...] = (
    ValueError, CollectionNotFound, CollectionMismatch, CollectionLocked, CollectionClosed, StoreUnavailable,
    EmbeddingModelError,
)  # fmt: skip
_KINDS = {kind.__name__: kind for kind in _RAISED}


def send(connection: Connection, header: FrozenModel, body: bytes = b"") -> None:
    """Send a message. Raises OSError if the other end has closed, StoreUnavailable if the message is too large."""
    message = header.model_dump_json().encode() + b"\n" + body
    if len(message) > MAX_BYTES:
        raise StoreUnavailable(
            f"A message of {len(message) / 2**20:,.0f} MiB is too large for the connection to the Candor service, "
            f"which takes {MAX_BYTES / 2**20:.0f} MiB."
        ).with_command("Stop the service to run the command without it.")
    connection.send_bytes(message)


def receive(connection: Connection) -> tuple[bytes, bytes]:
    """Return header and body of the next message. Raises OSError, EOFError if the other end has closed."""
    header, _, body = connection.recv_bytes(MAX_BYTES).partition(b"\n")
    return header, body


def to_array(body: bytes, shape: tuple[int, ...]) -> Vectors:
    """Return the vectors of a body."""
    return np.frombuffer(body, dtype=np.float32).reshape(shape)


def to_body(vectors: Vectors) -> bytes:
    """Return the vectors as a body."""
    return np.ascontiguousarray(vectors, dtype=np.float32).tobytes()


def to_failure(error: Exception) -> Failure | None:
    """Return the exception as a message, or None if the store's contract does not name it."""
    if type(error) not in _RAISED:
        return None
    details: dict[str, Any] = vars(error) if isinstance(error, StoreError) else {}
    return Failure(kind=type(error).__name__, message=str(error), details=details)


def to_exception(failure: Failure) -> Exception:
    """Return the exception of the serving process, built without its ``__init__``, which takes other arguments."""
    kind = _KINDS.get(failure.kind, StoreUnavailable)
    error = kind.__new__(kind, failure.message)
    error.args = (failure.message,)
    vars(error).update(failure.details)
    return error
