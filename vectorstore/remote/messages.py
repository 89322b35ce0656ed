"""The messages between a process that uses a store and the search process, which serves it.

``base/rpc.py`` describes the frames. Vectors travel as float32 in the body, results as JSON in the body.
"""

import math
from multiprocessing.connection import Connection
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, TypeAdapter

from base import rpc
from base.models import FrozenModel
from vectorstore.errors import StoreUnavailable
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, SearchMode
from vectorstore.store import Query, Vectors

PROTOCOL = 9
"""Raise it when a message or a model in ``vectorstore/models.py`` changes."""

BATCH = 256
"""Chunks per message."""


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
    """Embed a query. The body of the reply is the vector, or the attention to each character if it is known."""

    op: Literal["embed"] = "embed"
    text: str
    attention: bool = False


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
    """Search. The vector of the query is the body, unless ``shape`` is None. The attention follows it."""

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


class Reply(rpc.Reply):
    """The answer to a request. The result is the body."""

    ids: tuple[str, ...] = Field(default=(), description="the chunks whose vectors are the body")


REQUEST: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="op")])


def send(connection: Connection, header: FrozenModel, body: bytes = b"") -> None:
    """Send a message. Raises OSError if the other end has closed, StoreUnavailable if the message is too large."""
    try:
        rpc.send(connection, header, body)
    except rpc.MessageTooLong as error:
        raise StoreUnavailable(str(error)).with_command("Stop the service to run the command without it.") from error


def to_array(body: bytes, shape: tuple[int, ...]) -> Vectors:
    """Return the vectors of a body."""
    return np.frombuffer(body, dtype=np.float32).reshape(shape)


def to_body(vectors: Vectors) -> bytes:
    """Return the vectors as a body."""
    return np.ascontiguousarray(vectors, dtype=np.float32).tobytes()


def from_query(query: Query) -> bytes:
    """Return the vector and the attention of a query as a body."""
    return b"".join(to_body(each) for each in (query.vector, query.attention) if each is not None)


def to_query(search: Search, body: bytes) -> Query:
    """Return the query of a request."""
    if search.shape is None:
        return Query(search.text)
    floats, dimension = np.frombuffer(body, dtype=np.float32), math.prod(search.shape)
    attention = floats[dimension:]
    return Query(search.text, floats[:dimension].reshape(search.shape), attention if len(attention) else None)
