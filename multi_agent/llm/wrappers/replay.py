"""A language model that replays the recorded responses of one run.

A call matches a recorded response by its caller and its response type, in the order of the recording. The prompt may
differ, so a changed prompt or a new agent does not break a replay. ``drifted`` lists the calls whose prompts differ
from the recorded ones. When a run is resumed, ``RunLLM`` matches exact requests instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import RecordingMissing
from multi_agent.llm.wrappers.journal import CLAIM_CHECK, JournalEntry, completion_of, request_key
from multi_agent.model import LLM, Completion, LLMRequest, Message, ResponseT

_EXCERPT = 120


class DriftedCall(FrozenModel):
    """A replayed call with a prompt or response schema that differs from the recorded one."""

    caller: str
    response_model: str = Field(description="name of the response type")
    recorded_key: str = Field(description="hash of the recorded request")
    key: str = Field(description="hash of the request that was made")


class ReplayingLLM(LLM):
    """An LLM that answers with the recorded responses of one run. Each response is used once."""

    def __init__(self, entries: Iterable[JournalEntry], model: str) -> None:
        self._remaining = list(entries)
        self._model = model
        self._had_pictures = any(message.pictures for entry in self._remaining for message in entry.messages)
        self._checked_claims = any(entry.response_model == CLAIM_CHECK for entry in self._remaining)
        self.drifted: list[DriftedCall] = []

    @property
    def model(self) -> str:
        return self._model

    async def takes_pictures(self) -> bool:
        """Return whether the recorded requests contain pictures, so that the replayed run sends the same requests."""
        return self._had_pictures

    def checks_claims(self) -> bool:
        """Return whether the model of the recorded run checked claims."""
        return self._checked_claims

    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        """Return the matching response. Raises RecordingMissing if there is none, or if it is no longer valid."""
        key = request_key(self.model, request.messages, request.response_model, varied=request.varied)
        entry = self._find(request, key)
        completion = completion_of(entry, request.response_model)
        self._remaining.remove(entry)
        if entry.key != key:
            self.drifted.append(
                DriftedCall(caller=request.caller, response_model=entry.response_model, recorded_key=entry.key, key=key)
            )
        return completion

    def _find(self, request: LLMRequest[ResponseT], key: str) -> JournalEntry:
        """Return the response with the same key, otherwise the first one with the most similar prompt.

        Parallel calls of a caller are recorded in the order of their responses, so only the prompt distinguishes them.
        """
        response_model = request.response_model.__name__
        candidates = [
            entry
            for entry in self._remaining
            if (entry.caller, entry.response_model) == (request.caller, response_model)
        ]
        if not candidates:
            raise self._missing(request)
        exact = next((entry for entry in candidates if entry.key == key), None)
        return exact or max(candidates, key=lambda entry: _common_lines(entry.messages, request.messages))

    def _missing(self, request: LLMRequest[ResponseT]) -> RecordingMissing:
        prompt = " ".join(request.messages[-1].content.split())[:_EXCERPT] if request.messages else ""
        return RecordingMissing(
            f"The recording has no response left for {request.caller or 'this caller'} of the type "
            f"{request.response_model.__name__}, with the prompt {prompt!r}. The run differs from the recorded run. "
            "Record it again with a live model."
        )


def _common_lines(messages: Sequence[Message], others: Sequence[Message]) -> int:
    return len(_lines(messages) & _lines(others))


def _lines(messages: Sequence[Message]) -> set[str]:
    return {line for message in messages for line in message.content.splitlines()}
