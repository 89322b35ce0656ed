"""Repeats a request after a fault of the transport: time-out, broken connection, 429, 5xx.

Transport faults only: an invalid response is no fault of the transport, and is asked about again in ``typed.py``.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from multi_agent.errors import LLMError, LLMRateLimited, LLMTimeout, LLMUnavailable, LLMUnreachable
from multi_agent.llm.endpoint import Endpoint, JsonSchema, Reply
from multi_agent.llm.llm import Hear, Message

_PASSING = (LLMUnavailable, LLMTimeout, LLMRateLimited)
# A second try tells a hiccup from a dead or far too slow endpoint; a third would only keep the user waiting.
_TRIED_TWICE = (LLMUnreachable, LLMTimeout)


class RetryingEndpoint:
    """An endpoint that is asked again after a passing fault, with growing pauses.

    A pause is what the endpoint asks for (``Retry-After``), otherwise ``first_pause_s`` doubled each time, with
    jitter. If the endpoint asks for more than ``longest_pause_s``, its refusal is final: a person should decide.
    """

    def __init__(
        self, inner: Endpoint, retries: int, *, first_pause_s: float = 0.5, longest_pause_s: float = 60.0
    ) -> None:
        self._inner = inner
        self._retries = retries
        self._first_pause_s = first_pause_s
        self._longest_pause_s = longest_pause_s

    async def send(
        self, messages: Sequence[Message], schema: JsonSchema, temperature: float | None, hear: Hear | None = None
    ) -> Reply:
        attempt = 0
        while True:
            try:
                return await self._inner.send(messages, schema, temperature, hear)
            except _PASSING as error:
                if not self._worth_another(error, attempt):
                    raise
                pause = self._pause(error, attempt)
            await asyncio.sleep(pause)
            attempt += 1

    def _worth_another(self, error: LLMError, attempt: int) -> bool:
        retries = min(self._retries, 1) if isinstance(error, _TRIED_TWICE) else self._retries
        return attempt < retries and (error.retry_after or 0) <= self._longest_pause_s

    def _pause(self, error: LLMError, attempt: int) -> float:
        if error.retry_after is not None:
            return error.retry_after
        grown = min(self._first_pause_s * 2.0**attempt, self._longest_pause_s)
        return grown * random.uniform(0.5, 1.0)
