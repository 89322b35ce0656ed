"""The contract of a language model: messages and a response type in, a typed value with its usage out.

    completion = await llm.complete([Message.system("…"), Message.user("…")], Plan)
    completion.value.steps

No call to a model bypasses it. Journaling, replaying and observing are wrappers with the same contract. What concerns
a single request to an endpoint (its size, parallelism, retries) is one level below: ``endpoint.py``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, Field

from vectorstore.models import FrozenModel

ResponseT = TypeVar("ResponseT", bound=BaseModel)

Hear = Callable[[str], Awaitable[None]]
"""Is told a response while it is written: each time as far as it goes, from its beginning. A text shorter than the one
before means that it is written anew, after a fault of the transport or because it was not accepted.
"""


class Message(FrozenModel):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str

    @classmethod
    def system(cls, content: str) -> Message:
        return cls(role="system", content=content)

    @classmethod
    def user(cls, content: str) -> Message:
        return cls(role="user", content=content)


class Usage(FrozenModel):
    """What calls cost. Adds up with ``+``."""

    model_calls: int = Field(default=0, description="requests that reached the model, re-asking included")
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = Field(default=0.0, description="time spent waiting for the model, summed over calls")
    cost: float = Field(default=0.0, description="in the currency of the price table of the settings")

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            model_calls=self.model_calls + other.model_calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            seconds=self.seconds + other.seconds,
            cost=self.cost + other.cost,
        )


class Exchange(FrozenModel):
    """One request to the model and what came back, as text: a completion has one, more when it was re-asked."""

    response: str = Field(description="the model's text, without its thinking")
    thinking: str = Field(default="", description="what the model thought aloud, kept apart")
    fault: str = Field(default="", description="why this response was not accepted; empty for the last one")


class Completion(BaseModel, Generic[ResponseT]):
    """A typed response."""

    value: ResponseT
    model: str
    usage: Usage
    exchanges: tuple[Exchange, ...] = Field(min_length=1)
    key: str = Field(default="", description="of the journal's entry; empty where no journal is kept")
    occurrence: int = Field(default=0, description="which of the equal requests of this run it answers, from 0")
    replayed: bool = Field(default=False, description="answered by a journal, not by the model")


class LLM(Protocol):
    """A language model behind an endpoint."""

    @property
    def model(self) -> str:
        """Name of the model, as its endpoint calls it."""
        ...

    async def complete(
        self,
        messages: Sequence[Message],
        response_model: type[ResponseT],
        *,
        varied: bool = False,
        hear: Hear | None = None,
    ) -> Completion[ResponseT]:
        """Ask, and return a response that satisfies ``response_model``.

        ``varied`` asks for one of several answers to the same question: at a temperature at which they differ.
        ``hear`` is told the response while it is written, if the endpoint can stream; nothing of one that a journal
        has. Until the call returns, none of it is accepted.
        Raises a subclass of LLMError; see ``multi_agent/errors.py``.
        """
        ...
