"""An endpoint that speaks OpenAI's chat completions API: OpenAI, vLLM, llama.cpp, LM Studio, most hosted models."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from multi_agent.errors import LLMRefused
from multi_agent.llm.endpoint import EndpointRequest, Reply
from multi_agent.llm.endpoints.memory import ResponseForms, fields
from multi_agent.llm.endpoints.transport import (
    client_options,
    error_for_status,
    stream_interrupted,
    streaming_unsupported,
    transport_errors,
    wrong_protocol,
)
from multi_agent.llm.settings import EndpointSettings, ResponseForm
from multi_agent.model import Message, OnText
from vectorstore.settings import DEFAULT_URLS

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

# The client requires a key. Servers without keys ignore it.
_NO_KEY = "none"
_PATH = "/chat/completions"
_CUT = {"length", "max_tokens", "max_output_tokens"}  # servers differ in the name of this finish reason
_REJECTED_REQUEST = (400, 422, 501)  # among others, statuses for an unknown field or an unknown value of one


class _Function(BaseModel):
    """The arguments of a tool call. A stream sends them in pieces."""

    arguments: str | dict[str, Any] | None = None

    @property
    def text(self) -> str:
        return json.dumps(self.arguments) if isinstance(self.arguments, dict) else self.arguments or ""


class _ToolCall(BaseModel):
    """A call of the tool that carries the schema."""

    function: _Function | None = None


class _Content(BaseModel):
    """A message, or the delta of one. Servers differ in the name of the field for thinking."""

    content: str | dict[str, Any] | list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None
    reasoning_content: Any = None
    reasoning: Any = None

    @property
    def text(self) -> str:
        calls = (call.function for call in self.tool_calls or ())
        arguments = "".join(function.text for function in calls if function)
        return arguments or _parts(self.content, "text") or self.refusal or ""

    @property
    def thinking(self) -> str:
        inside = self.content if isinstance(self.content, list) else ""
        return _parts(self.reasoning_content, "text") or _parts(self.reasoning, "text") or _parts(inside, "thinking")


def _parts(content: Any, kind: str) -> str:
    """Return the text of the content of a message: a string, an object with a text, or a list of such objects."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "".join(_parts(part[kind], "text") for part in parts if isinstance(part, dict) and kind in part)


class _Choice(BaseModel):
    """A choice of a response, or of a chunk. Some have no message: the last of a stream, or one without room."""

    message: _Content | None = None
    delta: _Content | None = None
    finish_reason: str | None = None

    @property
    def is_cut(self) -> bool:
        return (self.finish_reason or "").lower() in _CUT


