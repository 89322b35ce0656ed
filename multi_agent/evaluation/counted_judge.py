"""Counts the usage of the judge. It is charged to the evaluation's budget, not to the answers."""

from __future__ import annotations

from multi_agent.errors import LLMError
from multi_agent.model import LLM, Completion, LLMRequest, LLMWrapper, ResponseT, Usage


class CountedJudge(LLMWrapper):
    """An LLM that adds up the usage of its calls, including failed ones.

    Calls that a journal answers count, too: they were paid for the same row before the evaluation was interrupted.
    """

    def __init__(self, inner: LLM) -> None:
        super().__init__(inner)
        self.usage = Usage()

    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        try:
            completion = await self._inner.answer(request)
        except LLMError as error:
            self.usage += error.usage
            raise
        self.usage += completion.usage
        return completion
