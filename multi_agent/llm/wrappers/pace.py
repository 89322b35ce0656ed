"""Estimates the duration of model calls from the durations of earlier calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from multi_agent.values.events import Body, Event, ModelAsked, ModelCalled

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

    def add(self, call: _Average) -> None:
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
