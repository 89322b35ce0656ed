"""The budget that a run has used. It raises BudgetReached before a call that would exceed it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from multi_agent.errors import BudgetReached, LLMError
from multi_agent.model import Usage
from multi_agent.settings.research import Budget

BUDGET_REACHED = "The run's budget of"
"""The first words of every BudgetReached."""


class BudgetUsage:
    """The budget that a run has used over all its callers. Create one when the run starts.

    ``usage`` covers the calls that ended, including failed ones. ``reserved`` is the estimate for the calls in
    progress, with one request and the tokens of the prompt for each. A resumed run starts with its earlier usage.
    """

    def __init__(self, usage: Usage | None = None, seconds: float = 0.0) -> None:
        self.usage = usage or Usage()
        self._in_progress: list[Usage] = []
        self._started = time.monotonic() - seconds

    @property
    def reserved(self) -> Usage:
        """The estimate for the calls in progress."""
        return sum(self._in_progress, Usage())

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since the run started."""
        return time.monotonic() - self._started

    @contextmanager
    def reserve(self, expected: Usage) -> Iterator[None]:
        """Reserve ``expected`` for the duration of a call. A cancelled call was sent, so it counts as ``expected``."""
        self._in_progress.append(expected)
        try:
            yield
        except LLMError as error:
            self.usage += error.usage
            raise
        except BaseException:
            self.usage += expected
            raise
        finally:
            self._in_progress.remove(expected)

    def require(self, expected: Usage, budget: Budget) -> None:
        """Raise BudgetReached if ``expected`` exceeds the budget.

        The exact cost of a call is known only afterwards, when the tokens of its response and of retries are added. A
        run can exceed its budget by that amount.
        """
        used = self.usage + self.reserved
        total = used + expected
        if budget.model_calls is not None and total.model_calls > budget.model_calls:
            details = f"{used.model_calls} made or in progress, {budget.model_calls} allowed"
            raise _budget_reached("model calls", details, "model_calls", "--max-calls")
        if budget.tokens is not None and _tokens(total) > budget.tokens:
            details = (
                f"{_tokens(used)} used, about {expected.prompt_tokens} in the next prompt, {budget.tokens} allowed"
            )
            raise _budget_reached("tokens", details, "tokens", "--max-tokens")
        if budget.seconds is not None and self.seconds >= budget.seconds:
            details = f"{self.seconds:.1f} s since the start, {budget.seconds:g} s allowed"
            raise _budget_reached("time", details, "seconds", "--max-seconds")
        if budget.cost is not None and used.cost is not None and used.cost >= budget.cost:
            raise _budget_reached("cost", f"{used.cost:.4g} spent, {budget.cost:g} allowed", "cost", "--max-cost")


def _budget_reached(name: str, details: str, field: str, option: str) -> BudgetReached:
    return BudgetReached(
        f"{BUDGET_REACHED} {name} is reached: {details}. To continue, raise `research.budget.{field}`, or "
        f"for one question `budget.{field}` (`{option}` on the command line)."
    )


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens
