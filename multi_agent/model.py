"""The contract of a language model, which takes messages and a response type and returns a typed value with its usage.

    completion = await llm.complete([Message.system("…"), Message.user("…")], Plan)
    completion.value.steps

Every model call goes through it. Journaling, budgets, replay and events are wrappers with the same contract.
``endpoint.py`` is the level below: a single request to an endpoint, with its size, parallelism and retries.
``models.py`` shows all wrappers in order.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Generic, Literal, Self, TypeVar

from pydantic import BaseModel, Field, field_validator

from base.counts import count
from base.models import FrozenModel

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = 24  # bytes up to and including width and height
_PATCH = 28  # pixels; one token covers a square of this side
_FEWEST_TOKENS = 256  # of one picture


class Picture(FrozenModel):
    """A PNG image. A stored message has the hash and the size of the image, but ``png`` is empty.

    Requests with the same picture hashes are equal, so the journal can replay a request without the image.
    """

    sha256: str = Field(description="hash of the PNG file")
    size: int = Field(ge=0, description="bytes of the PNG file")
    width: int = Field(gt=0, description="in pixels")
    height: int = Field(gt=0, description="in pixels")
    png: bytes = Field(default=b"", exclude=True, repr=False, description="the PNG file")

    @classmethod
    def of(cls, png: bytes) -> Self:
        """Return the picture in a PNG file. Raises ValueError for any other format."""
        if len(png) < _HEADER or not png.startswith(_SIGNATURE):
            raise ValueError("a picture for a model must be a PNG file")
        width, height = (int.from_bytes(png[start : start + 4], "big") for start in (16, 20))
        return cls(sha256=hashlib.sha256(png).hexdigest(), size=len(png), width=width, height=height, png=png)

    def __str__(self) -> str:
        return f"{self.width} × {self.height} pixels, {self.size:,} bytes, SHA-256 {self.sha256[:12]}"

    @property
    def tokens(self) -> int:
        """A high estimate of the tokens that the picture takes in a prompt.

        It follows the Qwen-VL models, which take one token per 28 × 28 pixels. Most other models take fewer: OpenAI's
        at most 1,105 for a page, Llama 3.2 at most 1,601, Gemma always 256.
        """
        return max(_FEWEST_TOKENS, ceil(self.width / _PATCH) * ceil(self.height / _PATCH))


ResponseT = TypeVar("ResponseT", bound=BaseModel)
FinishReason = Literal["stop", "length", "cut", ""]

OnText = Callable[[str], Awaitable[None]]
"""Callback for a streamed response. Every call receives the whole text so far. A text shorter than the previous one
means that the response started again, after a transport error or because it was invalid.
"""


_CONTROL = re.compile(
    r"<[|｜][^<>\s]{1,60}[|｜]>|\[\|[a-z_]{1,40}\|\]|</?(?:s|bos|eos|pad|unk|think|tool_call|tool_response|start_of_turn"
    r"|end_of_turn|start_of_image|end_of_image)>|<</?SYS>>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|IMG|gMASK)\]"
)
_DEFUSED = str.maketrans("<>[]", "‹›()")


class Message(FrozenModel):
    """One message of a conversation.

    Engines make control tokens of the special tokens of chat templates, wherever they find them. A document could end
    the message with them and write the next one, so they are replaced in all messages. Quotes keep the original text.
    """

    role: Literal["system", "user", "assistant"]
    content: str
    pictures: tuple[Picture, ...] = Field(
        default=(), exclude_if=lambda pictures: not pictures, description="pictures that belong to the text, in order"
    )

    @field_validator("content")
    @classmethod
    def _without_control_tokens(cls, content: str) -> str:
        return _CONTROL.sub(lambda token: token[0].translate(_DEFUSED), content)

    @classmethod
    def system(cls, content: str) -> Message:
        return cls(role="system", content=content)

    @classmethod
    def user(cls, content: str) -> Message:
        return cls(role="user", content=content)


class Usage(FrozenModel):
    """The usage of model calls. Supports ``+``."""

    model_calls: int = Field(
        default=0, description="requests that reached the model, including retries of invalid responses"
    )
    prompt_tokens: int = 0
    cached_tokens: int = Field(default=0, description="prompt tokens from the endpoint's prefix cache")
    completion_tokens: int = 0
    seconds: float = Field(default=0.0, description="time spent waiting for the model, summed over calls")
    cost: float | None = Field(
        default=None,
        description="in the currency of the prices in the settings; null if no called endpoint has a price",
    )

    @field_validator("cost")
    @classmethod
    def _unknown_if_zero(cls, value: float | None) -> float | None:
        """Return None for 0, which earlier versions stored for endpoints without a price."""
        return value or None

    def __add__(self, other: Usage) -> Usage:
        ours, theirs = dict(self), dict(other)
        return Usage(**{name: (ours[name] or 0) + (theirs[name] or 0) for name in ours})

    def describe_tokens(self) -> str:
        """Return the number of tokens as text, with the share of prompt tokens from the cache if there are any."""
        tokens = count(self.prompt_tokens + self.completion_tokens, "token")
        if not self.cached_tokens:
            return tokens
        return f"{tokens} ({self.cached_tokens / max(1, self.prompt_tokens):.0%} of the prompts from cache)"


class ModelResponse(FrozenModel):
    """A response of the model as text. A completion has one for each invalid response and one for the valid one."""

    response: str = Field(description="the model's text, without its thinking")
    thinking: str = Field(default="", description="the model's thinking")
    fault: str = Field(default="", description="why this response is invalid; empty for the accepted one")
    repairs: tuple[str, ...] = Field(default=(), description="repairs of the accepted response")
    finish_reason: FinishReason = Field(
        default="",
        exclude_if=lambda reason: not reason,
        description="why the model stopped; `cut` if Candor stopped it; empty in older runs",
    )
    model: str = Field(
        default="",
        exclude_if=lambda model: not model,
        description="name of the model in the reply of the endpoint; empty if it sent none",
    )


class Completion(BaseModel, Generic[ResponseT]):
    """A typed response."""

    value: ResponseT
    model: str
    usage: Usage
    exchanges: tuple[ModelResponse, ...] = Field(min_length=1)
    key: str = Field(default="", description="key of the journal entry; empty without a journal")
    occurrence: int = Field(default=0, description="number among the equal requests of the run, from 0")
    replayed: bool = Field(default=False, description="answered by a journal, not by the model")


@dataclass(frozen=True)
class LLMRequest(Generic[ResponseT]):
    """One call of a language model, as the implementations and wrappers of ``LLM`` receive it."""

    messages: tuple[Message, ...]
    response_model: type[ResponseT]
    varied: bool = False
    on_text: OnText | None = None
    reuse: bool = False
    caller: str = ""
    """Name of the calling agent or part of the supervisor, set by ``RunLLM``."""


class LLM(ABC):
    """A language model. Callers use ``complete``. Implementations and wrappers define ``answer``."""

    @property
    @abstractmethod
    def model(self) -> str:
        """Name of the model at its endpoint."""

    @property
    def has_price(self) -> bool:
        """Whether the settings of its endpoint have a price, so that the cost of its calls is known."""
        return False

    async def takes_pictures(self) -> bool:
        """Return whether messages may contain pictures. Asks the endpoint once. Raises a subclass of LLMError."""
        return False

    def checks_claims(self) -> bool:
        """Return whether the model passed the self-test of the check of claims."""
        return False

    async def check_settings(self) -> None:  # noqa: B027 - most models have no settings
        """Raise LLMRefused if the settings require a feature that the model lacks. Sends a request only if needed."""

    async def complete(
        self,
        messages: Sequence[Message],
        response_model: type[ResponseT],
        *,
        varied: bool = False,
        on_text: OnText | None = None,
        reuse: bool = False,
    ) -> Completion[ResponseT]:
        """Return a response that satisfies ``response_model``.

        ``varied`` requests one of several samples, at the sampling temperature of the endpoint. ``on_text`` receives
        the text while the model writes it, if the endpoint can stream and the response is not from a journal. The text
        is provisional until the call returns. ``reuse`` takes the response of an earlier run over the collection to the
        same request, if there is one. Raises a subclass of LLMError.
        """
        return await self.answer(LLMRequest(tuple(messages), response_model, varied, on_text, reuse))

    @abstractmethod
    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        """Answer one request. Raises a subclass of LLMError."""


class LLMWrapper(LLM):
    """An LLM that delegates requests to another one. Subclasses define ``answer``."""

    def __init__(self, inner: LLM) -> None:
        self._inner = inner

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def has_price(self) -> bool:
        return self._inner.has_price

    async def takes_pictures(self) -> bool:
        return await self._inner.takes_pictures()

    def checks_claims(self) -> bool:
        return self._inner.checks_claims()

    async def check_settings(self) -> None:
        await self._inner.check_settings()
