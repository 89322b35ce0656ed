"""Stops a run that has spent what it may, before the call that would go beyond it.

What the journal answers costs nothing: the journaling is made over this, and the observing over the journaling:

    spent = Spent()
    run_llm = JournalingLLM(Budgeted(llm, settings.budget, spent), journal)
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from multi_agent.errors import BudgetReached, LLMError
from multi_agent.llm.context_window import estimate_tokens
from multi_agent.llm.llm import LLM, Completion, Hear, Message, ResponseT, Usage
from multi_agent.settings import Budget


class BudgetUsage:
    """What a run has spent since it began, over all its callers. Make one per run, when it begins.

    ``usage`` is of the calls that ended, however they ended; ``under_way`` is what those not yet ended are thought to
    cost: one request each, with the tokens of its prompt. A run that is resumed begins with what it had spent before.
    """

    def __init__(self, usage: Usage | None = None, seconds: float = 0.0) -> None:
        self.usage = usage or Usage()
        self.under_way = Usage()
        self._began = time.monotonic() - seconds

    @property
    def seconds(self) -> float:
        """Time since the run began, whatever it was spent on."""
        return time.monotonic() - self._began

    @contextmanager
    def reserving(self, expected: Usage) -> Iterator[None]:
        """Count ``expected`` as under way. A call that is cancelled was sent all the same, and counts as expected."""
        self.under_way += expected
        try:
            yield
        except LLMError as error:
            self.usage += error.usage
            raise
        except BaseException:
            self.usage += expected
            raise
        finally:
            self.under_way = _less(self.under_way, expected)


class BudgetedLLM:
    """An LLM that refuses with BudgetReached what is over the budget.

    What a call will cost is known for sure only afterwards: its response, and asking again for an invalid one, are
    counted then. A run can go beyond a budget by that much, and no further.
    """

    def __init__(self, inner: LLM, budget: Budget, spent: BudgetUsage) -> None:
        self._inner, self._budget, self._spent = inner, budget, spent

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
        expected = Usage(model_calls=1, prompt_tokens=sum(estimate_tokens(message.content) for message in messages))
        self._require_room(expected)
        with self._spent.reserving(expected):
            completion = await self._inner.complete(messages, response_model, varied=varied, hear=hear)
        self._spent.usage += completion.usage
        return completion

    def _require_room(self, expected: Usage) -> None:
        budget, spent = self._budget, self._spent
        so_far = spent.usage + spent.under_way
        with_this = so_far + expected
        if budget.model_calls is not None and with_this.model_calls > budget.model_calls:
            said = f"{so_far.model_calls} made or under way, {budget.model_calls} allowed"
            raise _reached("model calls", said, "model_calls", "--max-calls")
        if budget.tokens is not None and _tokens(with_this) > budget.tokens:
            said = f"{_tokens(so_far)} used, about {expected.prompt_tokens} in the next prompt, {budget.tokens} allowed"
            raise _reached("tokens", said, "tokens", "--max-tokens")
        if budget.seconds is not None and spent.seconds >= budget.seconds:
            raise _reached(
                "time",
                f"{spent.seconds:.1f} s since it began, {budget.seconds:g} s allowed",
                "seconds",
                "--max-seconds",
            )
        if budget.cost is not None and so_far.cost >= budget.cost:
            raise _reached("cost", f"{so_far.cost:.4g} spent, {budget.cost:g} allowed", "cost", "--max-cost")


def _reached(what: str, said: str, field: str, option: str) -> BudgetReached:
    return BudgetReached(
        f"The run's budget of {what} is reached: {said}. To let it go on, raise `research.budget.{field}` (`{option}`)."
    )


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens


def _less(usage: Usage, part: Usage) -> Usage:
    return Usage(
        model_calls=usage.model_calls - part.model_calls, prompt_tokens=usage.prompt_tokens - part.prompt_tokens
    )
