"""The default language model for an ingest, which calls the model from threads for many documents."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.wrappers.requests import MakeLocks
from multi_agent.model import LLM, Message, ResponseT

_ResultT = TypeVar("_ResultT")


class DefaultModel:
    """Base class for models of an ingest. Implements ``IngestModel`` except ``check``."""

    def __init__(self, settings: EndpointSettings, shared: Path, make_locks: MakeLocks | None = None) -> None:
        """Create the model. ``build_llm`` describes ``shared`` and ``make_locks``."""
        self._settings, self._shared, self._make_locks = settings, shared, make_locks
        self._lock = threading.Lock()
        self._users = 0
        self._running: _RunningModel | None = None

    def use(self, settings: EndpointSettings) -> None:
        """Use another model when it is next started."""
        self._settings = settings

    @property
    def name(self) -> str:
        return self._settings.model

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the model and its event loop until the end of the block, so that a local model is loaded only once."""
        with self._entered():
            yield

    def ask(self, messages: Sequence[Message], response_model: type[ResponseT]) -> ResponseT:
        """Return the model's response. Blocks. Raises a subclass of LLMError."""
        with self._entered() as running:
            return running.wait_for(running.llm.complete(messages, response_model)).value

    def takes_pictures(self) -> bool:
        """Return whether messages may contain pictures. Blocks. Raises a subclass of LLMError."""
        with self._entered() as running:
            return running.wait_for(running.llm.takes_pictures())

    @contextmanager
    def _entered(self) -> Iterator[_RunningModel]:
        """Start the model when the first thread enters, and close it when the last one leaves."""
        with self._lock:
            if self._running is None:
                self._running = _RunningModel(build_llm(self._settings, self._shared, self._make_locks))
            running = self._running
            self._users += 1
        try:
            yield running
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._running = None
                    running.close()


class _RunningModel:
    """A model with its own event loop and thread. An LLM belongs to one event loop, but its callers have none."""

    def __init__(self, llm: LLM) -> None:
        self.llm = llm
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="default-model", daemon=True)
        self._thread.start()
        self._started.wait()

    def wait_for(self, call: Coroutine[Any, Any, _ResultT]) -> _ResultT:
        """Run a call of the model and return its result. Blocks."""
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def close(self) -> None:
        """Cancel running calls and end the thread."""
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    async def _run(self) -> None:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        self._started.set()
        await self._closing.wait()
