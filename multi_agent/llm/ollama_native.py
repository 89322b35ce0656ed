"""An endpoint that speaks Ollama's own API. Its OpenAI-compatible one cannot set ``num_ctx``, and cuts in silence."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from multi_agent.llm.endpoint import JsonSchema, Reply
from multi_agent.llm.llm import Hear, Message
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.transport import broken_off, client_options, foreign, speaking_to, status_fault, unreachable

if TYPE_CHECKING:
    from collections.abc import Awaitable

    import httpx
    from ollama import ChatResponse


class OllamaNative:
    """One model of an Ollama server. Belongs to the event loop that first uses it."""

    def __init__(self, settings: EndpointSettings) -> None:
        import ollama

        self._settings = settings
        self._client = ollama.AsyncClient(
            host=settings.base_url,
            headers={"Authorization": f"Bearer {settings.api_key.get_secret_value()}"} if settings.api_key else None,
            event_hooks={"response": [self._check_status]},  # the client's own error forgets the headers
            **client_options(settings),
        )

    async def send(
        self, messages: Sequence[Message], schema: JsonSchema, temperature: float | None, hear: Hear | None = None
    ) -> Reply:
        started = time.monotonic()
        request: dict[str, Any] = {
            "model": self._settings.model,
            "messages": [message.model_dump() for message in messages],
            "format": schema,
            "options": self._options(temperature),
        }
        if hear and self._settings.stream:
            return await self._streamed(request, hear, started)
        response = await self._call(self._client.chat(**request, stream=False))
        return _reply(response, response.message.content or "", response.message.thinking or "", started)

    async def _streamed(self, request: dict[str, Any], hear: Hear, started: float) -> Reply:
        text = thinking = ""
        last: ChatResponse | None = None
        async with speaking_to(self._settings), aclosing(self._parts(request)) as parts:
            await hear("")
            async for part in parts:
                thinking += part.message.thinking or ""
                if part.message.content:
                    text += part.message.content
                    await hear(text)
                last = part if part.done else last
        if last is None:
            raise broken_off(self._settings, "its stream ended without a last part")
        return _reply(last, text, thinking, started)

    async def _parts(self, request: dict[str, Any]) -> AsyncGenerator[ChatResponse]:
        """Of a stream. Faults are translated here, so that none of whoever takes the parts is."""
        import ollama

        try:
            stream = cast("AsyncGenerator[ChatResponse]", await self._client.chat(**request, stream=True))
            async with aclosing(stream) as parts:
                async for part in parts:
                    yield part
        except ollama.ResponseError as error:
            raise broken_off(self._settings, error.error) from error
        except ValueError as error:
            raise foreign(self._settings, str(error)) from error

    async def models(self) -> dict[str, int | None]:
        """The models that it has; a name without a tag stands for the tag ``latest``."""
        listed = await self._call(self._client.list())
        names = [model.model for model in listed.models if model.model]
        return dict.fromkeys([*names, *(name.removesuffix(":latest") for name in names)])

    async def context_length(self) -> int | None:
        """The longest context that the model was made for, if the server tells."""
        shown = await self._call(self._client.show(self._settings.model))
        info = shown.modelinfo or {}
        return next((int(value) for key, value in info.items() if key.endswith(".context_length")), None)

    def _options(self, temperature: float | None) -> dict[str, Any]:
        options = {"num_ctx": self._settings.context_window, "num_predict": self._settings.max_output_tokens}
        return options if temperature is None else options | {"temperature": temperature}

    async def _call(self, request: Awaitable[Any]) -> Any:
        async with speaking_to(self._settings):
            try:
                return await request
            except ConnectionError as error:
                raise unreachable(self._settings) from error
            except ValueError as error:  # no JSON, or not the fields of the protocol
                raise foreign(self._settings, str(error)) from error

    async def _check_status(self, response: httpx.Response) -> None:
        if response.is_error:
            await response.aread()
            raise status_fault(self._settings, response.status_code, response.text, response.headers)


def _reply(last: ChatResponse, text: str, thinking: str, started: float) -> Reply:
    """Of a whole response, or of the last part of one, which tells how it ended."""
    return Reply(
        text=text,
        thinking=thinking,
        truncated=last.done_reason == "length",
        prompt_tokens=last.prompt_eval_count or 0,
        completion_tokens=last.eval_count or 0,
        seconds=time.monotonic() - started,
    )
