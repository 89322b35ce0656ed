"""A model that Candor loads itself, in a child process: ``provider = "local"``."""

import asyncio
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from base.installation import extra_command
from base.process import ChildProcess
from multi_agent.errors import LLMError, LLMRefused, LLMUnavailable
from multi_agent.llm.endpoint import EndpointRequest, Reply
from multi_agent.llm.endpoints.local.engine import (
    ENGINES,
    Ask,
    EngineError,
    Generated,
    Generation,
    Header,
    Load,
    ModelOptions,
    NotLoaded,
    Refused,
    Stop,
    read_header,
)
from multi_agent.llm.endpoints.local.grammar import grammar_of
from multi_agent.llm.endpoints.transport import timed_out
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import OnText

_EXIT_TIMEOUT_S = 5.0
_CONVERTED = "converted"


class LocalModel:
    """One model in one child process, which starts with the first request. Belongs to the event loop that uses it.

    It computes one request at a time; others wait in order. A cancelled request stops at its next token. The process
    ends with this object, and is replaced after it ended unexpectedly.
    """

    def __init__(self, settings: EndpointSettings, folder: Path | None = None, engines: Sequence[str] = ()) -> None:
        """``folder`` keeps converted models. ``engines`` replaces the classes that the settings choose."""
        self._settings = settings
        self._engines = tuple(engines) or _engine_classes(settings.engine)
        self._options = ModelOptions(
            path=Path(settings.model).expanduser(),
            context=settings.context_window,
            threads=settings.threads,
            cache=folder / _CONVERTED if folder else None,
        )
        self._turn = asyncio.Lock()
        self._child: _Child | None = None

    async def send(self, request: EndpointRequest) -> Reply:
        """Send one request. Raises a subclass of LLMError.

        ``timeout_s`` limits the time without new text. The time to load the model does not count.
        """
        if any(message.pictures for message in request.messages):
            raise self._refused("It takes no pictures.")
        generation = Generation(
            messages=tuple((message.role, message.content) for message in request.messages),
            grammar=grammar_of(request.schema),
            temperature=request.temperature,
            max_tokens=self._settings.max_output_tokens,
        )
        async with self._turn:
            started = time.monotonic()
            child = await self._loaded()
            try:
                async with asyncio.timeout(self._settings.total_timeout_s):
                    text, end = await self._generate(child, generation, request.on_text)
            except TimeoutError:
                raise timed_out(self._settings, "total_timeout_s") from None
        return Reply(
            text=text,
            truncated=end.truncated,
            prompt_tokens=end.prompt_tokens,
            cached_tokens=end.cached_tokens,
            completion_tokens=end.completion_tokens,
            seconds=time.monotonic() - started,
        )

    def header(self) -> Header:
        """Return what the file says about the model. Raises LLMRefused if it is not a model file."""
        try:
            return read_header(self._options.path)
        except EngineError as error:
            raise self._refused(str(error)) from error

    async def engine(self) -> str:
        """Load the model, and return the name of the engine. Raises a subclass of LLMError."""
        async with self._turn:
            return (await self._loaded()).engine

    def close(self) -> None:
        """End the process. May be called again."""
        if self._child:
            self._child.close()
        self._child = None

    async def _loaded(self) -> "_Child":
        """Return the process with the loaded model; start it if there is none. Raises a subclass of LLMError."""
        if self._child:
            return self._child
        self.header()  # an error of the file needs no process
        child = self._child = _Child()
        with self._ends_on_failure():
            child.send(Load(self._engines, self._options))
            message = await self._receive(child)
            if isinstance(message, NotLoaded):
                raise self._not_loaded(message)
            child.engine = message
        return child

    async def _generate(self, child: "_Child", generation: Generation, on_text: OnText | None) -> tuple[str, Generated]:
        """Return the text and its end. If this is interrupted, the process stops writing."""
        while child.unfinished:  # a cancelled request stops at its next token
            await self._receive_part(child)
        number = child.ask(generation)
        text = ""
        try:
            if on_text:
                await on_text("")
            while isinstance(part := await self._receive_part(child), str):
                text += part
                if on_text:
                    await on_text(text)
        finally:
            if child.unfinished:
                child.send(Stop(number))
        if isinstance(part, Refused):
            raise self._refused(part.reason)
        return text, part

    async def _receive_part(self, child: "_Child") -> str | Generated | Refused:
        with self._ends_on_failure():
            try:
                async with asyncio.timeout(self._settings.timeout_s):
                    part: str | Generated | Refused = await self._receive(child)
            except TimeoutError:
                raise timed_out(self._settings, "timeout_s") from None
        child.unfinished = isinstance(part, str)
        return part

    async def _receive(self, child: "_Child") -> Any:
        """Return the next message of the process. Raises LLMUnavailable if it has ended."""
        message = await child.messages.get()
        if message is None:
            raise self._died(await asyncio.to_thread(child.describe_end))
        return message

    @contextmanager
    def _ends_on_failure(self) -> Iterator[None]:
        """End the process after an error of its own; a cancellation does not end a loaded one."""
        try:
            yield
        except (LLMError, asyncio.CancelledError) as error:
            if isinstance(error, LLMError) or not (self._child and self._child.engine):
                self.close()
            raise

    def _died(self, ending: str) -> LLMUnavailable:
        setting = self._settings.setting
        memory = (
            f" The machine probably ran out of memory: close other programs, lower {setting('context_window')}, or "
            f"choose a smaller model with {setting('model')}."
            if ending.startswith("SIGKILL")
            else ""
        )
        return LLMUnavailable(f"The process of the {self._settings.name} ended ({ending}).{memory}")

    def _not_loaded(self, message: NotLoaded) -> LLMRefused:
        if message.missing:
            return LLMRefused(
                f"{' '.join(message.reasons)} Install it with `{extra_command('local')}` to use the "
                f"{self._settings.name}."
            )
        return self._refused(" ".join(message.reasons))

    def _refused(self, reason: str) -> LLMRefused:
        setting = self._settings.setting
        return LLMRefused(
            f"The {self._settings.name} cannot be used. {reason} Choose another file with {setting('model')}, or "
            f"another engine with {setting('engine')}."
        )


