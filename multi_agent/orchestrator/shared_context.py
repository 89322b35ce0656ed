"""The current shared context of a run, used by the executor, the worker and the step kits."""

from __future__ import annotations

from collections.abc import Iterable

from multi_agent.agent import AgentCard
from multi_agent.errors import ContextViolation
from multi_agent.settings.research import Source
from multi_agent.values.context import AgentMessage, ContextUpdate, ResearchContext
from multi_agent.values.context_merge import admit, merge
from multi_agent.values.request import Fork
from multi_agent.values.sources import source_of


class SharedContext:
    """Stores the latest ResearchContext and replaces it with every update.

    ``read_before`` contains the ids of the passages in the context when the attempt began, and ``said`` the messages of
    agents since then.
    """

    def __init__(
        self, context: ResearchContext, sources: tuple[Source, ...] = ("documents",), fork: Fork | None = None
    ) -> None:
        self.current = context
        self._sources, self._fork = sources, fork
        self.read_before: frozenset[str] = frozenset()
        self.said: tuple[AgentMessage, ...] = ()

    def merge(self, update: ContextUpdate, card: AgentCard) -> None:
        """Apply an agent's update.

        Raises ContextViolation for a field that the card does not declare, and for evidence of a kind that this run
        does not allow.
        """
        self._require_allowed(update, card)
        self.current = merge(self.current, update, agent=card.name, writes=card.writes)

    def _require_allowed(self, update: ContextUpdate, card: AgentCard) -> None:
        answers = [each for each in (update.synthesis, *(found.synthesis for found in update.findings)) if each]
        evidence = [*update.evidence, *(item for each in answers for item in each.evidence)]
        if refused := {source_of(item.origin) for item in evidence} - {*self._sources}:
            raise ContextViolation(
                f"Agent {card.name!r} cites {', '.join(sorted(refused))}, but this run may only use "
                f"{', '.join(self._sources)} (`--sources`)."
            )

    def add_messages(self, messages: Iterable[AgentMessage]) -> None:
        new = tuple(messages)
        self.said += new
        self.current = self.current.model_copy(update={"messages": (*self.current.messages, *new)})

    def begin_step(self, step: str) -> None:
        """Drop the evidence that a fork does not admit, when its step begins."""
        if (fork := self._fork) and fork.step == step:
            self._fork = None
            if fork.evidence is not None:
                self.current = admit(self.current, fork.evidence)

    def begin_attempt(self) -> None:
        """Drop the answer and the messages of the earlier attempt, and store the ids of its passages."""
        self.said = ()
        self.read_before = frozenset(chunk.id for chunk in self.current.chunks)
        self.current = self.current.model_copy(update={"synthesis": None})
