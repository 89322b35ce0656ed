"""A connection between two processes of Candor: values there, values back, and errors as themselves.

What is said on it is pickled: both ends are the same Candor, and nobody else can reach the connection. Who says what
to whom stands in ``messages.py``.
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
    """One end of a connection: any thread may say something, and what the other end says is heard in one of its own.

    ``hear`` must not wait for anything: the other end would have to. When the other end is gone, ``closed`` is called
    once, as the last thing.
    """

    def __init__(self, connection: Connection, hear: Callable[[Any], object], closed: Callable[[], None]) -> None:
        self._connection, self._hear, self._closed = connection, hear, closed
        self._turn = threading.Lock()
        self._listening = threading.Thread(target=self._listen, name="line", daemon=True)

    def open(self) -> None:
        """Begin to hear."""
        self._listening.start()

    def say(self, message: object) -> None:
        """Hand it over. What is said to an end that is gone is lost; that it is, ``closed`` tells."""
        said = pickle.dumps(message)
        with self._turn, suppress(OSError):
            self._connection.send_bytes(said)

    def release(self) -> None:
        """Close this end, after the other has closed its own."""
        self._listening.join()
        self._connection.close()

    def _listen(self) -> None:
        try:
            while True:
                try:
                    heard = self._connection.recv_bytes()
                except (EOFError, OSError):
                    return
                self._hear(pickle.loads(heard))
        finally:  # also after a defect of ours: better no connection than one that nobody listens to
            self._closed()


@dataclass(frozen=True)
class RemoteError:
    """An error on its way to the other process, which raises it as if it had come up there.

    It is put together again without its own ``__init__``, which may want other arguments than the message that it made
    of them. Where it came up is noted in it.
    """

    kind: type[BaseException]
    arguments: tuple[Any, ...]
    state: dict[str, Any]

    @classmethod
    def of(cls, error: BaseException) -> RemoteError:
        """What is to be told of it; of one that cannot travel, its type and its words."""
        where = "In the other process:\n" + "".join(traceback.format_exception(error)).rstrip()
        notes = [*getattr(error, "__notes__", ()), where]
        raised = cls(kind=type(error), arguments=error.args, state={**vars(error), "__notes__": notes})
        try:
            pickle.loads(pickle.dumps(raised))
        except (pickle.PickleError, TypeError, AttributeError, ImportError, ValueError):
            words = f"{type(error).__name__}: {error}"
            return cls(kind=RuntimeError, arguments=(words,), state={"__notes__": notes})
        return raised

    def error(self) -> BaseException:
        """The error itself."""
        error = self.kind.__new__(self.kind, *self.arguments)
        error.args = self.arguments
        vars(error).update(self.state)
        return error
