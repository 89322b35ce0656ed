"""The contract of an endpoint: one request with a JSON schema, one reply as text. No meaning is read here.

Implementations: ``ollama_native.py`` and ``openai_compatible.py``. Wrappers with the same contract, one request each:
``fitting.py`` (is it too long?), ``retrying.py`` (transport faults), ``pacing.py`` (replies one by one),
``limiting.py`` (parallelism), ``sharing.py`` (that of several processes). ``typed.py`` makes an LLM of an endpoint. A
re-asked prompt is a request like any other, so that it, too, is measured and retried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pydantic import Field

from multi_agent.llm.llm import Hear, Message
from vectorstore.models import FrozenModel

JsonSchema = dict[str, Any]


class Reply(FrozenModel):
    """What came back for one request."""

    text: str = Field(description="the model's text as it came")
    thinking: str = Field(default="", description="what the endpoint itself set apart as thinking")
    truncated: bool = Field(default=False, description="it stopped because the output limit was reached")
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = Field(default=0.0, description="time from request to reply")


class Endpoint(Protocol):
    """Something that answers requests."""

    async def send(
        self, messages: Sequence[Message], schema: JsonSchema, temperature: float | None, hear: Hear | None = None
    ) -> Reply:
        """Ask once; ``schema`` constrains what the model can write. A ``temperature`` of None is not sent, so that the
        endpoint's own holds. With ``hear`` the endpoint is asked to stream, unless its settings say that it cannot; it
        is told the empty text first, at each try. Raises a subclass of LLMError.
        """
        ...
