"""The contract of memory: what a run reads before planning and stores at its end."""

from __future__ import annotations

from typing import Protocol

from multi_agent.answer import Answer
from multi_agent.remembered import Remembered
from multi_agent.request import Request


class Memory(Protocol):
    """The memory of one API key's holder. Calls block."""

    def recall(self, request: Request) -> Remembered:
        """Return what the planner is to know for this question."""
        ...

    def keep(self, request: Request, answer: Answer) -> None:
        """Store question and answer if the request belongs to a conversation."""
        ...


class NoMemory:
    """A memory that recalls and stores nothing."""

    def recall(self, request: Request) -> Remembered:
        return Remembered()

    def keep(self, request: Request, answer: Answer) -> None: ...


NO_MEMORY = NoMemory()
