"""Messages between agents, which are events that agents can listen to, and the entries that select them.

A card lists event types in ``listens_to``, each for all agents or for one:

    listens_to=("missing_reported", "reasoning_shared:Retriever")

An agent does not receive its own messages unless an entry names it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from base.models import FrozenModel
from multi_agent.values.context import AgentMessage
from multi_agent.values.events import Event, ReasoningShared, StepFailed
from multi_agent.values.evidence_events import ContradictionFound, EvidenceRejected, MissingReported

_CONTENTS: Mapping[type, Callable[[Any], str]] = {
    ContradictionFound: lambda body: f"possible contradiction: {' / '.join(body.sides)}",
    EvidenceRejected: lambda body: (
        f"quote {body.quote} rejected{f' for “{body.about}”' if body.about else ''}: {body.reason}"
    ),
    MissingReported: lambda body: f"missing in the passages: {'; '.join(body.missing)}",
    ReasoningShared: lambda body: body.reasoning,
    StepFailed: lambda body: f"failed: {body.error}",
}
HEARD_EVENTS = tuple(kind.model_fields["type"].default for kind in _CONTENTS)  # type: ignore[attr-defined]
"""The event types that agents can listen to."""


def _require_heard(entry: str) -> str:
    event, _, agent = entry.partition(":")
    if event not in HEARD_EVENTS or (":" in entry and not agent):
        raise ValueError(
            f"no agent can listen to {entry!r}; write one of {', '.join(HEARD_EVENTS)}, alone or with an agent, such "
            "as 'reasoning_shared:Retriever'"
        )
    return entry


Listened = Annotated[str, AfterValidator(_require_heard)]
"""An event type, optionally followed by a colon and the name of an agent."""


class Wake(FrozenModel):
    """The reason why an agent runs without a step in the plan."""

    events: tuple[Event, ...] = Field(min_length=1, description="what it heard")
    earlier: int = Field(default=0, ge=0, description="number of its earlier reactions in the same attempt")

    @property
    def is_chained(self) -> bool:
        """Whether the agent reacts to a reaction."""
        return "." in self.events[0].step


def message_of(event: Event) -> AgentMessage | None:
    """Return the event as a message for other agents, or None if no agent can listen to it."""
    content = _CONTENTS.get(type(event.body))
    if content is None:
        return None
    sender = getattr(event.body, "agent", "")
    return AgentMessage(sender=sender, step=event.step, type=event.body.type, content=content(event.body))


def hears(listens_to: Collection[str], agent: str, message: AgentMessage) -> bool:
    """Return whether ``agent`` receives the message if its card has these entries."""
    named = f"{message.type}:{message.sender}" in listens_to
    return named or (message.type in listens_to and message.sender != agent)
