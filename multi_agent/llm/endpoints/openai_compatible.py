"""An endpoint that speaks OpenAI's chat completions API: OpenAI, vLLM, llama.cpp, LM Studio, most hosted models."""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from multi_agent.errors import LLMRefused
from multi_agent.llm.endpoint import EndpointRequest, Reply
from multi_agent.llm.endpoints.response_form import ResponseForms, fields
from multi_agent.llm.endpoints.transport import (
    client_options,
    error_for_status,
    stream_interrupted,
    streaming_unsupported,
    transport_errors,
    wrong_protocol,
)
from multi_agent.llm.llm import Message, OnText
from multi_agent.llm.settings import DEFAULT_URLS, EndpointSettings, ResponseForm

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

# The client requires a key. Servers without keys ignore it.
_NO_KEY = "none"
_PATH = "/chat/completions"
_REJECTED_REQUEST = (400, 422, 501)  # among others, statuses for an unknown field or an unknown value of one


class OpenAICompatible:
    """One model behind ``base_url``. Belongs to the event loop that first uses it."""

    def __init__(self, settings: EndpointSettings, folder: Path | None = None) -> None:
        """``folder`` keeps the form of the schema that the endpoint accepts."""
        import httpx
        import openai

        self._settings = settings
        self.forms = ResponseForms(settings, folder)
        self._client = openai.AsyncOpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key.get_secret_value() if settings.api_key else _NO_KEY,
            max_retries=0,  # RetryingEndpoint retries
            # Declared as httpx2, but httpx works as well, and then both endpoints raise the same transport errors.
            http_client=httpx.AsyncClient(**client_options(settings)),  # type: ignore[arg-type]
        )

    async def send(self, request: EndpointRequest) -> Reply:
        """Send one request. If the endpoint rejects the form of the schema, try the others, and remember what works."""
        first: LLMRefused | None = None
        for form in self.forms.to_try():
            try:
                reply = await self.send_as(form, request)
            except LLMRefused as error:
                first = first or error
                if getattr(error.__cause__, "status_code", None) not in _REJECTED_REQUEST:
                    break
            else:
                self.forms.remember(form)
                return reply
        assert first is not None
        raise first

    async def send_as(self, form: ResponseForm, request: EndpointRequest) -> Reply:
        """Send one request with this form of its schema."""
        started = time.monotonic()
        body = self._body(request, form)
        if request.on_text and self._settings.stream:
            reply = await self._stream(body, request.on_text, request.on_thinking)
            return reply.model_copy(update={"seconds": time.monotonic() - started})
        response = await self._call(self._client.post(_PATH, cast_to=object, body=body))
        return _reply(response, self._settings, time.monotonic() - started)

    async def models(self) -> dict[str, int | None]:
        """Return the context length by model name, None where the server does not report it (vLLM and llama.cpp do)."""
        page = await self._call(self._client.models.list())
        return {model.id: _context_length(model) for model in page.data}

    def _body(self, request: EndpointRequest, form: ResponseForm) -> dict[str, Any]:
        settings = self._settings
        # OpenAI's newer models reject `max_tokens`; most other servers know no other name.
        limit = "max_completion_tokens" if settings.base_url == DEFAULT_URLS["openai"] else "max_tokens"
        body = {
            "model": settings.model,
            "messages": [_message(message) for message in request.messages],
            limit: settings.max_output_tokens,
            **fields(form, request.schema),
        }
        return body if request.temperature is None else body | {"temperature": request.temperature}

    async def _stream(self, body: dict[str, Any], on_text: OnText, on_thinking: OnText | None) -> Reply:
        text = thinking = finish = model = ""
        usage = timings = None
        async with transport_errors(self._settings) as received, aclosing(self._chunks(body)) as chunks:
            await on_text("")
            async for chunk in chunks:
                usage = chunk.get("usage") or usage
                model = chunk.get("model") or model
                timings = chunk.get("timings") or timings
                for choice in chunk["choices"]:
                    finish = choice.get("finish_reason") or finish
                    delta = choice.get("delta") or {}  # some servers' last choice has none
                    added, thought = _text(delta), _thinking(delta)
                    if added or thought:
                        received()
                    if thought:
                        thinking += thought
                        if on_thinking:
                            await on_thinking(thinking)
                    if added:
                        text += added
                        await on_text(text)
        if not finish:
            raise stream_interrupted(self._settings, "the stream has no finish reason")
        if usage is None:
            raise streaming_unsupported(self._settings, "its stream has no token usage, which budgets need")
        tokens = _tokens(usage, timings, self._settings)
        return Reply(text=text, thinking=thinking, truncated=finish == "length", model=model, **tokens)

    async def _chunks(self, body: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the chunks of a stream. Only errors of the stream are translated, not those of its consumer.

        The client returns them as they are (``object``). Its classes take most of the time of reading a stream.
        """
        import openai

        with self._client_errors(streaming=True):
            stream = await self._client.post(
                _PATH,
                cast_to=object,
                body=body | {"stream": True, "stream_options": {"include_usage": True}},
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
            async with stream:
                received = False
                async for chunk in stream:
                    if not isinstance(chunk, dict) or chunk.get("choices") is None:
                        raise wrong_protocol(self._settings, str(chunk))
                    received = True
                    yield chunk
                content_type = stream.response.headers.get("content-type", "")
                if not received and "event-stream" not in content_type:
                    raise self._not_a_stream(content_type)

    def _not_a_stream(self, content_type: str) -> LLMRefused:
        if "json" in content_type:
            return streaming_unsupported(self._settings, "it sent a complete response instead of a stream")
        return wrong_protocol(self._settings, f"content type {content_type or 'unknown'}")

    async def _call(self, request: Awaitable[Any]) -> Any:
        async with transport_errors(self._settings):
            with self._client_errors():
                return await request

    @contextmanager
    def _client_errors(self, *, streaming: bool = False) -> Iterator[None]:
        """Translate the errors of the client."""
        import openai

        settings = self._settings
        try:
            yield
        except openai.APIStatusError as error:
            status, body, headers = error.response.status_code, error.response.text, error.response.headers
            raise error_for_status(settings, status, body, headers, streaming=streaming) from error
        except openai.APIConnectionError as error:
            raise (error.__cause__ or error) from None  # its message is only "Connection error."
        except (openai.APIResponseValidationError, ValueError) as error:
            raise wrong_protocol(settings, str(error)) from error
        except openai.APIError as error:  # an error in place of a chunk
            raise stream_interrupted(settings, error.message) from error


def _message(message: Message) -> dict[str, Any]:
    """Return the message in OpenAI's format, with pictures as data URLs in the parts of the content."""
    if not message.pictures:
        return {"role": message.role, "content": message.content}
    images = (base64.b64encode(picture.png).decode() for picture in message.pictures)
    parts = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}} for image in images]
    return {"role": message.role, "content": [{"type": "text", "text": message.content}, *parts]}


