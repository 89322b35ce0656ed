"""Retries requests after transport errors (timeout, broken connection, 429, 5xx).

``typed.py`` retries invalid responses.
"""

from __future__ import annotations

import asyncio
import random

from multi_agent.errors import LLMError, LLMRateLimited, LLMTimeout, LLMUnavailable, LLMUnreachable
from multi_agent.llm.endpoint import Endpoint, EndpointRequest, EndpointWrapper, Reply

_TRANSIENT = (LLMUnavailable, LLMTimeout, LLMRateLimited)
# One retry is sufficient to rule out a brief interruption. More retries would only make the user wait.
_RETRIED_ONCE = (LLMUnreachable, LLMTimeout)


class RetryingEndpoint(EndpointWrapper):
    """An endpoint that retries after transient errors, with exponential back-off.

    The pause is the endpoint's ``Retry-After`` if it sends one. Otherwise it starts at ``first_pause_s`` and doubles
    with each attempt, with jitter. If ``Retry-After`` is longer than ``longest_pause_s``, the error is raised at once.
    """

    def __init__(
        self, inner: Endpoint, retries: int, *, first_pause_s: float = 0.5, longest_pause_s: float = 60.0
    ) -> None:
        super().__init__(inner)
        self._retries = retries
        self._first_pause_s = first_pause_s
        self._longest_pause_s = longest_pause_s

    async def send(self, request: EndpointRequest) -> Reply:
        attempt = 0
        while True:
            try:
                return await self._inner.send(request)
            except _TRANSIENT as error:
                if not self._should_retry(error, attempt):
                    raise
                pause = self._pause(error, attempt)
            await asyncio.sleep(pause)
            attempt += 1

    def _should_retry(self, error: LLMError, attempt: int) -> bool:
        retries = min(self._retries, 1) if isinstance(error, _RETRIED_ONCE) else self._retries
        return attempt < retries and (error.retry_after or 0) <= self._longest_pause_s

    def _pause(self, error: LLMError, attempt: int) -> float:
        if error.retry_after is not None:
            return error.retry_after
        grown = min(self._first_pause_s * 2.0**attempt, self._longest_pause_s)
        return grown * random.uniform(0.5, 1.0)
