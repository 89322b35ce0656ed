"""The contract of an endpoint: one request with a JSON schema, one reply as text. It does not interpret the text.

Implementations: ``ollama_native.py``, ``openai_compatible.py`` and ``local/``. Wrappers with the same contract check
the size of the prompt, retry, and limit concurrency; ``models.py`` shows them in order. ``typed.py`` turns an endpoint
into an LLM. A retry after an invalid response is a new request and passes through all wrappers.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import Field

from base.models import FrozenModel
from multi_agent.model import Message, OnText

JsonSchema = dict[str, Any]


@dataclass(frozen=True)
class EndpointRequest:
    """One request to an endpoint."""

    messages: tuple[Message, ...]
    schema: JsonSchema
    """Constrains what the model can write."""
    temperature: float | None
    """None leaves the temperature to the endpoint."""
    on_text: OnText | None = None
    """Makes the endpoint stream, unless its settings turn streaming off. Each attempt starts with the empty text.

    An error that it raises ends the request and is not translated.
    """
    on_thinking: OnText | None = None
    """Like ``on_text``, for thinking in a field of its own."""


class Reply(FrozenModel):
    """The reply to one request."""

    text: str = Field(description="the model's text, unchanged")
    thinking: str = Field(default="", description="thinking that the endpoint reports in a field of its own")
    cut: str = Field(default="", description="why the reply was stopped, as a clause; empty if the model ended it")
    truncated: bool = Field(default=False, description="the reply stopped at the output limit")
    model: str = Field(default="", description="name of the model in the reply; empty if the endpoint sends none")
    prompt_tokens: int = 0
    cached_tokens: int = Field(default=0, description="prompt tokens that the endpoint took from its prefix cache")
    completion_tokens: int = 0
    seconds: float = Field(default=0.0, description="time from request to reply")


class Endpoint(Protocol):
    """A server that answers requests with one model."""

    async def send(self, request: EndpointRequest) -> Reply:
        """Send one request and return its reply. Raises a subclass of LLMError."""
        ...


class EndpointWrapper:
    """An endpoint that passes requests on to another one. Subclasses define ``send``."""

    def __init__(self, inner: Endpoint) -> None:
        self._inner = inner
