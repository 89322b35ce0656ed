"""The default language model for an ingest, which calls the model from threads for many documents."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from anyio.from_thread import BlockingPortal, BlockingPortalProvider

from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.wrappers.requests import MakeLocks
from multi_agent.model import LLM, Message, ResponseT

_ResultT = TypeVar("_ResultT")


class DefaultModel(ABC):
    """Base class for models of an ingest. Several threads may call one."""

    def __init__(self, settings: EndpointSettings, shared: Path, make_locks: MakeLocks | None = None) -> None:
        """Create the model. ``build_llm`` describes ``shared`` and ``make_locks``."""
        self._settings, self._shared, self._make_locks = settings, shared, make_locks
        self._lock, self._loops = threading.Lock(), BlockingPortalProvider()
        self._running = WeakKeyDictionary[BlockingPortal, LLM]()  # an LLM belongs to one event loop

    def use(self, settings: EndpointSettings) -> None:
        """Use another model when it is next started."""
        self._settings = settings

    @property
    def name(self) -> str:
        return self._settings.model

    @abstractmethod
    def check(self) -> None:
        """Raise ModelUnavailable if the model cannot be used."""

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the model and its event loop until the end of the block, so that a local model is loaded only once."""
        with self._loops:
            yield

    def ask(self, messages: Sequence[Message], response_model: type[ResponseT]) -> ResponseT:
        """Return the model's response. Blocks. Raises a subclass of LLMError."""
        return self._call(lambda llm: llm.complete(messages, response_model)).value

    def takes_pictures(self) -> bool:
        """Return whether messages may contain pictures. Blocks. Raises a subclass of LLMError."""
        return self._call(lambda llm: llm.takes_pictures())

    def _call(self, call: Callable[[LLM], Coroutine[Any, Any, _ResultT]]) -> _ResultT:
        """Call the model in an event loop, which the first thread starts and the last one ends."""
        with self._loops as loop:
            with self._lock:
                if (llm := self._running.get(loop)) is None:
                    llm = self._running[loop] = build_llm(self._settings, self._shared, self._make_locks)
            result: _ResultT = loop.call(call, llm)
            return result
