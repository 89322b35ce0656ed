"""The memory protocol, with which a run reads entries before planning and stores entries at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from multi_agent.values.answer import Answer
from multi_agent.values.remembered import Remembered, ToolUse
from multi_agent.values.request import Request


class Memory(Protocol):
    """The memory of one API key's holder. Calls block."""

    def recall(self, request: Request, collection: str) -> Remembered:
        """Return the entries that apply to the request."""
        ...

    def keep(self, request: Request, collection: str, answer: Answer) -> None:
        """Store the question and the answer if the request belongs to a conversation about the collection."""
        ...

    def keep_tool_uses(self, collection: str, uses: Sequence[ToolUse]) -> None:
        """Store the tool use of an answered run for later questions about the same collection."""
        ...


class NoMemory:
    """A memory that stores nothing and recalls only the conversation in the request."""

    def recall(self, request: Request, collection: str) -> Remembered:
        return Remembered(conversation=request.conversation)

    def keep(self, request: Request, collection: str, answer: Answer) -> None: ...

    def keep_tool_uses(self, collection: str, uses: Sequence[ToolUse]) -> None: ...


NO_MEMORY = NoMemory()
