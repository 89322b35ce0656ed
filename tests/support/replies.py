"""Requests that the scripted endpoint receives, and its replies: texts, errors, delays and streams.

    in_turn(server_error(), held_until(event, '{"city": "Graz"}'))

A responder gets the parsed ``Request`` and returns a text or a ``Reply``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from multi_agent.llm.settings import ResponseForm

Protocol = Literal["openai", "ollama"]
PROTOCOLS: tuple[Protocol, ...] = ("openai", "ollama")
Ending = Literal["whole", "early", "dropped", "garbled", "failed", "silent", "uncounted", "endless"]
"""How a stream ends: normally, without its last part, with a dropped connection, with invalid JSON, with an error,
never, without token usage, or with all its parts in a response that never ends.
"""


@dataclass
class Request:
    """One chat request of either protocol."""

    number: int
    protocol: Protocol
    model: str
    messages: list[dict[str, str]]
    schema: dict[str, Any] | None
    temperature: float | None
    max_tokens: int | None
    form: ResponseForm
    body: dict[str, Any]
    headers: Mapping[str, str]
    at: float
    abandoned: bool = False
    streamed: float = 0.0
    """When the last part of its response was sent, on the clock of ``at``. 0 if it was not streamed to its end."""
    pictures: list[bytes] = field(default_factory=list)
    """The images of all messages, in order. ``messages`` has only the text."""

    @property
    def prompt(self) -> str:
        """The text of all messages."""
        return "\n".join(message["content"] for message in self.messages)


@dataclass(frozen=True)
class Reply:
    """What the endpoint does with a request."""

    text: str = ""
    thinking: str = ""
    finish: str = "stop"
    prompt_tokens: int = 100
    cached_tokens: int = 0
    cached_in_timings: bool = False
    completion_tokens: int = 10
    delay: float = 0.0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str | None = None
    kind: str = ""
    refusal: str = ""
    tools: tuple[tuple[str, dict[str, Any]], ...] = ()
    drop: bool = False
    hang: bool = False
    drip: bool = False
    cut: int = 0
    pause: float = 0.0
    ending: Ending = "whole"
    held: threading.Event | None = None
    held_after: int = 0


Responder = Callable[[Request], "Reply | str"]


def say(text: str, *, thinking: str = "", prompt_tokens: int = 100, completion_tokens: int = 10) -> Reply:
    """Answer with the text. ``thinking`` goes into the protocol's own field."""
    return Reply(text=text, thinking=thinking, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)


def think_aloud(text: str, thinking: str = "Let me see.") -> Reply:
    """Answer with the thinking between tags in the text."""
    return Reply(text=f"<think>\n{thinking}\n</think>\n\n{text}")


def wrap_in_prose(text: str) -> Reply:
    """Answer with a sentence before and after the text."""
    return Reply(text=f"Sure! Here is the answer:\n{text}\nI hope that helps.")


def fence(text: str) -> Reply:
    """Answer in a Markdown fence."""
    return Reply(text=f"```json\n{text}\n```")


def truncate(text: str, keep: float = 0.5) -> Reply:
    """Stop at the output limit."""
    return Reply(text=text[: int(len(text) * keep)], finish="length")


def break_off(text: str, keep: float = 0.5) -> Reply:
    """Stop in the middle of the text and report a normal end."""
    return Reply(text=text[: int(len(text) * keep)])


def nonsense() -> Reply:
    """Answer with something other than JSON."""
    return Reply(text="purple monkey dishwasher")


def empty() -> Reply:
    """Answer with an empty text."""
    return Reply(text="")


def in_pieces(text: str, cut: int = 16, *, pause: float = 0.0, ending: Ending = "whole", keep: float = 1.0) -> Reply:
    """Stream parts of ``cut`` characters. After the fraction ``keep`` of the text, end the stream with ``ending``."""
    return Reply(text=text[: int(len(text) * keep)], cut=cut, pause=pause, ending=ending)


def held_up(text: str, held: threading.Event, after: float) -> Reply:
    """Stream the fraction ``after`` of the text, then wait for the event before the rest."""
    return Reply(text=text, cut=16, held=held, held_after=int(len(text) * after) // 16)


def held_until(event: threading.Event, reply: Reply | str) -> Reply:
    """Wait for the event before the reply."""
    return replace(as_reply(reply), held=event)


def held_until_together(count: int, responder: Responder) -> Responder:
    """Hold the replies until ``count`` requests wait for one, so that they overlap on a machine of any speed."""
    together = threading.Event()
    requests: list[Request] = []

    def respond(request: Request) -> Reply:
        requests.append(request)
        if len(requests) >= count:
            together.set()
        return held_until(together, responder(request))

    return respond


def delayed(reply: Reply | str, seconds: float) -> Reply:
    """Delay a reply."""
    return replace(as_reply(reply), delay=seconds)


def hang() -> Reply:
    """Accept the request and never answer."""
    return Reply(hang=True)


def drip() -> Reply:
    """Send spaces for ever, so that the connection is never silent."""
    return Reply(drip=True)


def drop() -> Reply:
    """Drop the connection without a response."""
    return Reply(drop=True)


def refuse(words: str) -> Reply:
    """Answer in the refusal field of OpenAI's protocol. Ollama's has none."""
    return Reply(refusal=words)


def fail(status: int, message: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an HTTP error in the protocol's format."""
    return Reply(text=message, status=status, headers=headers or {})


def server_error(status: int = 500) -> Reply:
    """Answer with a 5xx error."""
    return fail(status, "the runner has terminated")


def rate_limited(retry_after: str | float | None = None) -> Reply:
    """Answer with status 429."""
    return fail(429, "slow down", {} if retry_after is None else {"Retry-After": str(retry_after)})


def unauthorised() -> Reply:
    """Answer with status 401."""
    return fail(401, "invalid api key")


def model_missing() -> Reply:
    """Answer that the model does not exist."""
    return fail(404, "model not found")


def raw(body: str, kind: str = "text/html") -> Reply:
    """Answer with a body outside the protocol."""
    return Reply(raw=body, kind=kind)


def always(reply: Reply | str) -> Responder:
    """Return a responder with the same reply for every request."""
    return lambda _: reply


def use(*tools: tuple[str, dict[str, Any]]) -> Reply:
    """Answer with calls of these tools, by name with arguments. OpenAI's protocol only."""
    return Reply(tools=tools, finish="tool_calls")


def in_turn(*replies: Reply | str) -> Responder:
    """Return a responder with one reply after the other. It repeats the last one."""
    remaining = list(replies)
    return lambda _: remaining.pop(0) if len(remaining) > 1 else remaining[0]


def as_reply(reply: Reply | str) -> Reply:
    """Return a reply; a text is the text of one."""
    return reply if isinstance(reply, Reply) else Reply(text=reply)
