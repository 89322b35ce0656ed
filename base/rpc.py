"""Calls between processes of Candor.

A message is one frame of ``multiprocessing.connection``: a line of JSON, then a body of raw bytes. It is not pickled,
so it cannot run code in the other process. An exception is a ``Failure``.

``send`` and ``receive`` are for threads, ``Channel`` is for asyncio.
"""

import asyncio
import socket
import struct
import traceback
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Self

from pydantic import Field, JsonValue
from pydantic_core import to_jsonable_python

from base.errors import Explained
from base.models import FrozenModel

MAX_BYTES = 64 * 2**20
"""Limit of one message. A batch of chunks with vectors of 4,096 dimensions has about 5 MB."""
_LENGTH = struct.Struct("!i")  # as ``multiprocessing.connection`` writes it before each message


class MessageTooLong(Exception):
    """A message exceeds ``MAX_BYTES``. Nothing was sent."""


class Disconnected(Exception):
    """The other end of a channel has closed it."""


class Failure(FrozenModel):
    """An exception of the other process."""

    kind: str
    message: str
    details: dict[str, JsonValue] = Field(default_factory=dict, description="the attributes of the exception")
    trace: str = Field(default="", description="where an unexpected exception was raised")

    def to_exception(self) -> Exception:
        """Return the exception, built without its ``__init__``, which may take other arguments than the message.

        An exception that is not ``Explained`` is a RuntimeError with its type in the message, and its place in a note.
        """
        kind = next((each for each in _kinds() if each.__name__ == self.kind), None)
        if kind is None:
            error: Exception = RuntimeError(f"{self.kind}: {self.message}")
            error.add_note(f"In the other process:\n{self.trace}")
            return error
        error = kind.__new__(kind, self.message)
        error.args = (self.message,)
        vars(error).update(self.details)
        return error


def keeps_type(error: BaseException) -> bool:
    """Return whether the other process raises the same type: ValueError, and all that a person can act on."""
    return any(type(error) is kind for kind in _kinds())


def to_failure(error: BaseException) -> Failure:
    """Return an exception as a message."""
    if keeps_type(error):
        details = to_jsonable_python(vars(error), fallback=str)
        return Failure(kind=type(error).__name__, message=str(error), details=details)
    trace = "".join(traceback.format_exception(error)).rstrip()
    return Failure(kind=type(error).__name__, message=str(error), trace=trace)


def _kinds(base: type[Exception] = Explained) -> Iterator[type[Exception]]:
    yield ValueError if base is Explained else base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


class Reply(FrozenModel):
    """The header of an answer, or of a part of it."""

    more: bool = Field(default=False, description="another reply to the same request follows")
    failure: Failure | None = None


def encode(header: FrozenModel, body: bytes = b"") -> bytes:
    """Return a message as bytes. Raises MessageTooLong."""
    message = header.model_dump_json().encode() + b"\n" + body
    if len(message) > MAX_BYTES:
        raise MessageTooLong(
            f"A message of {len(message) / 2**20:,.0f} MiB is too large for a connection between processes of Candor, "
            f"which takes {MAX_BYTES / 2**20:.0f} MiB."
        )
    return message


def send(connection: Connection, header: FrozenModel, body: bytes = b"") -> None:
    """Send a message. Raises OSError if the other end has closed, MessageTooLong."""
    connection.send_bytes(encode(header, body))


def receive(connection: Connection) -> tuple[bytes, bytes]:
    """Return header and body of the next message. Raises OSError, EOFError if the other end has closed."""
    header, _, body = connection.recv_bytes(MAX_BYTES).partition(b"\n")
    return header, body


class Channel:
    """One end of a connected socket in an event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def over(cls, connected: socket.socket) -> Self:
        """Take over a connected socket."""
        return cls(*await asyncio.open_unix_connection(sock=connected))

    def write(self, header: FrozenModel, body: bytes = b"") -> None:
        """Send a message. It is lost if the other end has closed. Raises MessageTooLong."""
        message = encode(header, body)
        self._writer.write(_LENGTH.pack(len(message)) + message)

    async def read(self) -> tuple[bytes, bytes]:
        """Return header and body of the next message. Raises Disconnected."""
        try:
            [length] = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            header, _, body = (await self._reader.readexactly(length)).partition(b"\n")
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise Disconnected from error
        return header, body

    async def flush(self) -> None:
        """Wait until the messages are on their way, at least most of them."""
        with suppress(ConnectionError):
            await self._writer.drain()

    def close(self) -> None:
        """Close the connection, after what was written is sent."""
        self._writer.close()
