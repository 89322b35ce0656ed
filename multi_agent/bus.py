"""The message bus of a run: stamps what is published and hands it to whoever subscribed to its type."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from multi_agent.events import Body, Event

Subscriber = Callable[[Event], Awaitable[None]]
Publish = Callable[[Body], Awaitable[object]]
ALL = "*"


class MessageBus:
    """Delivers events in order, to each subscriber one at a time; a subscriber's error is the publisher's error.

    bus = MessageBus("run_1")
    bus.subscribe("plan_made", show_plan)
    await bus.publish(PlanMade(…))
    """

    def __init__(self, run_id: str, *, after: int = 0) -> None:
        """``after`` is the number of the run's last event, if another process had the run before."""
        self.run_id = run_id
        self._published = after
        self._subscribers: list[tuple[str, Subscriber]] = []

    def subscribe(self, event_type: str, subscriber: Subscriber) -> None:
        """Call ``subscriber`` for events whose body has this ``type``; ``ALL`` for every event."""
        self._subscribers.append((event_type, subscriber))

    async def publish(self, body: Body, *, step: str = "") -> Event:
        """Stamp the body with the next number and the time, and deliver it."""
        self._published += 1
        event = Event(run_id=self.run_id, number=self._published, at=datetime.now(UTC), step=step, body=body)
        for wanted, subscriber in tuple(self._subscribers):
            if wanted in (ALL, body.type):
                await subscriber(event)
        return event
