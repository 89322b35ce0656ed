"""The bus numbers the events of a run without a gap."""

from __future__ import annotations

import pytest

from multi_agent.values.bus import ALL, MessageBus
from multi_agent.values.events import Event, StepFinished, StepStarted


async def test_an_event_that_cannot_be_stored_takes_no_number() -> None:
    """On a full disk, an event was lost and the next one stored. Such a run cannot be resumed: it counts its events."""
    stored, heard, full = list[Event](), list[Event](), False

    def record(event: Event) -> None:
        if full:
            raise OSError("No space left on device")
        stored.append(event)

    async def hear(event: Event) -> None:
        heard.append(event)

    bus = MessageBus("run_1", record, after=4)
    bus.subscribe(ALL, hear)
    await bus.publish(StepStarted(agent="Reader", instruction="Do it.", reads=()), step="read")
    full = True
    with pytest.raises(OSError, match="No space"):
        await bus.publish(StepStarted(agent="Extractor", instruction="Do it.", reads=()), step="extract")
    full = False
    await bus.publish(StepFinished(agent="Extractor", wrote={}, seconds=1), step="extract")
    await bus.publish(StepFinished(agent="Reader", wrote={}, seconds=1), step="read")
    assert [(each.number, each.step, each.parent) for each in stored] == [
        (5, "read", 0),
        (6, "extract", 0),
        (7, "read", 5),
    ]
    assert heard == stored, "nobody hears of an event that is not stored"
