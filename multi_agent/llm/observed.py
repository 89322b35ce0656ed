"""Making model calls visible: a wrapper that publishes every call, and a subscriber that adds up what they cost."""

from __future__ import annotations

from collections.abc import Sequence

from multi_agent.bus import Publish
from multi_agent.errors import LLMError
from multi_agent.events import Event, ModelCalled, ModelFailed
from multi_agent.llm.llm import LLM, Completion, Hear, Message, ResponseT, Usage


class ObservedLLM:
    """Publishes an event for every call that ends, well or badly, under the name of its caller."""

    def __init__(self, inner: LLM, caller: str, publish: Publish) -> None:
        self._inner, self._caller, self._publish = inner, caller, publish

    @property
    def model(self) -> str:
        return self._inner.model

    async def complete(
        self,
        messages: Sequence[Message],
        response_model: type[ResponseT],
        *,
        varied: bool = False,
        hear: Hear | None = None,
    ) -> Completion[ResponseT]:
        try:
            completion = await self._inner.complete(messages, response_model, varied=varied, hear=hear)
        except LLMError as error:
            failed = ModelFailed(
                caller=self._caller,
                model=self.model,
                error_type=type(error).__name__,
                error=str(error),
                usage=error.usage,
                faults=tuple(exchange.fault for exchange in error.exchanges),
            )
            await self._publish(failed)
            raise
        await self._publish(
            ModelCalled(
                caller=self._caller,
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
    """Adds up the usage of a run's model calls. One that a repeated step had from the journal counts once."""

    def __init__(self) -> None:
        self.usage = Usage()
        self._counted: set[tuple[str, int]] = set()

    async def listen(self, event: Event) -> None:
        """Subscribe this to a run's bus."""
        self.count(event)

    def count(self, event: Event) -> None:
        """Take an event into account, as one that was stored before."""
        if isinstance(event.body, ModelFailed) or (isinstance(event.body, ModelCalled) and self._is_new(event.body)):
            self.usage += event.body.usage

    def _is_new(self, call: ModelCalled) -> bool:
        entry = (call.key, call.occurrence)
        known = entry in self._counted
        if call.key:  # without a journal, no two calls are the same
            self._counted.add(entry)
        return not known
