"""Delivers messages between the agents of a run and wakes the agents that listen.

Messages are collected while a step runs and delivered when it has ended, in an order that does not depend on timing.
Therefore, a resumed run builds the same prompts and the journal answers them. A woken agent runs as a separate step,
``STEP.AGENT``. Its messages may wake other agents. Each agent reacts at most once to a step, so reactions always end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence

from multi_agent.catalog.registry import AgentRegistry
from multi_agent.grounding.contradictions import Contradiction, find_contradictions
from multi_agent.orchestrator.tasks import SharedContext
from multi_agent.values.events import Event
from multi_agent.values.evidence_events import ContradictionFound
from multi_agent.values.tasks import Wake, hears, message_of

React = Callable[[str, str, Wake], Awaitable[None]]
"""Runs an agent as the step with this id and merges its result: ``await react(step, agent, wake)``."""


class Reactions:
    """Delivers messages after every step. Subscribe ``collect`` to all events of the run."""

    def __init__(self, registry: AgentRegistry, shared: SharedContext, react: React, *, enabled: bool) -> None:
        self._registry, self._shared, self._react, self._enabled = registry, shared, react, enabled
        self._said: defaultdict[str, list[Event]] = defaultdict(list)
        self._woken: Counter[str] = Counter()
        self._contradictions: set[Contradiction] = set()

    def begin_attempt(self) -> None:
        """Clear the messages and the woken agents of the earlier attempt."""
        self._said.clear()
        self._woken.clear()

    async def collect(self, event: Event) -> None:
        """Store an event that agents can listen to until its step has ended."""
        if event.step and message_of(event):
            self._said[event.step].append(event)

    def new_contradictions(self, agent: str) -> list[ContradictionFound]:
        """Return the contradictions that the last result of ``agent`` brought into the shared context."""
        new = [each for each in find_contradictions(self._shared.current) if each not in self._contradictions]
        self._contradictions.update(new)
        return [ContradictionFound(agent=agent, sides=(each.first, each.second)) for each in new]

    async def after(self, step: str, *, is_last: bool) -> None:
        """Deliver the messages of the step and run the listeners in the order of their names.

        After the last step of the plan, no agent reacts, because no step would read the result.
        """
        news = self._deliver(step)
        reacted: set[str] = set()
        while news and self._enabled and not is_last:
            said: list[Event] = []
            for registered in self._registry:
                agent = registered.card.name
                heard = [each for each in news if _hears(registered.card.listens_to, agent, each)]
                if heard and agent not in reacted:
                    reacted.add(agent)
                    said += await self._wake(f"{step}.{agent}", agent, heard)
            news = said

    async def _wake(self, step: str, agent: str, heard: Sequence[Event]) -> list[Event]:
        """Wake the agent and return the events of its messages."""
        await self._react(step, agent, Wake(events=tuple(heard), earlier=self._woken[agent]))
        said = self._deliver(step)
        self._woken[agent] += bool(said)
        return said

    def _deliver(self, step: str) -> list[Event]:
        """Add the messages of the step to the shared context and return their events."""
        # Sorted and without duplicates, because the calls of a step end in any order and retries repeat messages.
        said = {each.body.model_dump_json(): each for each in self._said.pop(step, [])}
        events = [said[each] for each in sorted(said)]
        self._shared.add_messages(message for event in events if (message := message_of(event)))
        return events


def _hears(listens_to: frozenset[str], agent: str, event: Event) -> bool:
    message = message_of(event)
    return message is not None and hears(listens_to, agent, message)
