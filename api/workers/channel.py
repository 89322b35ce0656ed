"""Messages between two processes of Candor over one connection.

Messages are pickled: both ends run the same program, and no other process can reach the connection. ``messages.py``
defines them.
"""

from __future__ import annotations

import pickle
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any


class Channel:
    """One end of a connection. Any thread may send; received messages are handled in a thread of the channel.

    ``on_message`` must not block, because later messages wait for it. ``on_close`` is called once, last, after the
    other end has closed.
    """

    def __init__(
        self, connection: Connection, on_message: Callable[[Any], object], on_close: Callable[[], None]
    ) -> None:
        self._connection, self._on_message, self._on_close = connection, on_message, on_close
        self._send_lock = threading.Lock()
        self._receiver = threading.Thread(target=self._receive, name="channel", daemon=True)

    def open(self) -> None:
        """Start to receive."""
        self._receiver.start()

    def send(self, message: object) -> None:
        """Send a message. It is lost if the other end has closed, which ``on_close`` reports."""
        pickled = pickle.dumps(message)
        with self._send_lock, suppress(OSError):
            self._connection.send_bytes(pickled)

    def close(self) -> None:
        """Wait until the other end has closed, then close this end."""
        self._receiver.join()
        self._connection.close()

    def _receive(self) -> None:
        try:
            while True:
                try:
                    pickled = self._connection.recv_bytes()
                except (EOFError, OSError):
                    return
                self._on_message(pickle.loads(pickled))
        finally:  # also when a handler raises: an unattended connection would block the other process
            self._on_close()


@dataclass(frozen=True)
class RemoteError:
    """An exception in transit to the other process, which raises it again.

    The exception is rebuilt without calling its ``__init__``, which may take other arguments than ``args``. A note on
    it holds the original traceback.
    """

    kind: type[BaseException]
    arguments: tuple[Any, ...]
    state: dict[str, Any]

    @classmethod
    def from_exception(cls, error: BaseException) -> RemoteError:
        """Pack an exception. One that cannot be pickled becomes a RuntimeError with its type and message."""
        trace = "In the other process:\n" + "".join(traceback.format_exception(error)).rstrip()
        notes = [*getattr(error, "__notes__", ()), trace]
        packed = cls(kind=type(error), arguments=error.args, state={**vars(error), "__notes__": notes})
        try:
            pickle.loads(pickle.dumps(packed))
        except (pickle.PickleError, TypeError, AttributeError, ImportError, ValueError):
            message = f"{type(error).__name__}: {error}"
            return cls(kind=RuntimeError, arguments=(message,), state={"__notes__": notes})
        return packed

    def to_exception(self) -> BaseException:
        """Rebuild the exception."""
        error = self.kind.__new__(self.kind, *self.arguments)
        error.args = self.arguments
        vars(error).update(self.state)
        return error
