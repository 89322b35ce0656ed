"""A language model that is always asked for one of several answers, for whoever is to answer a question repeatedly."""

from __future__ import annotations

from collections.abc import Sequence

from multi_agent.llm.llm import LLM, Completion, Hear, Message, ResponseT


class SampledLLM:
    """Hands every request on as one of several: an agent that knows nothing of samples gives different ones by it."""

    def __init__(self, inner: LLM) -> None:
        self._inner = inner

    @property
    def model(self) -> str:
        return self._inner.model

    async def complete(
        self,
        messages: Sequence[Message],
        response_model: type[ResponseT],
        *,
        varied: bool = True,
        hear: Hear | None = None,
    ) -> Completion[ResponseT]:
        del varied  # always
        return await self._inner.complete(messages, response_model, varied=True, hear=hear)
