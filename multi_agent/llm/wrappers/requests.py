"""Wrappers of an endpoint: they check prompts, retry, limit concurrent requests, and stop endless responses.

Requests are limited in this process and over all processes that share the endpoint's locks. In a process, requests
wait in order. A request holds one of ``parallel`` locks, its slot. Another lock, the turn, is held while waiting for a
slot, so that processes wait in turn. The release of a lock sends no notification, so waiting processes poll. For
fairness, a process that had to wait pauses before it takes the turn again.

Small models repeat the same words, or white space between JSON tokens, without end. Constrained decoding does not stop
them, because a JSON text may contain any number of repetitions. Without ``RepetitionCheck``, they continue to the
output limit, which takes minutes.
"""

import asyncio
import hashlib
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout
from tenacity import AsyncRetrying, RetryCallState

from base.http import excerpt
from base.tokens import estimate_tokens
from multi_agent.errors import LLMRateLimited, LLMRefused, LLMTimeout, LLMUnavailable, LLMUnreachable, PromptTooLong
from multi_agent.llm.endpoint import Endpoint, EndpointRequest, EndpointWrapper, Reply
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Message, OnText

_MESSAGE_TOKENS = 8  # the markers of a chat template around a message


def estimate_prompt(messages: Iterable[Message]) -> int:
    """Return the estimated number of tokens of the messages, pictures included."""
    pictures = sum(picture.tokens for message in messages for picture in message.pictures)
    return pictures + sum(estimate_tokens(message.content) for message in messages)


class PromptCheck(EndpointWrapper):
    """An endpoint that raises PromptTooLong instead of sending a prompt that does not fit.

    It adds advice to the error of a request with pictures: how to send fewer or none.
    """

    def __init__(self, inner: Endpoint, settings: EndpointSettings) -> None:
        super().__init__(inner)
        self._settings = settings

    async def send(self, request: EndpointRequest) -> Reply:
        try:
            self._require_fit(estimate_prompt(request.messages) + _MESSAGE_TOKENS * len(request.messages))
            return await self._inner.send(request)
        except (LLMRefused, LLMUnavailable, PromptTooLong) as error:
            pictures = sum(len(message.pictures) for message in request.messages)
            if not pictures or isinstance(error, LLMUnreachable):
                raise
            raise type(error)(f"{error} {self._advice(pictures)}", retry_after=error.retry_after) from error

    def _advice(self, pictures: int) -> str:
        number = "a picture of a page" if pictures == 1 else f"{pictures} pictures of pages"
        return (
            f"The request carried {number}. To send fewer, lower `pictures_per_call` under [research]; to send none, "
            f"set {self._settings.setting('vision')} to 'off'."
        )

    def _require_fit(self, prompt_tokens: int) -> None:
        window, output = self._settings.context_window, self._settings.max_output_tokens
        if prompt_tokens + output > window:
            raise PromptTooLong(
                f"The prompt has about {prompt_tokens} tokens and the response may have {output}. Together they exceed "
                f"the context window of {window} tokens of the {self._settings.name}. Nothing was sent. Ask a narrower "
                f"question, raise {self._settings.setting('context_window')} if the model supports more, or lower "
                f"{self._settings.setting('max_output_tokens')}."
            )


_TRANSIENT = (LLMUnavailable, LLMTimeout, LLMRateLimited)
# One retry is sufficient to rule out a brief interruption. More retries would only make the user wait.
_RETRIED_ONCE = (LLMUnreachable, LLMTimeout)
_LONGEST_PAUSE_S = 60.0


