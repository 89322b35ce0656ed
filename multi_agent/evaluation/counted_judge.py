"""The judge of an evaluation, and what it spends: of the evaluation's budget, and not of what the answers took."""

from __future__ import annotations

from collections.abc import Sequence

from multi_agent.errors import LLMError
from multi_agent.llm.llm import LLM, Completion, Hear, Message, ResponseT, Usage


class CountedJudge:
    """An LLM that counts what its calls took, those that failed, too.

    What a journal answers counts as well: it was paid for the same row, before the evaluation was killed.
    """

    def __init__(self, inner: LLM) -> None:
        self._inner = inner
        self.usage = Usage()

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
            self.usage += error.usage
            raise
        self.usage += completion.usage
        return completion
