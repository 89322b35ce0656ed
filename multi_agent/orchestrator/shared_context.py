"""The current shared context of a run. Executor, worker and step kits use the same one."""

from __future__ import annotations

from collections.abc import Iterable

from multi_agent.agent import AgentCard
from multi_agent.context import AgentMessage, ContextUpdate, ResearchContext
from multi_agent.context_merge import merge


class SharedContext:
    """Holds the latest ResearchContext and replaces it with every update.

    ``read_before`` holds the ids of the passages that the context had when the attempt began, and ``said`` what agents
    said since then.
    """

    def __init__(self, context: ResearchContext) -> None:
        self.current = context
        self.read_before: frozenset[str] = frozenset()
        self.said: tuple[AgentMessage, ...] = ()

    def merge(self, update: ContextUpdate, card: AgentCard) -> None:
        """Apply an agent's update. Raises ContextViolation for a field that its card does not declare."""
        self.current = merge(self.current, update, agent=card.name, writes=card.writes)

    def add_messages(self, messages: Iterable[AgentMessage]) -> None:
        new = tuple(messages)
        self.said += new
        self.current = self.current.model_copy(update={"messages": (*self.current.messages, *new)})

    def begin_attempt(self) -> None:
        """Drop the answer of the earlier attempt and remember which passages it left."""
        self.said = ()
        self.read_before = frozenset(chunk.id for chunk in self.current.chunks)
        self.current = self.current.model_copy(update={"synthesis": None})
