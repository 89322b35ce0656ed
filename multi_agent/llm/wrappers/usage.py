"""The usage of model calls: the budget of a run, the usage and the faults in its events, and estimates of durations."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import BudgetReached, InvalidResponse, LLMError
from multi_agent.model import Usage
from multi_agent.settings.research import Budget
from multi_agent.values.events import Body, Event, ModelAsked, ModelCalled, ModelFailed, ResponseRepaired, RunResumed

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


class ResponseFaults(FrozenModel):
    """The number of faults in the model's responses of a run."""

    repairs: int = Field(default=0, description="repairs of responses")
    rejected: int = Field(
        default=0, description="responses that did not match their schema, repeated themselves or ended early"
    )
    failed: int = Field(default=0, description="model calls that ended without a valid response")

    def __add__(self, other: "ResponseFaults") -> "ResponseFaults":
        ours, theirs = dict(self), dict(other)
        return ResponseFaults(**{name: ours[name] + theirs[name] for name in ours})


def count_faults(events: Iterable[Event]) -> ResponseFaults:
    """Return the faults in the events of one run.

    A resumed run starts again from the beginning and publishes the faults of journaled calls again, so only events
    after the last resumption count.
    """
    counted = ResponseFaults()
    for event in events:
        match event.body:
            case RunResumed():
                counted = ResponseFaults()
            case ResponseRepaired(repairs=repairs):
                counted += ResponseFaults(repairs=len(repairs))
            case ModelCalled(faults=faults):
                counted += ResponseFaults(rejected=len(faults))
            case ModelFailed(faults=faults, error_type=error):
                rejected = len([fault for fault in faults if fault])
                counted += ResponseFaults(rejected=rejected, failed=int(error == InvalidResponse.__name__))
    return counted


class Meter:
    """Adds up the usage of a run's model calls. A call that a repeated step gets from the journal counts once."""

    def __init__(self) -> None:
        self.usage = Usage()
        self._counted: set[tuple[str, int]] = set()

    async def listen(self, event: Event) -> None:
        """Count an event of the run. Subscribe this method to its bus."""
        self.count(event)

    def count(self, event: Event) -> None:
        """Count an event, for example one from storage."""
        if isinstance(event.body, ModelFailed) or (isinstance(event.body, ModelCalled) and self._is_new(event.body)):
            self.usage += event.body.usage

    def _is_new(self, call: ModelCalled) -> bool:
        entry = (call.key, call.occurrence)
        known = entry in self._counted
        if call.key:  # without a journal, every call is new
            self._counted.add(entry)
        return not known


_WEIGHT = 0.3  # weight of a call in an average, relative to all earlier calls
_COMPLETION_WEIGHT = 20
"""Prompt tokens that take as long as one completion token. Measured endpoints have values from 5 to 40.

A wrong value affects only calls that differ from all earlier calls of their caller.
"""


@dataclass
class _Average:
    """Exponential averages over calls."""

    completion_tokens: float
    tokens_per_second: float
    seconds_per_weight: float

    def add(self, call: "_Average") -> None:
        self.completion_tokens += _WEIGHT * (call.completion_tokens - self.completion_tokens)
        self.tokens_per_second += _WEIGHT * (call.tokens_per_second - self.tokens_per_second)
        self.seconds_per_weight += _WEIGHT * (call.seconds_per_weight - self.seconds_per_weight)


class Pace:
    """Estimates the duration of the next call from earlier calls, by model and caller.

    For the first call of a caller, it uses the average of all callers of the model. Create one per process, with events
    of earlier runs, and subscribe ``listen`` to the bus of each run.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._asked: dict[tuple[str, str], int] = {}
        self._averages: dict[tuple[str, str], _Average] = {}
        for event in events:
            self._count(event.body)

    async def listen(self, event: Event) -> None:
        """Count an event of a run. Subscribe this method to its bus."""
        self._count(event.body)

    def expect(self, model: str, caller: str, prompt_tokens: int) -> ModelAsked:
        """Return the event for a call that is about to be made. ``prompt_tokens`` is an estimate."""
        asked = ModelAsked(caller=caller, model=model, prompt_tokens=prompt_tokens)
        average = self._averages.get((model, caller)) or self._averages.get((model, ""))
        if average is None:
            return asked
        seconds = average.seconds_per_weight * _weight(prompt_tokens, average.completion_tokens)
        return asked.model_copy(
            update={"expected_seconds": round(seconds, 1), "tokens_per_second": round(average.tokens_per_second, 1)}
        )

    def _count(self, body: Body) -> None:
        if isinstance(body, ModelAsked):
            self._asked[body.model, body.caller] = body.prompt_tokens
        elif isinstance(body, ModelCalled) and not body.replayed and body.usage.seconds > 0:
            self._add(body)

    def _add(self, called: ModelCalled) -> None:
        usage, requests = called.usage, max(1, called.usage.model_calls)
        # Uses the estimated tokens of the prompt if they are known, because later prompts are also estimated.
        prompt = self._asked.get((called.model, called.caller), usage.prompt_tokens / requests)
        completion, seconds = usage.completion_tokens / requests, usage.seconds / requests
        call = _Average(completion, completion / seconds, seconds / max(1, _weight(prompt, completion)))
        for key in ((called.model, called.caller), (called.model, "")):
            if key in self._averages:
                self._averages[key].add(call)
            else:
                self._averages[key] = _Average(**vars(call))


def _weight(prompt_tokens: float, completion_tokens: float) -> float:
    """Return the work of a call in prompt tokens."""
    return prompt_tokens + _COMPLETION_WEIGHT * completion_tokens
