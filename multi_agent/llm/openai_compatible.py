"""An endpoint that speaks OpenAI's chat completions: OpenAI, vLLM, llama.cpp, LM Studio, most hosted models."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

from multi_agent.errors import LLMRefused
from multi_agent.llm.endpoint import JsonSchema, Reply
from multi_agent.llm.llm import Hear, Message
from multi_agent.llm.settings import DEFAULT_URLS, EndpointSettings
from multi_agent.llm.transport import broken_off, client_options, foreign, no_stream, speaking_to, status_fault

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

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

    async def send(
        self, messages: Sequence[Message], schema: JsonSchema, temperature: float | None, hear: Hear | None = None
    ) -> Reply:
        started = time.monotonic()
        request = self._request(messages, schema, temperature)
        if hear and self._settings.stream:
            reply = await self._streamed(request, hear)
            return reply.model_copy(update={"seconds": time.monotonic() - started})
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

    async def _streamed(self, request: dict[str, Any], hear: Hear) -> Reply:
        text = thinking = finish = ""
        usage = None
        async with speaking_to(self._settings), aclosing(self._chunks(request)) as chunks:
            await hear("")
            async for chunk in chunks:
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    finish = choice.finish_reason or finish
                    delta = getattr(choice, "delta", None)  # some servers' last choice has none
                    thinking += _thinking(delta)
                    if said := delta and (delta.content or delta.refusal):
                        text += said
                        await hear(text)
        if not finish:
            raise broken_off(self._settings, "its stream ended without a reason to finish")
        if usage is None:
            raise no_stream(self._settings, "it did not tell how many tokens it took, which budgets are kept by")
        return Reply(text=text, thinking=thinking, truncated=finish == "length", **_tokens(usage))

    async def _chunks(self, request: dict[str, Any]) -> AsyncGenerator[ChatCompletionChunk]:
        """Of a stream. Faults are translated here, so that none of whoever takes the chunks is."""
        with self._translating(streaming=True):
            stream = await self._client.chat.completions.create(
                **request, stream=True, stream_options={"include_usage": True}
            )
            async with stream:
                came = False
                async for chunk in stream:
                    if getattr(chunk, "choices", None) is None:
                        raise foreign(self._settings, str(chunk))
                    came = True
                    yield chunk
                kind = stream.response.headers.get("content-type", "")
                if not came and "event-stream" not in kind:
                    raise self._not_a_stream(kind)

    def _not_a_stream(self, kind: str) -> LLMRefused:
        if "json" in kind:
            return no_stream(self._settings, "it sent a whole response")
        return foreign(self._settings, f"something of the type {kind or 'unknown'}")

    async def _call(self, request: Awaitable[Any]) -> Any:
        async with speaking_to(self._settings):
            with self._translating():
                return await request

    @contextmanager
    def _translating(self, *, streaming: bool = False) -> Iterator[None]:
        """The errors of the client."""
        import openai

        settings = self._settings
        try:
            yield
        except openai.APIStatusError as error:
            status, body, headers = error.response.status_code, error.response.text, error.response.headers
            raise status_fault(settings, status, body, headers, streaming=streaming) from error
        except openai.APIConnectionError as error:
            raise (error.__cause__ or error) from None  # it hides what happened behind "Connection error."
        except (openai.APIResponseValidationError, ValueError) as error:
            raise foreign(settings, str(error)) from error
        except openai.APIError as error:  # an error in place of a chunk
            raise broken_off(settings, error.message) from error


def _reply(response: ChatCompletion, settings: EndpointSettings, seconds: float) -> Reply:
    # A body of another type than JSON reaches us as a plain string: the client checks nothing.
    choices = getattr(response, "choices", None)
    if not choices:
        raise foreign(settings, str(response))
    message = choices[0].message
    return Reply(
        text=message.content or message.refusal or "",
        thinking=_thinking(message),
        truncated=choices[0].finish_reason == "length",
        seconds=seconds,
        **(_tokens(response.usage) if response.usage else {}),
    )


def _thinking(said: object) -> str:
    """What a message, or a piece of one, holds in the fields that servers have for thinking."""
    return getattr(said, "reasoning_content", None) or getattr(said, "reasoning", None) or ""


def _tokens(usage: CompletionUsage) -> dict[str, int]:
    return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}


def _name(schema: JsonSchema) -> str:
    """The schema's title in the characters that the protocol allows for a name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title", "Response")))[:64]
