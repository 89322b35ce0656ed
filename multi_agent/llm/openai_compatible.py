"""An endpoint that speaks OpenAI's chat completions: OpenAI, vLLM, llama.cpp, LM Studio, most hosted models."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from multi_agent.llm.endpoint import JsonSchema, Reply
from multi_agent.llm.llm import Message
from multi_agent.llm.settings import DEFAULT_URLS, EndpointSettings
from multi_agent.llm.transport import client_options, foreign, speaking_to, status_fault

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from openai.types.chat import ChatCompletion

# Servers without keys ignore it; the client insists on one.
_NO_KEY = "none"


class OpenAICompatible:
    """One model behind ``base_url``. Belongs to the event loop that first uses it."""

    def __init__(self, settings: EndpointSettings) -> None:
        import httpx
        import openai

        self._settings = settings
        self._client = openai.AsyncOpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key.get_secret_value() if settings.api_key else _NO_KEY,
            max_retries=0,  # retrying.py retries, so that every attempt is counted once
            # It says httpx2 and takes either: with httpx its faults are those that Ollama's client has, too.
            http_client=httpx.AsyncClient(**client_options(settings)),  # type: ignore[arg-type]
        )

    async def send(self, messages: Sequence[Message], schema: JsonSchema, temperature: float | None) -> Reply:
        started = time.monotonic()
        request = self._request(messages, schema, temperature)
        response = await self._call(self._client.chat.completions.create(**request))
        return _reply(response, self._settings, time.monotonic() - started)

    async def models(self) -> dict[str, int | None]:
        """The models that it offers, with their context length where it tells (vLLM does)."""
        page = await self._call(self._client.models.list())
        return {model.id: getattr(model, "max_model_len", None) for model in page.data}

    def _request(self, messages: Sequence[Message], schema: JsonSchema, temperature: float | None) -> dict[str, Any]:
        settings = self._settings
        # OpenAI's own newer models refuse `max_tokens`; most other servers know nothing else.
        limit = "max_completion_tokens" if settings.base_url == DEFAULT_URLS["openai"] else "max_tokens"
        form = {"type": "json_schema", "json_schema": {"name": _name(schema), "schema": schema}}
        request = {
            "model": settings.model,
            "messages": [message.model_dump() for message in messages],
            "extra_body": {"response_format": form},  # sent as it is: the client would look into every part of it
            limit: settings.max_output_tokens,
        }
        return request if temperature is None else request | {"temperature": temperature}

    async def _call(self, request: Awaitable[Any]) -> Any:
        import openai

        async with speaking_to(self._settings):
            try:
                return await request
            except openai.APIStatusError as error:
                response = error.response
                raise status_fault(self._settings, response.status_code, response.text, response.headers) from error
            except openai.APIConnectionError as error:
                raise (error.__cause__ or error) from None  # it hides what happened behind "Connection error."
            except (openai.APIResponseValidationError, ValueError) as error:
                raise foreign(self._settings, str(error)) from error


def _reply(response: ChatCompletion, settings: EndpointSettings, seconds: float) -> Reply:
    # A body of another type than JSON reaches us as a plain string: the client checks nothing.
    choices = getattr(response, "choices", None)
    if not choices:
        raise foreign(settings, str(response))
    message = choices[0].message
    thinking = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
    return Reply(
        text=message.content or message.refusal or "",
        thinking=thinking or "",
        truncated=choices[0].finish_reason == "length",
        prompt_tokens=response.usage.prompt_tokens if response.usage else 0,
        completion_tokens=response.usage.completion_tokens if response.usage else 0,
        seconds=seconds,
    )


def _name(schema: JsonSchema) -> str:
    """The schema's title in the characters that the protocol allows for a name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title", "Response")))[:64]
