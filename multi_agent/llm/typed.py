"""Turns an endpoint into a language model: parses responses into typed values and retries invalid ones.

``instructor`` drives the retries for all protocols. This module decides what it sees of a response (no thinking, no
Markdown fence) and keeps the exchanges and the usage of a call.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from multi_agent.errors import InvalidResponse, LLMError
from multi_agent.llm.endpoint import Endpoint, EndpointRequest, JsonSchema, Reply
from multi_agent.llm.llm import LLM, Completion, Exchange, LLMRequest, Message, OnText, ResponseT, Usage
from multi_agent.llm.schema import outline_of, schema_of
from multi_agent.llm.settings import EndpointSettings

_EXCERPT = 200


class TypedLLM(LLM):
    """The LLM of one endpoint."""

    def __init__(self, endpoint: Endpoint, settings: EndpointSettings) -> None:
        self._endpoint = endpoint
        self._settings = settings

    @property
    def model(self) -> str:
        return self._settings.model

    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        schema = schema_of(request.response_model)
        conversation = _Conversation(self._endpoint, self._settings, schema, request.varied, request.on_text)
        try:
            value = await self._converse(
                conversation, with_schema(request.messages, request.response_model), request.response_model
            )
        except LLMError as error:
            error.usage, error.exchanges = conversation.usage, tuple(conversation.exchanges)
            raise
        return Completion(
            value=value,
            model=self.model,
            usage=conversation.usage,
            exchanges=tuple(conversation.exchanges),
        )

    async def _converse(
        self, conversation: _Conversation, messages: list[Message], response_model: type[ResponseT]
    ) -> ResponseT:
        import instructor
        from instructor.core import IncompleteOutputException, InstructorRetryException
        from instructor.core.hooks import Hooks

        # This method raises a typed error for everything that instructor logs. Log output would hide that error.
        logging.getLogger("instructor").setLevel(logging.CRITICAL)
        hooks = Hooks()
        hooks.on("parse:error", conversation.reject)
        create: Any = instructor.patch(create=conversation.create, mode=instructor.Mode.JSON_SCHEMA)
        try:
            checked = await create(
                response_model=_checker(response_model),
                messages=[message.model_dump() for message in messages],
                max_retries=self._settings.response_retries,
                strict=False,  # accept "3" for 3, as pydantic does by default
                hooks=hooks,
            )
            return cast("ResponseT", checked.value)
        except IncompleteOutputException:
            raise self._truncated(conversation, response_model) from None
        except InstructorRetryException as error:
            if isinstance(error.__cause__, LLMError):
                raise error.__cause__ from error.__cause__.__cause__
            if isinstance(error.__cause__, ValidationError):
                raise self._invalid(conversation, response_model) from error.__cause__
            raise

    def _truncated(self, conversation: _Conversation, response_model: type[BaseModel]) -> InvalidResponse:
        conversation.reject("stopped at the output limit")
        setting = self._settings.setting
        return InvalidResponse(
            f"The {self._settings.name} reached the output limit before its {response_model.__name__} was complete "
            f"({conversation.usage.completion_tokens} tokens, thinking included). Raise "
            f"{setting('max_output_tokens')}, now {self._settings.max_output_tokens}, and "
            f"{setting('context_window')} if needed, or ask a narrower question."
        )

    def _invalid(self, conversation: _Conversation, response_model: type[BaseModel]) -> InvalidResponse:
        last, setting = conversation.exchanges[-1], self._settings.setting
        return InvalidResponse(
            f"The {self._settings.name} returned no valid {response_model.__name__} in {len(conversation.exchanges)} "
            f"attempts. The last response starts with {last.response[:_EXCERPT]!r}. Error: {last.fault}. Choose "
            f"a model that follows JSON schemas with {setting('model')}, or raise {setting('response_retries')}."
        )


@lru_cache(maxsize=512)
def _checker(response_model: type[BaseModel]) -> type[BaseModel]:
    """Return a type for instructor that validates responses against ``response_model`` but has no fields to inspect.

    Instructor derives a subclass and a schema from the type it gets, and walks all its fields, on every call. For a
    plan that takes longer than everything else Candor does for the call.
    """
    from instructor import ResponseSchema

    class Checked(ResponseSchema):
        value: Any

        @classmethod
        def model_validate_json(cls, json_data: str | bytes | bytearray, **how: Any) -> Any:
            return cls.model_construct(value=response_model.model_validate_json(json_data, **how))

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return {}  # not sent: the conversation has the schema of the type

    return Checked


class _Conversation:
    """The requests and responses of one call, behind the client interface that instructor drives."""

    def __init__(
        self, endpoint: Endpoint, settings: EndpointSettings, schema: JsonSchema, varied: bool, on_text: OnText | None
    ) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._schema = schema
        self._on_text = on_text
        self._temperature = settings.sampling_temperature if varied else settings.temperature
        self.answer = ""
        self.exchanges: list[Exchange] = []
        self.usage = Usage()

    async def create(self, *, messages: list[dict[str, str]], **_: object) -> SimpleNamespace:
        """Send the messages and return the parts of OpenAI's response object that instructor reads."""
        sent = tuple(Message.model_validate(message) for message in messages)
        on_text = self._report_text if self._on_text else None
        reply = await self._endpoint.send(EndpointRequest(sent, self._schema, self._temperature, on_text))
        text, inline_thinking = split_thinking(reply.text)
        thinking = "\n".join(filter(None, (reply.thinking, inline_thinking)))
        self.exchanges.append(Exchange(response=text, thinking=thinking))
        self.usage += self._usage_of(reply)
        self.answer = without_fence(text)
        message = SimpleNamespace(role="assistant", content=self.answer)
        return SimpleNamespace(
            choices=[SimpleNamespace(message=message, finish_reason="length" if reply.truncated else "stop")]
        )

    async def _report_text(self, text: str) -> None:
        if self._on_text:
            await self._on_text(partial_answer(text))

    def reject(self, fault: object) -> None:
        """Record why the last response is invalid."""
        message = _describe(fault) if isinstance(fault, ValidationError) else str(fault)
        self.exchanges[-1] = self.exchanges[-1].model_copy(update={"fault": message})

    def _usage_of(self, reply: Reply) -> Usage:
        prices = (self._settings.prompt_price, self._settings.completion_price)
        return Usage(
            model_calls=1,
            prompt_tokens=reply.prompt_tokens,
            cached_tokens=reply.cached_tokens,
            completion_tokens=reply.completion_tokens,
            seconds=reply.seconds,
            cost=(reply.prompt_tokens * prices[0] + reply.completion_tokens * prices[1]) / 1_000_000,
        )


