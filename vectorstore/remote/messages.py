"""The messages between a process that uses a store and the search process, which serves it.

``base/rpc.py`` describes the frames. Vectors travel as float32 in the body, results as JSON in the body.
"""

from collections.abc import Iterable
from multiprocessing.connection import Connection
from typing import Literal

import numpy as np
from pydantic import Field

from base import rpc
from base.models import FrozenModel
from vectorstore.errors import StoreUnavailable
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, SearchMode
from vectorstore.store import EVERYTHING, Vectors

PROTOCOL = 10
"""Raise it when a message or a model in ``vectorstore/models.py`` changes."""

BATCH = 256
"""Chunks per message."""


class Hello(FrozenModel):
    """The first message of a client."""

    secret: str
    protocol: int = PROTOCOL
    urgent: bool = Field(default=False, description="users wait for its searches, so the requests of others wait")


class Request(FrozenModel):
    """A call of a method, with the arguments that the method takes.

    ``create`` and ``open`` open a collection for the rest of the connection. ``embed`` reads a query.
    """

    op: Literal[
        "create", "open", "drop", "embed",
        "upsert", "delete", "search", "scan", "count", "languages", "vectors", "missing",
    ]  # fmt: skip
    spec: CollectionSpec | None = None
    name: str = ""
    chunks: tuple[Chunk, ...] = Field(default=(), description="their vectors are the body")
    ids: tuple[str, ...] = ()
    where: ChunkFilter = EVERYTHING
    mode: SearchMode = SearchMode.HYBRID
    text: str = ""
    dimension: int = Field(default=0, description="of the vector in the body, which the attention follows; 0: none")
    limit: int = 0
    exact: bool = True

    @property
    def embeds(self) -> bool:
        """Whether the serving process embeds the text of a search, and ranks like a ``Retriever``."""
        return self.op == "search" and not self.dimension and self.mode is not SearchMode.WORDS


class Reply(rpc.Reply):
    """The answer to a request. The result is the body."""

    ids: tuple[str, ...] = Field(default=(), description="the chunks whose vectors are the body")
    dimension: int = Field(default=0, description="of the embedded query, whose attention follows it in the body")


def send(connection: Connection, header: FrozenModel, body: bytes = b"") -> None:
    """Send a message. Raises OSError if the other end has closed, StoreUnavailable if the message is too large."""
    try:
        rpc.send(connection, header, body)
    except rpc.MessageTooLong as error:
        raise StoreUnavailable(str(error)).with_command("Stop the service to run the command without it.") from error


def to_body(vectors: Iterable[Vectors | None]) -> bytes:
    """Return the vectors as a body, without those that are None."""
    return b"".join(np.ascontiguousarray(each, dtype=np.float32).tobytes() for each in vectors if each is not None)


def from_body(body: bytes) -> Vectors:
    """Return the numbers of a body."""
    return np.frombuffer(body, dtype=np.float32)
