"""The message bus of a run: numbers and timestamps events and delivers them to subscribers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from multi_agent.values.events import Body, Event
from multi_agent.values.hierarchy import Hierarchy

Subscriber = Callable[[Event], Awaitable[None]]
Publish = Callable[[Body], Awaitable[object]]
ALL = "*"


class MessageBus:
    """Delivers events in order, one subscriber after the other. Errors of subscribers are raised to the publisher.

    bus = MessageBus("run_1")
    bus.subscribe("plan_made", show_plan)
    await bus.publish(PlanMade(…))
    """

    def __init__(self, run_id: str, *, after: int = 0) -> None:
        """Number events from ``after`` + 1: the last event of a resumed run."""
        self.run_id = run_id
        self._published = after
        self._hierarchy = Hierarchy()
        self._subscribers: list[tuple[str, Subscriber]] = []

    def subscribe(self, event_type: str, subscriber: Subscriber) -> None:
        """Call ``subscriber`` for events of this type, or for every event with ``ALL``."""
        self._subscribers.append((event_type, subscriber))

    async def publish(self, body: Body, *, step: str = "") -> Event:
        """Deliver the body as an event with the next number and the current time."""
        self._published += 1
        number = self._published
        level, parent = self._hierarchy.place(number, step, body)
        event = Event(
            run_id=self.run_id, number=number, at=datetime.now(UTC), step=step, level=level, parent=parent, body=body
        )
        for wanted, subscriber in tuple(self._subscribers):
            if wanted in (ALL, body.type):
                await subscriber(event)
        return event
