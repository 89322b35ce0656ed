"""The child process of a local model: loads it with the first engine that can, then serves one request at a time."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pkgutil import resolve_name

from multi_agent.llm.endpoints.local.engine import Engine, EngineError, Generated, Generation, ModelOptions


@dataclass(frozen=True)
class Load:
    """First message to the process."""

    engines: tuple[str, ...]
    """Classes of engines ("package.module:Class"), to be tried in this order."""
    options: ModelOptions


@dataclass(frozen=True)
class Loaded:
    """The model is ready."""

    engine: str
    """``Engine.name``."""


@dataclass(frozen=True)
class NotLoaded:
    """No engine loaded the model. The process ends."""

    reasons: tuple[str, ...]
    missing: bool
    """Whether no engine is installed."""


@dataclass(frozen=True)
class Ask:
    """A request. Its responses carry the same number. The next one may be sent when this one has ended."""

    number: int
    generation: Generation


@dataclass(frozen=True)
class Stop:
    """Stop writing the response with this number."""

    number: int


@dataclass(frozen=True)
class Text:
    """The next piece of a response."""

    number: int
    piece: str


@dataclass(frozen=True)
class Ended:
    """The end of a response, or why there is none."""

    number: int
    result: Generated | str


def main(connection: Connection) -> None:
    """Serve requests until the other end of the connection closes."""
    for number in (signal.SIGINT, signal.SIGTERM):  # may be sent to the whole program; this process ends with it
        signal.signal(number, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        engine = _load(connection.recv())
        if isinstance(engine, NotLoaded):
            connection.send(engine)
            return
        connection.send(Loaded(engine.name))
        _Server(connection, engine).serve()


def _load(message: Load) -> Engine | NotLoaded:
    reasons, missing = [], True
    for name in message.engines:
        try:
            engine: Engine = resolve_name(name).load(message.options)
        except ImportError as error:
            reasons.append(f"{error.name} is not installed.")
        except EngineError as error:
            reasons.append(str(error))
            missing = False
        else:
            return engine
    return NotLoaded(tuple(reasons), missing)


class _Server:
    def __init__(self, connection: Connection, engine: Engine) -> None:
        self._connection, self._engine = connection, engine

    def serve(self) -> None:
        while True:
            message = self._connection.recv()
            if isinstance(message, Ask):  # a Stop may arrive after the end of its response
                self._connection.send(Ended(message.number, self._generate(message)))

    def _generate(self, message: Ask) -> Generated | str:
        def keep_on(piece: str) -> bool:
            if piece:
                self._connection.send(Text(message.number, piece))
            return not (self._connection.poll() and self._connection.recv() == Stop(message.number))

        try:
            return self._engine.generate(message.generation, keep_on)
        except EngineError as error:
            return str(error)
