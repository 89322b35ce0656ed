"""The models of one run: every call of an agent, or of a part of the supervisor, passes through ``RunLLM``.

1. ``answer`` labels the request with its caller, and publishes how the call ended, also if the journal answered it.
2. ``_recorded_or_sent`` numbers the request among the equal ones of the run, and answers it from the journal.
3. ``_send`` checks the budget, which answers from the journal do not use,
4. publishes the expected duration,
5. and calls the model. ``_recorded_or_sent`` then records its response.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from multi_agent.errors import LLMError
from multi_agent.llm.wrappers.journal import Journal, Occurrences, RecordedJournal, completion_of, entry_of, request_key
from multi_agent.llm.wrappers.requests import estimate_prompt
from multi_agent.llm.wrappers.usage import BudgetUsage, Pace
from multi_agent.model import LLM, Completion, LLMRequest, LLMWrapper, ResponseT, Usage
from multi_agent.settings.research import Budget
from multi_agent.values.bus import Publish
from multi_agent.values.events import Body, ModelCalled, ModelFailed, ResponseRepaired


@dataclass(frozen=True)
class RunCalls:
    """What the model calls of a run share. ``pace`` estimates their duration from earlier calls of the process."""

    journal: Journal = field(default_factory=RecordedJournal)
    budget: Budget = field(default_factory=Budget)
    spent: BudgetUsage = field(default_factory=BudgetUsage)
    pace: Pace = field(default_factory=Pace)
    occurrences: Occurrences = field(default_factory=Occurrences)


async def _unheard(_: Body) -> None:
    """Publish nothing."""


class RunLLM(LLMWrapper):
    """The model of one caller in a run, or of one step of an agent. ``varied`` makes every request a sample.

    A failed request frees its number, so the same request gets the same number when it is made again. Call ``release``
    before a whole step is repeated. Then the journal answers the requests that its first attempt completed.
    """

    def __init__(
        self, model: LLM, calls: RunCalls, caller: str = "", publish: Publish = _unheard, *, varied: bool = False
    ) -> None:
        super().__init__(model)
        self._calls, self._caller, self._publish, self._varied = calls, caller, publish, varied
        self._claimed: set[tuple[str, int]] = set()
        self.usage = Usage()
        """The usage of its calls, including failed ones and those that the journal answered."""

    def release(self) -> None:
        """Free the numbers of all requests made through this LLM. None of them may be in progress."""
        for key, occurrence in self._claimed:
            self._calls.occurrences.free(key, occurrence)
        self._claimed.clear()

    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        request = replace(request, caller=self._caller, varied=self._varied or request.varied)
        key = request_key(self.model, request.messages, request.response_model, varied=request.varied)
        try:
            completion = await self._recorded_or_sent(request, key)
        except LLMError as error:
            self.usage += error.usage
            await self._publish(_failure(error, request, self.model, key))
            raise
        self.usage += completion.usage
        if repairs := tuple(repair for exchange in completion.exchanges for repair in exchange.repairs):
            await self._publish(ResponseRepaired(caller=request.caller, repairs=repairs))
        await self._publish(_success(completion, request))
        return completion

    async def _recorded_or_sent(self, request: LLMRequest[ResponseT], key: str) -> Completion[ResponseT]:
        occurrence = self._calls.occurrences.claim(key)
        self._claimed.add((key, occurrence))
        if recorded := self._calls.journal.find(key, occurrence):
            return completion_of(recorded, request.response_model)
        try:
            completion = await self._send(request, key)
        except BaseException:  # a cancelled request is unanswered, too
            self._free(key, occurrence)
            raise
        completion = completion.model_copy(update={"key": key, "occurrence": occurrence})
        self._calls.journal.record(entry_of(completion, request))
        return completion

    async def _send(self, request: LLMRequest[ResponseT], key: str) -> Completion[ResponseT]:
        calls, prompt_tokens = self._calls, estimate_prompt(request.messages)
        expected = Usage(model_calls=1, prompt_tokens=prompt_tokens)
        calls.spent.require(expected, calls.budget)
        with calls.spent.reserve(expected):
            asked = calls.pace.expect(self.model, request.caller, prompt_tokens)
            await self._publish(asked.model_copy(update={"key": key}))
            completion = await self._inner.answer(request)
        calls.spent.usage += completion.usage
        return completion

    def _free(self, key: str, occurrence: int) -> None:
        if (key, occurrence) in self._claimed:  # after ``release``, another caller may have claimed it
            self._claimed.discard((key, occurrence))
            self._calls.occurrences.free(key, occurrence)


def _failure(error: LLMError, request: LLMRequest[ResponseT], model: str, key: str) -> ModelFailed:
    return ModelFailed(
        caller=request.caller,
        model=model,
        error_type=type(error).__name__,
        error=str(error),
        usage=error.usage,
        faults=tuple(exchange.fault for exchange in error.exchanges),
        key=key,
    )


def _success(completion: Completion[ResponseT], request: LLMRequest[ResponseT]) -> ModelCalled:
    return ModelCalled(
        caller=request.caller,
        model=completion.model,
        key=completion.key,
        occurrence=completion.occurrence,
        replayed=completion.replayed,
        usage=completion.usage,
        faults=tuple(exchange.fault for exchange in completion.exchanges if exchange.fault),
        finish_reason=completion.exchanges[-1].finish_reason,
        response_model=completion.exchanges[-1].model,
    )
