"""Stops responses that repeat the same words, or white space between JSON tokens, without end.

Small models produce such loops. Constrained decoding does not stop them, because a JSON text may contain any number of
repetitions. Without this check, they continue to the output limit, which takes minutes.
"""

from __future__ import annotations

import time
from dataclasses import replace

from base.http import excerpt
from base.tokens import estimate_tokens
from multi_agent.llm.endpoint import EndpointRequest, EndpointWrapper, Reply
from multi_agent.model import OnText

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
