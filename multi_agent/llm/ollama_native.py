"""An endpoint that speaks Ollama's own API. Its OpenAI-compatible one cannot set ``num_ctx``, and cuts in silence."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from multi_agent.llm.endpoint import JsonSchema, Reply
from multi_agent.llm.llm import Message
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.transport import client_options, foreign, speaking_to, status_fault, unreachable

if TYPE_CHECKING:
    from collections.abc import Awaitable

    import httpx


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

    async def send(self, messages: Sequence[Message], schema: JsonSchema, temperature: float | None) -> Reply:
        started = time.monotonic()
        response = await self._call(
            self._client.chat(
                model=self._settings.model,
                messages=[message.model_dump() for message in messages],
                format=schema,
                options=self._options(temperature),
                stream=False,
            )
        )
        return Reply(
            text=response.message.content or "",
            thinking=response.message.thinking or "",
            truncated=response.done_reason == "length",
            prompt_tokens=response.prompt_eval_count or 0,
            completion_tokens=response.eval_count or 0,
            seconds=time.monotonic() - started,
        )

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
