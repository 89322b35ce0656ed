"""Wrappers that publish events for model calls, a meter of their usage, and a count of faults."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import InvalidResponse, LLMError
from multi_agent.llm.context_window import estimate_prompt
from multi_agent.llm.wrappers.journal import request_key
from multi_agent.llm.wrappers.pace import Pace
from multi_agent.model import LLM, Completion, LLMRequest, LLMWrapper, ResponseT, Usage
from multi_agent.values.bus import Publish
from multi_agent.values.events import Event, ModelCalled, ModelFailed, ResponseRepaired, RunResumed


class ObservedLLM(LLMWrapper):
    """An LLM that publishes an event for every call that succeeds or fails, preceded by an event for repairs."""

    def __init__(self, inner: LLM, publish: Publish) -> None:
        super().__init__(inner)
        self._publish = publish

    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        try:
            completion = await super().answer(request)
        except LLMError as error:
            await self._publish(
                ModelFailed(
                    caller=request.caller,
                    model=self.model,
                    error_type=type(error).__name__,
                    error=str(error),
                    usage=error.usage,
                    faults=tuple(exchange.fault for exchange in error.exchanges),
                    key=request_key(self.model, request.messages, request.response_model, varied=request.varied),
                )
            )
            raise
        if repairs := tuple(repair for exchange in completion.exchanges for repair in exchange.repairs):
            await self._publish(ResponseRepaired(caller=request.caller, repairs=repairs))
        await self._publish(
            ModelCalled(
                caller=request.caller,
                model=completion.model,
                key=completion.key,
                occurrence=completion.occurrence,
                replayed=completion.replayed,
                usage=completion.usage,
                faults=tuple(exchange.fault for exchange in completion.exchanges if exchange.fault),
                finish_reason=completion.exchanges[-1].finish_reason,
                response_model=completion.exchanges[-1].model,
            )
        )
        return completion


class ResponseFaults(FrozenModel):
    """The number of faults in the model's responses of a run."""

    repairs: int = Field(default=0, description="repairs of responses")
    rejected: int = Field(
        default=0, description="responses that did not match their schema, repeated themselves or ended early"
    )
    failed: int = Field(default=0, description="model calls that ended without a valid response")

    def __add__(self, other: ResponseFaults) -> ResponseFaults:
        return ResponseFaults(
            repairs=self.repairs + other.repairs,
            rejected=self.rejected + other.rejected,
            failed=self.failed + other.failed,
        )


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


class AnnouncingLLM(LLMWrapper):
    """An LLM that publishes an event with the expected duration before every call."""

    def __init__(self, inner: LLM, publish: Publish, pace: Pace) -> None:
        super().__init__(inner)
        self._publish, self._pace = publish, pace

    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        expected = self._pace.expect(self.model, request.caller, estimate_prompt(request.messages))
        key = request_key(self.model, request.messages, request.response_model, varied=request.varied)
        await self._publish(expected.model_copy(update={"key": key}))
        return await super().answer(request)


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
