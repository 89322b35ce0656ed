"""The message bus of a run. It numbers events, sets their time, level and parent, and delivers them to subscribers.

The levels of the hierarchy are supervisor, planner, workers and tools.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from multi_agent.values.events import (
    ApprovalDecided,
    ApprovalRequested,
    Body,
    Event,
    Level,
    PlanMade,
    PlanRejected,
    PlanRevised,
    RevisionDeclined,
    RunResumed,
    RunStarted,
    StepStarted,
    ToolCalled,
    ToolReturned,
)

LEVELS: tuple[Level, ...] = ("supervisor", "planner", "worker", "tool")
"""From top to bottom."""
_BEGIN = RunStarted | RunResumed
_TOOL = ToolCalled | ToolReturned | ApprovalRequested | ApprovalDecided


def is_within(event: Event, level: Level | None) -> bool:
    """Return whether the event is on this level or above it. Events of older runs have no level and always are."""
    return level is None or event.level is None or LEVELS.index(event.level) <= LEVELS.index(level)


class Hierarchy:
    """Gives each event of a run its level and its parent, in order.

    The run's first event is the root. A step belongs to the event of its plan, the events of an agent to the start of
    its step, and approval and result of a tool to its call.
    """

    def __init__(self) -> None:
        self._root = self._plan = 0
        self._steps: dict[tuple[str, str], int] = {}
        self._calls: dict[str, int] = {}

    def place(self, step: str, body: Body) -> tuple[Level, int]:
        """Return the level of the event and the number of its parent, 0 for the root."""
        return _level(step, body), 0 if isinstance(body, _BEGIN) else self._parent(step, body)

    def add(self, number: int, step: str, body: Body) -> None:
        """Remember the number of an event. Later events may have it as their parent."""
        if isinstance(body, _BEGIN):
            self._root = self._plan = number
            self._steps, self._calls = {}, {}  # a resumed run starts again from the beginning
        elif isinstance(body, PlanMade | PlanRevised):
            self._plan = number
        elif isinstance(body, StepStarted):
            self._steps[step, body.agent] = self._steps[step, ""] = number
        elif isinstance(body, ToolCalled):
            self._calls[_call(body)] = number

    def _parent(self, step: str, body: Body) -> int:
        if not step:
            return self._root
        if isinstance(body, StepStarted):
            return self._plan
        if isinstance(body, _TOOL) and (called := self._calls.get(_call(body))):
            return called
        agent = getattr(body, "agent", "") or getattr(body, "caller", "")
        return self._steps.get((step, agent)) or self._steps.get((step, ""), self._plan)


def _level(step: str, body: Body) -> Level:
    if isinstance(body, _TOOL):
        return "tool"
    if step:
        return "worker"
    planned = isinstance(body, PlanMade) and body.plan.mode == "high"
    if planned or isinstance(body, PlanRejected | PlanRevised | RevisionDeclined):
        return "planner"
    return "planner" if getattr(body, "caller", "") == "Planner" else "supervisor"


def _call(body: ToolCalled | ToolReturned | ApprovalRequested | ApprovalDecided) -> str:
    """Return the end of the id of the call's approval, which each of the events contains."""
    if isinstance(body, ToolCalled | ToolReturned):
        return f"{body.key[:12]}-{body.occurrence}"
    return body.approval_id.partition("-")[2]


Subscriber = Callable[[Event], Awaitable[None]]
Publish = Callable[[Body], Awaitable[object]]
ALL = "*"


class MessageBus:
    """Delivers events in order, one subscriber after the other. Errors of subscribers are raised to the publisher.

    ``record`` stores each event before the subscribers get it. If it raises an error, the event gets no number.

    bus = MessageBus("run_1")
    bus.subscribe("plan_made", show_plan)
    await bus.publish(PlanMade(…))
    """

    def __init__(self, run_id: str, record: Callable[[Event], object] = lambda _: None, *, after: int = 0) -> None:
        """Number events from ``after`` + 1: the last event of a resumed run."""
        self.run_id, self._record, self._published = run_id, record, after
        self._hierarchy = Hierarchy()
        self._subscribers: list[tuple[str, Subscriber]] = []

    def subscribe(self, event_type: str, subscriber: Subscriber) -> None:
        """Call ``subscriber`` for events of this type, or for every event with ``ALL``."""
        self._subscribers.append((event_type, subscriber))

    async def publish(self, body: Body, *, step: str = "") -> Event:
        """Deliver the body as an event with the next number and the current time."""
        number = self._published + 1
        level, parent = self._hierarchy.place(step, body)
        event = Event(
            run_id=self.run_id, number=number, at=datetime.now(UTC), step=step, level=level, parent=parent, body=body
        )
        self._record(event)
        self._published = number
        self._hierarchy.add(number, step, body)
        for wanted, subscriber in tuple(self._subscribers):
            if wanted in (ALL, body.type):
                await subscriber(event)
        return event
