"""Makes model calls observable: a wrapper that publishes an event for every call, and a meter of their usage."""

from __future__ import annotations

from multi_agent.bus import Publish
from multi_agent.errors import LLMError
from multi_agent.events import Event, ModelCalled, ModelFailed
from multi_agent.llm.llm import LLM, Completion, LLMRequest, LLMWrapper, ResponseT, Usage


class ObservedLLM(LLMWrapper):
    """An LLM that publishes an event for every call that succeeds or fails."""

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
                )
            )
            raise
        await self._publish(
            ModelCalled(
                caller=request.caller,
                model=completion.model,
                key=completion.key,
                occurrence=completion.occurrence,
                replayed=completion.replayed,
                usage=completion.usage,
                faults=tuple(exchange.fault for exchange in completion.exchanges if exchange.fault),
            )
        )
        return completion


class Meter:
    """Adds up the usage of a run's model calls. A call that a repeated step gets from the journal counts once."""

    def __init__(self) -> None:
        self.usage = Usage()
        self._counted: set[tuple[str, int]] = set()

    async def listen(self, event: Event) -> None:
        """Count an event from a message bus."""
        self.count(event)

    def count(self, event: Event) -> None:
        """Count an event, for example one from storage."""
        if isinstance(event.body, ModelFailed) or (isinstance(event.body, ModelCalled) and self._is_new(event.body)):
            self.usage += event.body.usage

    def _is_new(self, call: ModelCalled) -> bool:
        entry = (call.key, call.occurrence)
        known = entry in self._counted
        if call.key:  # without a journal, every call is a new one
            self._counted.add(entry)
        return not known