class RetryingEndpoint(EndpointWrapper):
    """An endpoint that retries after transient errors, with exponential back-off.

    The pause is the endpoint's ``Retry-After`` if it sends one. Otherwise it starts at ``first_pause_s`` and doubles
    with each attempt, with jitter. If ``Retry-After`` is longer than a minute, the error is raised at once.
    """

    def __init__(self, inner: Endpoint, retries: int, *, first_pause_s: float = 0.5) -> None:
        super().__init__(inner)
        self._retries, self._first_pause_s = retries, first_pause_s

    async def send(self, request: EndpointRequest) -> Reply:
        return await AsyncRetrying(retry=self._should_retry, wait=self._pause)(self._inner.send, request)

    def _should_retry(self, state: RetryCallState) -> bool:
        error = state.outcome and state.outcome.exception()
        if not isinstance(error, _TRANSIENT):
            return False
        retries = min(self._retries, 1) if isinstance(error, _RETRIED_ONCE) else self._retries
        return state.attempt_number <= retries and (error.retry_after or 0) <= _LONGEST_PAUSE_S

    def _pause(self, state: RetryCallState) -> float:
        asked = getattr(state.outcome and state.outcome.exception(), "retry_after", None)
        grown = min(self._first_pause_s * 2.0 ** (state.attempt_number - 1), _LONGEST_PAUSE_S)
        return float(grown * random.uniform(0.5, 1.0) if asked is None else asked)


_POLL_S = 0.02
_YIELD_S = 2 * _POLL_S
_TURN = 0  # the slots have the numbers from 1


class HeldLock(Protocol):
    """A lock that this process holds."""

    def release(self) -> None:
        """Release the lock without waiting. Called once."""
        ...


class EndpointLocks(Protocol):
    """Numbered locks of one endpoint. The locks of a process that ends are released, also if it was killed.

    Implementations: ``FileLocks``, and ``api/storage/advisory_locks.py`` for processes on several machines.
    """

    async def acquire(self, numbers: Sequence[int]) -> HeldLock | None:
        """Acquire the first free lock. Return None if each is held, be it by this process or by another."""
        ...


MakeLocks = Callable[[EndpointSettings], EndpointLocks]


class RequestLimit(EndpointWrapper):
    """An endpoint with at most ``parallel`` concurrent requests in this process, and with those that share ``locks``.

    Processes with different limits keep their own limit and count each other's requests.
    """

    def __init__(self, inner: Endpoint, parallel: int, locks: EndpointLocks | None = None) -> None:
        super().__init__(inner)
        self._locks, self._slots = locks, range(_TURN + 1, _TURN + 1 + parallel)
        self._here = asyncio.Semaphore(parallel)
        self._local_lock = asyncio.Lock()
        self._had_to_wait = False

    async def send(self, request: EndpointRequest) -> Reply:
        async with self._here:
            if self._locks is None:
                return await self._inner.send(request)
            slot = await self._acquire_slot(self._locks)
            try:
                return await self._inner.send(request)
            finally:
                slot.release()

    async def _acquire_slot(self, locks: EndpointLocks) -> HeldLock:
        """Wait for the turn, then for a free slot."""
        async with self._local_lock:
            if self._had_to_wait:
                await asyncio.sleep(_YIELD_S)
            self._had_to_wait = False
            turn = await self._acquire_first(locks, [_TURN])
            try:
                return await self._acquire_first(locks, self._slots)
            finally:
                turn.release()

    async def _acquire_first(self, locks: EndpointLocks, numbers: Sequence[int]) -> HeldLock:
        while not (acquired := await locks.acquire(numbers)):
            self._had_to_wait = True
            await asyncio.sleep(_POLL_S)
        return acquired


class FileLocks:
    """Implements ``EndpointLocks`` for processes that share ``folder``.

    Acquiring a lock raises OSError on a file system without locks.
    """

    def __init__(self, folder: Path, settings: EndpointSettings) -> None:
        self._folder = folder / hashlib.sha256(settings.identity.encode()).hexdigest()[:16]
        self._locks: dict[int, FileLock] = {}

    async def acquire(self, numbers: Sequence[int]) -> FileLock | None:
        return next(filter(_try_acquire, map(self._lock, numbers)), None)

    def _lock(self, number: int) -> FileLock:
        """Return a lock of the operating system. A soft lock would outlive a killed process."""
        if number not in self._locks:
            path = self._folder / f"{number}.lock"
            self._locks[number] = FileLock(path, thread_local=False, fallback_to_soft=False)
        return self._locks[number]


