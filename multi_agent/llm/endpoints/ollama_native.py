"""An endpoint that speaks Ollama's own API.

Ollama's OpenAI-compatible API cannot set ``num_ctx`` and truncates long prompts silently.
"""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from multi_agent.llm.endpoint import EndpointRequest, Reply
from multi_agent.llm.endpoints.transport import (
    client_options,
    endpoint_unreachable,
    error_for_status,
    stream_interrupted,
    transport_errors,
    wrong_protocol,
)
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Message, OnText

if TYPE_CHECKING:
    from collections.abc import Awaitable

    import httpx
    from ollama import ChatResponse


_NOT_OLLAMA = (ValueError, TypeError, AttributeError)
"""What the client raises for a body that is not JSON, or has not the fields of the protocol."""


class OllamaNative:
    """One model of an Ollama server. Belongs to the event loop that first uses it."""

    def __init__(self, settings: EndpointSettings) -> None:
        import ollama

        self._settings = settings
        self._client = ollama.AsyncClient(
            host=settings.base_url,
            headers={"Authorization": f"Bearer {settings.api_key.get_secret_value()}".encode()}
            if settings.api_key
            else None,
            event_hooks={"response": [self._check_status]},  # the error of the client has no headers
            **client_options(settings),
        )

    async def send(self, request: EndpointRequest) -> Reply:
        started = time.monotonic()
        body: dict[str, Any] = {
            "model": self._settings.model,
            "messages": [_message(message) for message in request.messages],
            "format": request.schema,
            "options": self._options(request.temperature),
            "think": self._settings.think,
        }
        if request.on_text and self._settings.stream:
            return await self._stream(body, request.on_text, request.on_thinking, started)
        response = await self._call(self._client.chat(**body, stream=False))
        return _reply(response, response.message.content or "", response.message.thinking or "", started)

    async def _stream(self, body: dict[str, Any], on_text: OnText, on_thinking: OnText | None, started: float) -> Reply:
        text = thinking = ""
        last: ChatResponse | None = None
        async with transport_errors(self._settings) as received, aclosing(self._parts(body)) as parts:
            await on_text("")
            async for part in parts:
                if part.message.content or part.message.thinking:
                    received()
                if part.message.thinking:
                    thinking += part.message.thinking
                    if on_thinking:
                        await on_thinking(thinking)
                if part.message.content:
                    text += part.message.content
                    await on_text(text)
                last = part if part.done else last
        if last is None:
            raise stream_interrupted(self._settings, "the stream has no final part")
        return _reply(last, text, thinking, started)

    async def _parts(self, body: dict[str, Any]) -> AsyncGenerator[ChatResponse]:
        """Yield the parts of a stream. Only errors of the stream are translated, not those of its consumer."""
        import ollama

        try:
            stream = cast("AsyncGenerator[ChatResponse]", await self._client.chat(**body, stream=True))
            async with aclosing(stream) as parts:
                async for part in parts:
                    yield part
        except ollama.ResponseError as error:
            raise stream_interrupted(self._settings, error.error) from error
        except _NOT_OLLAMA as error:
            raise wrong_protocol(self._settings, str(error)) from error

    async def models(self) -> dict[str, int | None]:
        """Return the names of the models, with and without the tag ``latest``. Ollama does not list context lengths."""
        listed = await self._call(self._client.list())
        names = [model.model for model in listed.models if model.model]
        return dict.fromkeys([*names, *(name.removesuffix(":latest") for name in names)])

    async def pull(self) -> AsyncGenerator[tuple[str, int, int]]:
        """Let the server fetch the model. Yields what it does, the bytes that it has, and all bytes, 0 if unknown.

        Raises a subclass of LLMError.
        """
        import ollama

        async with transport_errors(self._settings) as received:
            try:
                async for part in await self._client.pull(self._settings.model, stream=True):
                    received()
                    yield part.status or "", part.completed or 0, part.total or 0
            except ollama.ResponseError as error:
                raise stream_interrupted(self._settings, f"it cannot fetch the model: {error.error}") from error
            except ConnectionError as error:
                raise endpoint_unreachable(self._settings) from error

    async def context_length(self) -> int | None:
        """Return the maximum context length of the model in tokens, or None if the server does not report it."""
        shown = await self._call(self._client.show(self._settings.model))
        info = shown.modelinfo or {}
        return next((int(value) for key, value in info.items() if key.endswith(".context_length")), None)

    async def capabilities(self) -> tuple[str, ...]:
        """Return the model's capabilities, such as ``completion`` and ``vision``. Raises a subclass of LLMError."""
        shown = await self._call(self._client.show(self._settings.model))
        return tuple(shown.capabilities or ())

    def _options(self, temperature: float | None) -> dict[str, Any]:
        options = {"num_ctx": self._settings.context_window, "num_predict": self._settings.max_output_tokens}
        return options if temperature is None else options | {"temperature": temperature}

    async def _call(self, request: Awaitable[Any]) -> Any:
        async with transport_errors(self._settings):
            try:
                return await request
            except ConnectionError as error:
                raise endpoint_unreachable(self._settings) from error
            except _NOT_OLLAMA as error:
                raise wrong_protocol(self._settings, str(error)) from error

    async def _check_status(self, response: httpx.Response) -> None:
        if response.is_error:
            await response.aread()
            raise error_for_status(self._settings, response.status_code, response.text, response.headers)


def _message(message: Message) -> dict[str, Any]:
    """Return the message in Ollama's format, with pictures as base64 in a separate field."""
    plain: dict[str, Any] = {"role": message.role, "content": message.content}
    images = [base64.b64encode(picture.png).decode() for picture in message.pictures]
    return plain | {"images": images} if images else plain


def _reply(last: ChatResponse, text: str, thinking: str, started: float) -> Reply:
    """Return the reply. ``last`` is the whole response, or the last part of a stream, which has the totals."""
    return Reply(
        text=text,
        thinking=thinking,
        truncated=last.done_reason == "length",
        model=last.model or "",
        prompt_tokens=last.prompt_eval_count or 0,
        completion_tokens=last.eval_count or 0,
        seconds=time.monotonic() - started,
    )
