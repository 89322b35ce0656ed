"""Limits of API keys: tokens a day, and questions a minute of an address.

The limit of tokens is checked before a run starts, and limits the budget of the run.
"""

import time
from datetime import UTC, datetime
from threading import Lock

from api.auth.keys import until_midnight
from api.auth.permissions import Caller, Limits
from api.auth.sessions import network_of
from api.errors import LimitReached, TooManyQuestions
from multi_agent.settings.research import Budget
from multi_agent.storage.trace import Trace
from multi_agent.values.request import Request

_MINUTE_S = 60


class QuestionRate:
    """Limits the questions a minute of each address and key. Counts those of this process."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._asked: list[tuple[float, str, str]] = []
        self._lock = Lock()

    def count(self, key: str, address: str) -> None:
        """Count a question. Raises TooManyQuestions; then it is not counted."""
        now, network = time.monotonic(), network_of(address)
        with self._lock:
            self._asked = [each for each in self._asked if each[0] > now - _MINUTE_S]
            own = [at for at, *who in self._asked if who == [key, network]]
            if len(own) >= self._most:
                raise TooManyQuestions(self._most, int(own[0] + _MINUTE_S - now) + 1)
            self._asked.append((now, key, network))


def require_tokens(trace: Trace, caller: Caller) -> None:
    """Raise LimitReached if the caller's key has used up today's tokens."""
    if not has_tokens(trace, caller.key, caller.limits):
        raise LimitReached(f"{caller.limits.tokens_per_day} tokens a day", until_midnight(datetime.now(UTC)))


def has_tokens(trace: Trace, key: str, limits: Limits) -> bool:
    """Return whether the key has tokens left today."""
    left = _tokens_left(trace, key, limits)
    return left is None or left > 0


def limit_budget(trace: Trace, key: str, limits: Limits, request: Request, default: Budget) -> Request:
    """Return the request with a budget of at most the tokens that the key has left today.

    ``default`` is the budget of requests that set none. Concurrent runs may each use all remaining tokens.
    """
    left = _tokens_left(trace, key, limits)
    if left is None:
        return request
    budget = request.budget or default
    tokens = max(min(left, budget.tokens or left), 1)
    return request.model_copy(update={"budget": budget.model_copy(update={"tokens": tokens})})


def _tokens_left(trace: Trace, key: str, limits: Limits) -> int | None:
    """Return the number of tokens left today, or None for a key without a token limit."""
    if limits.tokens_per_day is None:
        return None
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return limits.tokens_per_day - trace.tokens_since(key, midnight)