def _engine_classes(engine: str) -> tuple[str, ...]:
    """Return the classes to try. Other CPUs than x86-64 have no matrix units that OpenVINO uses; Macs have a GPU."""
    if engine != "auto":
        return (ENGINES[engine],)
    names = ("openvino", "llama_cpp") if platform.machine() in ("x86_64", "AMD64") else ("llama_cpp", "openvino")
    return tuple(ENGINES[name] for name in names)


class _Child:
    """The child process and what it has sent. Belongs to the running event loop."""

    def __init__(self) -> None:
        self._process = ChildProcess("multi_agent.llm.endpoints.local.engine:main", capture_output=True)
        [self._connection] = self._process.connections
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._connection.fileno(), self._read)
        self.messages: asyncio.Queue[Any] = asyncio.Queue()
        """None after the last message."""
        self.engine = ""
        """Name of the engine, when the model is loaded."""
        self.unfinished = False
        """Whether the end of a response has not been received."""
        self._asked = 0

    def ask(self, generation: Generation) -> int:
        """Send a request and return its number."""
        self._process.clear_output()
        self._asked += 1
        self.send(Ask(self._asked, generation))
        self.unfinished = True
        return self._asked

    def send(self, message: Load | Ask | Stop) -> None:
        """Send a message; if the process has ended, ``messages`` tells."""
        with suppress(OSError):
            self._connection.send(message)

    def describe_end(self) -> str:
        """Wait for the end of the process and describe it."""
        ending, output = self._process.wait(_EXIT_TIMEOUT_S), self._process.last_output_line()
        return f"{ending}: {output}" if output else ending

    def close(self) -> None:
        """End the process."""
        if not self._connection.closed:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._connection.fileno())
            self._process.close()

    def _read(self) -> None:
        try:
            self.messages.put_nowait(self._connection.recv())
        except (EOFError, OSError):
            self._loop.remove_reader(self._connection.fileno())
            self.messages.put_nowait(None)
