"""Delays Ctrl-C until a transaction has ended.

A KeyboardInterrupt inside SQLAlchemy can leave the transaction open. Every later write then fails because the database
is locked.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Interrupts:
    """The transactions of the main thread, the only one that receives signals."""

    def __init__(self) -> None:
        self._open = 0
        self._delayed = False

    def interrupt(self, *_: object) -> None:
        """Handle SIGINT: raise KeyboardInterrupt, but after the open transaction if there is one."""
        if self._open:
            self._delayed = True
        else:
            raise KeyboardInterrupt

    @contextmanager
    def delayed(self) -> Iterator[None]:
        """Delay KeyboardInterrupt to the end of the block, if ``interrupt`` is the handler of SIGINT."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if self._delayed and not self._open:
                self._delayed = False
                raise KeyboardInterrupt


INTERRUPTS = _Interrupts()


def is_interrupted(error: BaseException | None) -> bool:
    """Return whether Ctrl-C is the cause of the error.

    click makes it an Abort while it asks for a confirmation. In the middle of a wait for a lock, Python makes it
    "RuntimeError: release unlocked lock".
    """
    return error is not None and (isinstance(error, KeyboardInterrupt) or is_interrupted(error.__context__))
