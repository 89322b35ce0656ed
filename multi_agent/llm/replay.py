"""A language model that answers from a recording only."""

from __future__ import annotations

from collections.abc import Sequence

from multi_agent.errors import RecordingMissing
from multi_agent.llm.journal import Journal, JournalingLLM, request_key
from multi_agent.llm.llm import Completion, Hear, Message, ResponseT

_FIRST_WORDS = 120


class ReplayingLLM:
    """Gives the recorded responses of one model, and nothing else. One per run, like the journaling it is made of."""

    def __init__(self, recording: Journal, model: str) -> None:
        self._answers = JournalingLLM(_Nothing(model), recording)

    @property
    def model(self) -> str:
        return self._answers.model

    async def complete(
        self,
        messages: Sequence[Message],
        response_model: type[ResponseT],
        *,
        varied: bool = False,
        hear: Hear | None = None,
    ) -> Completion[ResponseT]:
        return await self._answers.complete(messages, response_model, varied=varied, hear=hear)


class _Nothing:
    """What a replay asks when its recording has no answer."""

    def __init__(self, model: str) -> None:
        self.model = model

    async def complete(
        self,
        messages: Sequence[Message],
        response_model: type[ResponseT],
        *,
        varied: bool = False,
        hear: Hear | None = None,
    ) -> Completion[ResponseT]:
        key = request_key(self.model, messages, response_model, varied=varied)
        asked = " ".join(messages[-1].content.split())[:_FIRST_WORDS] if messages else ""
        raise RecordingMissing(
            f"The recording has no response of model {self.model!r} to this request for a {response_model.__name__}: "
            f"{asked!r} (key {key[:12]}). A prompt, a response type, the "
            "documents or the question changed since it was made: record it anew, or ask a live model."
        )
