"""Rejects prompts that exceed the context window before they are sent."""

from __future__ import annotations

from collections.abc import Iterable

from base.tokens import estimate_tokens
from multi_agent.errors import PromptTooLong
from multi_agent.llm.endpoint import Endpoint, EndpointRequest, EndpointWrapper, Reply
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Message

_MESSAGE_TOKENS = 8  # the markers of a chat template around a message


def estimate_prompt(messages: Iterable[Message]) -> int:
    """Return the estimated number of tokens of the messages, pictures included."""
    pictures = sum(picture.tokens for message in messages for picture in message.pictures)
    return pictures + sum(estimate_tokens(message.content) for message in messages)


class ContextWindowCheck(EndpointWrapper):
    """An endpoint that raises PromptTooLong instead of sending a prompt that does not fit."""

    def __init__(self, inner: Endpoint, settings: EndpointSettings) -> None:
        super().__init__(inner)
        self._settings = settings

    async def send(self, request: EndpointRequest) -> Reply:
        self._require_fit(estimate_prompt(request.messages) + _MESSAGE_TOKENS * len(request.messages))
        return await self._inner.send(request)

    def _require_fit(self, prompt_tokens: int) -> None:
        window, output = self._settings.context_window, self._settings.max_output_tokens
        if prompt_tokens + output > window:
            raise PromptTooLong(
                f"The prompt has about {prompt_tokens} tokens and the response may have {output}. Together they exceed "
                f"the context window of {window} tokens of the {self._settings.name}. Nothing was sent. Ask a narrower "
                f"question, raise {self._settings.setting('context_window')} if the model supports more, or lower "
                f"{self._settings.setting('max_output_tokens')}."
            )
