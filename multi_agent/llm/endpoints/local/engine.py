"""The child process of a local model, the contract of the engines that compute in it, and the header of model files.

An engine is the library that loads a model file. Implementations: ``openvino.py`` and ``llama_cpp.py``. A new one is a
new file and a line in ``ENGINES``. The process loads the model with the first engine that can, then serves one request
at a time. Format of the files: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import signal
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from pkgutil import resolve_name
from typing import BinaryIO, NamedTuple, Protocol, Self

ENGINES = {
    "openvino": "multi_agent.llm.endpoints.local.openvino:OpenVINO",
    "llama_cpp": "multi_agent.llm.endpoints.local.llama_cpp:LlamaCpp",
}
"""The class of each engine by its name in the settings."""

KeepOn = Callable[[str], bool]
"""Receives each new piece of text and returns whether the engine continues."""


@dataclass(frozen=True)
class ModelOptions:
    """What to load, and how."""

    path: Path
    context: int
    """Maximum tokens of prompt and response together."""
    threads: int | None
    """None leaves the number of threads to the engine."""
    cache: Path | None
    """Folder for converted models; None converts the file at every start."""


@dataclass(frozen=True)
class Generation:
    """One request to the loaded model."""

    messages: tuple[tuple[str, str], ...]
    """Role and text of each message."""
    grammar: str
    """What the model may write; see ``grammar.py``."""
    temperature: float | None
    """None and 0 both mean the likeliest text."""
    max_tokens: int


@dataclass(frozen=True)
class Generated:
    """The end of a generation. Its text went to ``KeepOn`` in pieces."""

    truncated: bool
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int


class EngineError(Exception):
    """The engine cannot load the model or cannot serve the request. The message says why and what to do."""


class Engine(Protocol):
    """A loaded model. One thread uses it."""

    name: str
    """Library, version and device, for people."""

    @classmethod
    def load(cls, options: ModelOptions) -> Self:
        """Load the model. Raises EngineError, or ImportError if the library is not installed."""
        ...

    def generate(self, request: Generation, keep_on: KeepOn) -> Generated:
        """Write a response, piece by piece, until it is complete or ``keep_on`` returns False. Raises EngineError."""
        ...


_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LONGEST = 1 << 24  # bytes of one string; a larger length means a damaged file


class Header(NamedTuple):
    """What the header of a model file says."""

    architecture: str
    context_length: int | None
    """Maximum tokens that the model was trained for."""


def read_header(path: Path) -> Header:
    """Read the header of a model file. Raises EngineError if there is none."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise EngineError(f"{path} is not a GGUF file. Download the model in this format (file name *.gguf).")
            return _read(file)
    except FileNotFoundError:
        raise EngineError(f"There is no file {path}.") from None
    except OSError as error:
        raise EngineError(f"{path} cannot be read: {error.strerror}.") from error
    except (struct.error, ValueError) as error:
        raise EngineError(f"{path} is damaged or incomplete ({error}). Download it again.") from error


def _read(file: BinaryIO) -> Header:
    _version, _tensors, entries = struct.unpack("<IQQ", file.read(20))
    found: dict[str, object] = {}
    for _ in range(entries):
        key = _string(file)
        found[key] = _value(file, *struct.unpack("<I", file.read(4)))
        architecture = str(found.get("general.architecture", ""))
        if architecture and isinstance(length := found.get(f"{architecture}.context_length"), int):
            return Header(architecture, length)
    if not found.get("general.architecture"):
        raise ValueError("it names no architecture")
    return Header(str(found["general.architecture"]), None)


def _value(file: BinaryIO, kind: int) -> object:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        inner, length = struct.unpack("<IQ", file.read(12))
        for _ in range(length):
            _value(file, inner)
        return None
    if kind not in _NUMBERS:
        raise ValueError(f"unknown type {kind}")
    form = "<" + _NUMBERS[kind]
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _string(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _LONGEST:
        raise ValueError(f"a string of {length} bytes")
    return file.read(length).decode("utf-8", "replace")


@dataclass(frozen=True)
class Load:
    """First message to the process."""

    engines: tuple[str, ...]
    """Classes of engines ("package.module:Class"), to be tried in this order."""
    options: ModelOptions


@dataclass(frozen=True)
class NotLoaded:
    """No engine loaded the model. The process ends."""

    reasons: tuple[str, ...]
    missing: bool
    """Whether no engine is installed."""


@dataclass(frozen=True)
class Ask:
    """A request. Its response is pieces of text, and its end. The next one may be sent when this one has ended."""

    number: int
    generation: Generation


@dataclass(frozen=True)
class Stop:
    """Stop writing the response with this number."""

    number: int


@dataclass(frozen=True)
class Refused:
    """Why there is no response."""

    reason: str


def main(connection: Connection) -> None:
    """Serve requests until the other end of the connection closes."""
    for number in (signal.SIGINT, signal.SIGTERM):  # may be sent to the whole program; this process ends with it
        signal.signal(number, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        engine = _load(connection.recv())
        if isinstance(engine, NotLoaded):
            connection.send(engine)
            return
        connection.send(engine.name)
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
                self._connection.send(self._generate(message))

    def _generate(self, message: Ask) -> Generated | Refused:
        def keep_on(piece: str) -> bool:
            if piece:
                self._connection.send(piece)
            return not (self._connection.poll() and self._connection.recv() == Stop(message.number))

        try:
            return self._engine.generate(message.generation, keep_on)
        except EngineError as error:
            return Refused(str(error))
