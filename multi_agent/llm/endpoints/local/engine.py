"""The contract of an engine: the library that loads a model file and computes with it, inside the child process.

Implementations: ``openvino.py`` and ``llama_cpp.py``. A new one is a new file and a line in ``ENGINES``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

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
