"""The usage of a run's model calls, and the faults of their responses, both from its events."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import InvalidResponse
from multi_agent.model import Usage
from multi_agent.values.events import Event, ModelCalled, ModelFailed, ResponseRepaired, RunResumed


class ResponseFaults(FrozenModel):
    """The number of faults in the model's responses of a run."""

    repairs: int = Field(default=0, description="repairs of responses")
    rejected: int = Field(
        default=0, description="responses that did not match their schema, repeated themselves or ended early"
    )
    failed: int = Field(default=0, description="model calls that ended without a valid response")

    def __add__(self, other: ResponseFaults) -> ResponseFaults:
        ours, theirs = dict(self), dict(other)
        return ResponseFaults(**{name: ours[name] + theirs[name] for name in ours})


def count_faults(events: Iterable[Event]) -> ResponseFaults:
    """Return the faults in the events of one run.

    A resumed run starts again from the beginning and publishes the faults of journaled calls again, so only events
    after the last resumption count.
    """
    counted = ResponseFaults()
    for event in events:
        match event.body:
            case RunResumed():
                counted = ResponseFaults()
            case ResponseRepaired(repairs=repairs):
                counted += ResponseFaults(repairs=len(repairs))
            case ModelCalled(faults=faults):
                counted += ResponseFaults(rejected=len(faults))
            case ModelFailed(faults=faults, error_type=error):
                rejected = len([fault for fault in faults if fault])
                counted += ResponseFaults(rejected=rejected, failed=int(error == InvalidResponse.__name__))
    return counted


class Meter:
    """Adds up the usage of a run's model calls. A call that a repeated step gets from the journal counts once."""

    def __init__(self) -> None:
        self.usage = Usage()
        self._counted: set[tuple[str, int]] = set()

    async def listen(self, event: Event) -> None:
        """Count an event of the run. Subscribe this method to its bus."""
        self.count(event)

    def count(self, event: Event) -> None:
        """Count an event, for example one from storage."""
        if isinstance(event.body, ModelFailed) or (isinstance(event.body, ModelCalled) and self._is_new(event.body)):
            self.usage += event.body.usage

    def _is_new(self, call: ModelCalled) -> bool:
        entry = (call.key, call.occurrence)
        known = entry in self._counted
        if call.key:  # without a journal, every call is new
            self._counted.add(entry)
        return not known