def _try_acquire(lock: FileLock) -> bool:
    if lock.is_locked:  # a second acquisition by the same object would succeed
        return False
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True


_BLANK = 200
"""Maximum consecutive characters of white space. Indented JSON and tables with padded columns have fewer."""
_REPEATED = 1_000
_REPEATED_RULE = 4_000
_TIMES = 4
"""A loop repeats the same characters for at least ``_REPEATED`` characters and ``_TIMES`` times. If they contain no
letters and digits, the limit is ``_REPEATED_RULE``. Table rows that differ in one figure, the rule of a wide table, and
a list of a hundred equal short items are not loops. 293 files of many formats with 2.5 million characters have no loop.
"""
_WINDOW = 8_000
_PROBE = 40
_STEP = 100


def find_endless(text: str) -> str:
    """Return a clause that describes the repetition at the end of a text. Empty if there is no repetition."""
    if len(text) - len(text.rstrip()) >= _BLANK:
        return "it wrote white space without end"
    if repeated := _find_repeated(text[-_WINDOW:]):
        return f"it repeated {excerpt(repeated)!r} without end"
    return ""


def _find_repeated(text: str) -> str:
    """Return the characters that are repeated at the end of the text. Empty if there are none.

    Only distances to earlier occurrences of the last characters can be a period, so most texts need one search.
    """
    end = text[-_PROBE:]
    at = text.rfind(end, 0, len(text) - 1)
    while at >= 0:
        period = len(text) - len(end) - at
        words = any(map(str.isalnum, text[-period:]))
        length = max(_REPEATED if words else _REPEATED_RULE, _TIMES * period)
        if length > len(text):
            return ""
        if text[-length:-period] == text[period - length :]:
            return text[-period:]
        at = text.rfind(end, 0, at + len(end) - 1)
    return ""


class RepetitionCheck(EndpointWrapper):
    """An endpoint that stops endless responses. ``cut`` of the reply describes the repetition.

    It needs a stream, so it streams every request, even if the caller does not listen. Without streaming
    (``stream = false``), it can only explain why a response reached the output limit. The tokens of a stopped response
    are estimates, because the endpoint does not count them.
    """

    async def send(self, request: EndpointRequest) -> Reply:
        text, thinking = _Watch(request.on_text), _Watch(request.on_thinking)
        started = time.monotonic()
        try:
            reply = await self._inner.send(replace(request, on_text=text.receive, on_thinking=thinking.receive))
        except _EndlessOutput as found:
            return Reply(
                text=text.received,
                thinking=thinking.received,
                cut=str(found),
                prompt_tokens=sum(estimate_tokens(message.content) for message in request.messages),
                completion_tokens=estimate_tokens(text.received + thinking.received),
                seconds=time.monotonic() - started,
            )
        cut = reply.truncated and (find_endless(reply.text) or find_endless(reply.thinking))
        return reply.model_copy(update={"cut": cut}) if cut else reply


class _EndlessOutput(Exception):
    """The text of the stream repeats itself. Raising it closes the stream."""


class _Watch:
    """Receives a text while it is streamed, and raises _EndlessOutput when it repeats itself."""

    def __init__(self, on_text: OnText | None) -> None:
        self._on_text = on_text
        self._checked = 0
        self.received = ""

    async def receive(self, text: str) -> None:
        if len(text) < len(self.received):  # the response starts again
            self._checked = 0
        self.received = text
        if self._on_text:
            await self._on_text(text)
        if len(text) - self._checked >= _STEP:
            self._checked = len(text)
            if found := find_endless(text):
                raise _EndlessOutput(found)
