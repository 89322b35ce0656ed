"""How many tokens a key may still take today: asked before a run begins, and its budget while it runs."""

from __future__ import annotations

from datetime import UTC, datetime

from api.auth.keys import until_midnight
from api.auth.permissions import Caller, Limits
from api.bootstrap import Candor
from api.errors import LimitReached
from multi_agent.request import Request


def require_tokens(candor: Candor, caller: Caller) -> None:
    """Raises LimitReached if the caller's key has taken today's tokens."""
    left = _tokens_left(candor, caller.key, caller.limits)
    if left is not None and left <= 0:
        raise LimitReached(f"{caller.limits.tokens_per_day} tokens a day", until_midnight(datetime.now(UTC)))


def within_limits(candor: Candor, key: str, request: Request) -> Request:
    """The request with a budget of no more tokens than its key has left. Runs at once may each take what is left."""
    left = _tokens_left(candor, key, candor.keys.get(key).limits) if key else None
    if left is None:
        return request
    budget = request.budget or candor.settings.research.budget
    tokens = max(min(left, budget.tokens or left), 1)
    return request.model_copy(update={"budget": budget.model_copy(update={"tokens": tokens})})


def _tokens_left(candor: Candor, key: str, limits: Limits) -> int | None:
    """None for a key without such a limit."""
    if limits.tokens_per_day is None:
        return None
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return limits.tokens_per_day - candor.trace.tokens_since(key, midnight)
