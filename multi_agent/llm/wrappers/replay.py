"""Language models that replay recorded responses.

``RecordedCalls`` is the journal of a replay of an ended run, and ``RecordedLLM`` stands below it in place of each
model: recorded responses, recorded errors, and calls that never ended. Requests match exactly.

``ReplayingLLM`` matches a call by its caller and its response type, in the order of the recording. The prompt may
differ, so a changed prompt or a new agent does not break a replay. ``drifted`` lists the calls whose prompts differ
from the recorded ones.
"""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Never

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import BudgetReached, LLMError, RecordingMissing, StepError
from multi_agent.llm.wrappers.journal import CLAIM_CHECK, JournalEntry, completion_of, request_key
from multi_agent.llm.wrappers.usage import BUDGET_REACHED
from multi_agent.model import LLM, Completion, LLMRequest, Message, ModelResponse, ResponseT
from multi_agent.values.events import Event, ModelAsked, ModelCalled, ModelFailed, RunFinished, StepFailed


class RecordedCalls:
    """The model calls of a run. Implements ``Journal``."""

    def __init__(self, events: Sequence[Event], entries: Sequence[JournalEntry]) -> None:
        bodies = [event.body for event in events]
        calls = [body for body in bodies if isinstance(body, ModelCalled | ModelFailed)]
        self._entries = {(entry.key, entry.occurrence): entry for entry in entries}
        self._outcomes: dict[str, deque[ModelCalled | ModelFailed]] = defaultdict(deque)
        self._failed: dict[str, deque[ModelFailed]] = defaultdict(deque)  # of older runs, by caller
        for call in calls:
            if call.key:
                self._outcomes[call.key].append(call)
            elif isinstance(call, ModelFailed):
                self._failed[call.caller].append(call)
        asked = [body for body in bodies if isinstance(body, ModelAsked)]
        named = ((event.step, event.body) for event in events)
        self._models = {
            (body.caller, step): body.model
            for step, body in named
            if isinstance(body, ModelAsked | ModelCalled | ModelFailed)
        }
        ended = Counter(call.caller for call in calls if not (isinstance(call, ModelCalled) and call.replayed))
        self._unfinished = Counter(body.caller for body in asked) - ended
        failed = [body for body in bodies if isinstance(body, StepFailed) and body.error_type == StepError.__name__]
        self._step_errors = {body.agent: body.error.partition(" failed: ")[2] for body in failed}
        ends = [body.reason for body in bodies if isinstance(body, RunFinished)]
        self._budget = next((reason for reason in ends if reason.startswith(BUDGET_REACHED)), "")
        self.with_pictures = {entry.caller for entry in entries if any(each.pictures for each in entry.messages)}
        """The callers that sent pictures."""
        self.checking = {entry.caller for entry in entries if entry.response_model == CLAIM_CHECK}
        """The callers whose model checked claims."""
        self.unknown: list[tuple[str, LLMRequest[Any]]] = []
        """The requests that the run did not make, with the names of their models."""
        self.waiting = False
        """Whether a request waits because its recorded call was still open when the run ended."""

    def find(self, key: str, occurrence: int) -> JournalEntry | None:
        """Return the recorded response. None if the run made no such request, or if its next attempt failed."""
        outcomes = self._outcomes.get(key)
        if outcomes and isinstance(outcomes[0], ModelFailed):
            return None
        if outcomes:
            outcomes.popleft()
        return self._entries.get((key, occurrence))

    def earlier(self, key: str) -> JournalEntry | None:
        """Return None: the run has its own copies of the responses that it reused."""
        return None

    def record(self, entry: JournalEntry) -> None:
        """Raise AssertionError: ``RecordedLLM`` makes no new response."""
        raise AssertionError(f"a replay made a new response for {entry.caller!r}")

    def model_of(self, caller: str, step: str) -> str:
        """Return the name of the model that the caller used in this step. Empty if it made no call."""
        return self._models.get((caller, step), "")

    async def fail(self, model: str, request: LLMRequest[Any]) -> Never:
        """Raise the recorded error of a request. If its call never ended, wait until the run is cancelled."""
        key = request_key(model, request.messages, request.response_model, varied=request.varied)
        caller = request.caller
        known = self._outcomes.get(key) or self._failed.get(caller)
        if known and isinstance(known[0], ModelFailed):
            failed = known[0]
            known.popleft()
            raise _error_of(failed)
        if self._unfinished[caller] > 0:
            self._unfinished[caller] -= 1
            if caller in self._step_errors:  # the time limit of its step
                raise StepError(self._step_errors[caller])
            self.waiting = True
            await asyncio.Event().wait()  # until the run ends
        if self._budget:
            raise BudgetReached(self._budget)
        self.unknown.append((model, request))
        raise RecordingMissing(f"The recorded run has no response to this request of {caller or 'this caller'}.")


class RecordedLLM(LLM):
    """The model of one caller in a replay."""

    def __init__(self, calls: RecordedCalls, caller: str, model: str) -> None:
        self._calls, self._caller, self._model = calls, caller, model

    @property
    def model(self) -> str:
        return self._model

    async def takes_pictures(self) -> bool:
        """Return whether the recorded requests of the caller have pictures, so that it sends the same requests."""
        return self._caller in self._calls.with_pictures

    def checks_claims(self) -> bool:
        return self._caller in self._calls.checking

    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        """Raise the recorded error of the request. ``RunLLM`` returns recorded responses."""
        await self._calls.fail(self.model, request)


def _error_of(failed: ModelFailed) -> LLMError:
    kind = next((each for each in _kinds(LLMError) if each.__name__ == failed.error_type), LLMError)
    error = kind(failed.error)
    error.usage = failed.usage
    error.exchanges = tuple(ModelResponse(response="", fault=fault) for fault in failed.faults)
    return error


def _kinds(base: type[LLMError]) -> Iterator[type[LLMError]]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


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
        return exact or max(candidates, key=lambda entry: common_lines(entry.messages, request.messages))

    def _missing(self, request: LLMRequest[ResponseT]) -> RecordingMissing:
        prompt = " ".join(request.messages[-1].content.split())[:_EXCERPT] if request.messages else ""
        return RecordingMissing(
            f"The recording has no response left for {request.caller or 'this caller'} of the type "
            f"{request.response_model.__name__}, with the prompt {prompt!r}. The run differs from the recorded run. "
            "Record it again with a live model."
        )


def common_lines(messages: Sequence[Message], others: Sequence[Message]) -> int:
    """Return how many lines two prompts share."""
    return len(_lines(messages) & _lines(others))


def _lines(messages: Sequence[Message]) -> set[str]:
    return {line for message in messages for line in message.content.splitlines()}