def _context_length(model: Any) -> int | None:
    length = getattr(model, "max_model_len", None) or (getattr(model, "meta", None) or {}).get("n_ctx")
    return int(length) if length else None


def _reply(response: object, settings: EndpointSettings, seconds: float) -> Reply:
    # A body that is not JSON arrives here as a string.
    if not isinstance(response, dict) or not response.get("choices"):
        raise wrong_protocol(settings, str(response))
    [choice, *_] = response["choices"]
    usage = response.get("usage")
    return Reply(
        text=_text(choice["message"]),
        thinking=_thinking(choice["message"]),
        truncated=choice.get("finish_reason") == "length",
        model=response.get("model") or "",
        seconds=seconds,
        **(_tokens(usage, response.get("timings"), settings) if usage else {}),
    )


def _text(message: Mapping[str, Any]) -> str:
    """Return the text in a message or delta: content, arguments of the tool that carries the schema, or a refusal."""
    calls = message.get("tool_calls") or ()
    arguments = "".join(call["function"].get("arguments") or "" for call in calls if call.get("function"))
    return arguments or message.get("content") or message.get("refusal") or ""


def _thinking(message: Mapping[str, Any]) -> str:
    """Return the thinking in a message or delta. Servers differ in the name of the field."""
    return message.get("reasoning_content") or message.get("reasoning") or ""


class _Details(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: _Details | None = None


def _tokens(usage: object, timings: object, settings: EndpointSettings) -> dict[str, int]:
    """Return the tokens of a reply. llama.cpp reports cached ones in ``timings``, other servers in ``usage``."""
    try:
        used = _Usage.model_validate(usage)
    except ValidationError as error:
        raise wrong_protocol(settings, f"usage {usage}") from error
    cached = used.prompt_tokens_details.cached_tokens if used.prompt_tokens_details else None
    if cached is None and isinstance(timings, dict):
        cached = timings.get("cache_n")
    return {
        "prompt_tokens": used.prompt_tokens,
        "cached_tokens": cached or 0,
        "completion_tokens": used.completion_tokens,
    }
