"""The judge of an evaluation, and what it spends: of the evaluation's budget, and not of what the answers took."""

from __future__ import annotations

from multi_agent.errors import LLMError
from multi_agent.llm.llm import LLM, Completion, LLMRequest, LLMWrapper, ResponseT, Usage


class CountedJudge(LLMWrapper):
    """An LLM that counts what its calls took, those that failed, too.

    What a journal answers counts as well: it was paid for the same row, before the evaluation was killed.
    """

    def __init__(self, inner: LLM) -> None:
        super().__init__(inner)
        self.usage = Usage()

    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        try:
            completion = await super().answer(request)
        except LLMError as error:
            self.usage += error.usage
            raise
        self.usage += completion.usage
        return completion
