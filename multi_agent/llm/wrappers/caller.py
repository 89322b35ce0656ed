"""Labels the requests of one caller."""

from __future__ import annotations

from dataclasses import replace

from multi_agent.model import LLM, Completion, LLMRequest, LLMWrapper, ResponseT


class CallerLLM(LLMWrapper):
    """An LLM that sets the caller of every request. With ``varied``, every request asks for one of several samples."""

    def __init__(self, inner: LLM, caller: str, *, varied: bool = False) -> None:
        super().__init__(inner)
        self._caller, self._varied = caller, varied

    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        varied = self._varied or request.varied
        return await super().answer(replace(request, caller=self._caller, varied=varied))