class _TokenDetails(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: _TokenDetails | None = None


class _Timings(BaseModel):
    """Measurements of llama.cpp, which reports cached tokens here and not in ``usage``."""

    cache_n: int | None = None


class _Response(BaseModel):
    """What Candor reads of a response, with types that the client does not check."""

    model: str | None = None
    usage: _Usage | None = None
    timings: _Timings | None = None


class _Completion(_Response):
    choices: list[_Choice] = Field(min_length=1)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.choices[0].message and not self.choices[0].finish_reason:
            raise ValueError("neither a message nor a reason why there is none")
        return self


class _Chunk(_Response):
    """A part of a stream. Those with a ping or with measurements have no choices."""

    choices: list[_Choice] = []

    @field_validator("choices", mode="before")
    @classmethod
    def _may_be_null(cls, value: object) -> object:
        return [] if value is None else value


class _Meta(BaseModel):
    n_ctx: int | None = None


class _Model(BaseModel):
    """A model of the list. vLLM and llama.cpp report its context length."""

    id: str
    max_model_len: int | None = None
    meta: _Meta | None = None

    @property
    def context_length(self) -> int | None:
        return self.max_model_len or (self.meta.n_ctx if self.meta else None)


class _Listing(BaseModel):
    data: list[_Model]


AnyResponse = TypeVar("AnyResponse", bound=BaseModel)


class OpenAICompatible:
    """One model behind ``base_url``. Belongs to the event loop that first uses it."""

    def __init__(self, settings: EndpointSettings, folder: Path | None = None) -> None:
        """``folder`` keeps the form of the schema that the endpoint accepts."""
        import httpx
        import openai

        from multi_agent.llm.endpoints.keep_alive import read_to_end

        self._settings = settings
        self.forms = ResponseForms(settings, folder)
        url = urlsplit(settings.base_url)
        key = settings.api_key.get_secret_value() if settings.api_key else _NO_KEY
        self._client = openai.AsyncOpenAI(
            base_url=url._replace(query="").geturl(),
            default_query=dict(parse_qsl(url.query)),  # a path is added to the address, not to its query
            default_headers={"api-key": key} if "api-version=" in url.query else {},  # Azure's name for it
            api_key=key,
            max_retries=0,  # RetryingEndpoint retries
            # Declared as httpx2, but httpx works as well, and then both endpoints raise the same transport errors.
            http_client=httpx.AsyncClient(  # type: ignore[arg-type]
                **client_options(settings), event_hooks={"response": [read_to_end]}
            ),
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
        return _reply(self._parse(_Completion, response), time.monotonic() - started)

    async def models(self) -> dict[str, int | None]:
        """Return the context length by model name, None where the server does not report it (vLLM and llama.cpp do)."""
        listed = self._parse(_Listing, await self._call(self._client.get("/models", cast_to=object)))
        return {model.id: model.context_length for model in listed.data}

    def _body(self, request: EndpointRequest, form: ResponseForm) -> dict[str, Any]:
        settings = self._settings
        # OpenAI's newer models reject `max_tokens`; most other servers know no other name.
        limit = "max_completion_tokens" if settings.base_url == DEFAULT_URLS["openai"] else "max_tokens"
        body = {
            "model": settings.model,
            "messages": [_message(message) for message in request.messages],
            limit: settings.max_output_tokens,
            **fields(form, request.schema),
            **({} if settings.effort is None else {"reasoning_effort": settings.effort}),
            **settings.extra_body,
        }
        return body if request.temperature is None else body | {"temperature": request.temperature}

    async def _stream(self, body: dict[str, Any], on_text: OnText, on_thinking: OnText | None) -> Reply:
        text = thinking = model = ""
        last: _Choice | None = None
        usage: _Usage | None = None
        timings: _Timings | None = None
        async with transport_errors(self._settings) as received, aclosing(self._chunks(body)) as chunks:
            await on_text("")
            async for chunk in chunks:
                usage = chunk.usage or usage
                model = chunk.model or model
                timings = chunk.timings or timings
                for choice in chunk.choices:
                    last = choice if choice.finish_reason else last
                    delta = choice.delta or choice.message or _Content()
                    added, thought = delta.text, delta.thinking
                    if added or thought:
                        received()
                    if thought:
                        thinking += thought
                        if on_thinking:
                            await on_thinking(thinking)
                    if added:
                        text += added
                        await on_text(text)
        if last is None:
            raise stream_interrupted(self._settings, "the stream has no finish reason")
        if usage is None:
            raise streaming_unsupported(self._settings, "its stream has no token usage, which budgets need")
        tokens = _tokens(usage, timings)
        return Reply(text=text, thinking=thinking, truncated=last.is_cut, model=model, **tokens)

    async def _chunks(self, body: dict[str, Any]) -> AsyncGenerator[_Chunk]:
        """Yield the chunks of a stream. Only errors of the stream are translated, not those of its consumer.

        The client returns them as they are (``object``). Its own classes take most of the time of reading a stream.
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
                chunk, has_choice = None, False
                async for chunk in stream:
                    parsed = self._parse(_Chunk, chunk)
                    has_choice = has_choice or bool(parsed.choices)
                    yield parsed
                if chunk is not None and not has_choice:
                    raise wrong_protocol(self._settings, str(chunk))
                content_type = stream.response.headers.get("content-type", "")
                if chunk is None and "event-stream" not in content_type:
                    raise self._not_a_stream(content_type)

    def _parse(self, schema: type[AnyResponse], response: object) -> AnyResponse:
        """Return what Candor reads of a response. A body that is not JSON arrives as a string."""
        try:
            return schema.model_validate(response)
        except ValidationError as error:
            raise wrong_protocol(self._settings, str(response)) from error

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


def _reply(completion: _Completion, seconds: float) -> Reply:
    choice = completion.choices[0]
    message = choice.message or _Content()
    return Reply(
        text=message.text,
        thinking=message.thinking,
        truncated=choice.is_cut,
        model=completion.model or "",
        seconds=seconds,
        **(_tokens(completion.usage, completion.timings) if completion.usage else {}),
    )


def _tokens(usage: _Usage, timings: _Timings | None) -> dict[str, int]:
    prompt, details = usage.prompt_tokens or 0, usage.prompt_tokens_details
    written = usage.completion_tokens
    cached = details.cached_tokens if details else None
    if cached is None and timings:
        cached = timings.cache_n
    return {
        "prompt_tokens": prompt,
        "cached_tokens": cached or 0,
        "completion_tokens": max((usage.total_tokens or 0) - prompt, 0) if written is None else written,
    }