def with_schema(messages: Sequence[Message], response_model: type[BaseModel]) -> list[Message]:
    """Return the messages with the outline of the response appended to the system message.

    Constrained decoding enforces the form, but most servers do not show the schema to the model. Without it, the model
    would fill fields without knowing their descriptions.
    """
    instruction = f"Answer with one JSON object and nothing else, in this form:\n{outline_of(response_model)}"
    if messages and messages[0].role == "system":
        return [Message.system(f"{messages[0].content}\n\n{instruction}"), *messages[1:]]
    return [Message.system(instruction), *messages]


def split_thinking(text: str) -> tuple[str, str]:
    """Return the answer, and the thinking before it between ``<think>`` and ``</think>``.

    Some chat templates remove the opening tag. A missing closing tag means that there is no answer.
    """
    text = text.strip()
    if text.startswith("<think>"):
        thinking, _, answer = text.removeprefix("<think>").partition("</think>")
        return answer.strip(), thinking.strip()
    if "</think>" in text and not text.startswith(("{", "[", "```")):
        thinking, _, answer = text.partition("</think>")
        return answer.strip(), thinking.strip()
    return text, ""


def partial_answer(text: str) -> str:
    """Return the part of the answer in a response that is still being written."""
    answer, _ = split_thinking(text)
    return answer.partition("\n")[2] if answer.startswith("```") else answer


def without_fence(text: str) -> str:
    """Return the text without a Markdown fence around it."""
    if not (text.startswith("```") and text.endswith("```") and "\n" in text):
        return text
    return text.partition("\n")[2].removesuffix("```").strip()


def _describe(error: ValidationError) -> str:
    """Return location and message of each error, without pydantic's links."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        f"{'.'.join(map(str, each['loc']))}: {each['msg']}" if each["loc"] else each["msg"] for each in errors
    )
