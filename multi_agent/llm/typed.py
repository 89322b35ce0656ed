"""Makes a language model of an endpoint: text in, typed value out, and invalid responses given back with their fault.

``instructor`` drives the re-asking, for every protocol alike; this file owns what it sees of a response (without
thinking, without a Markdown fence) and what is kept of the conversation.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from multi_agent.errors import InvalidResponse, LLMError
from multi_agent.llm.endpoint import Endpoint, JsonSchema, Reply
from multi_agent.llm.llm import Completion, Exchange, Hear, Message, ResponseT, Usage
from multi_agent.llm.schema import schema_of
from multi_agent.llm.settings import EndpointSettings

_EXCERPT = 200


class TypedLLM:
    """The LLM behind one endpoint."""

    def __init__(self, endpoint: Endpoint, settings: EndpointSettings) -> None:
        self._endpoint = endpoint
        self._settings = settings

    @property
    def model(self) -> str:
        return self._settings.model

    async def complete(
        self,
        messages: Sequence[Message],
        response_model: type[ResponseT],
        *,
        varied: bool = False,
        hear: Hear | None = None,
    ) -> Completion[ResponseT]:
        schema = schema_of(response_model)
        conversation = _Conversation(self._endpoint, self._settings, schema, varied, hear)
        try:
            value = await self._converse(conversation, with_schema(messages, schema), response_model)
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

        # All that it logs comes out of here as a typed error; printed as well, it would bury that error's message.
        logging.getLogger("instructor").setLevel(logging.CRITICAL)
        hooks = Hooks()
        hooks.on("parse:error", conversation.reject)
        create: Any = instructor.patch(create=conversation.create, mode=instructor.Mode.JSON_SCHEMA)
        try:
            checked = await create(
                response_model=_checker(response_model),
                messages=[message.model_dump() for message in messages],
                max_retries=self._settings.response_retries,
                strict=False,  # pydantic's usual leniency: a model that writes "3" for 3 has answered
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
            f"The {self._settings.name} reached the output limit in the middle of its {response_model.__name__}: "
            f"{conversation.usage.completion_tokens} tokens, thinking included. Raise {setting('max_output_tokens')}, "
            f"now {self._settings.max_output_tokens}, and with it {setting('context_window')} where needed; or ask a "
            "narrower question."
        )

    def _invalid(self, conversation: _Conversation, response_model: type[BaseModel]) -> InvalidResponse:
        last, setting = conversation.exchanges[-1], self._settings.setting
        return InvalidResponse(
            f"The {self._settings.name} gave no valid {response_model.__name__} in {len(conversation.exchanges)} "
            f"attempts. The last one began {last.response[:_EXCERPT]!r}; its fault: {last.fault}. Take a model that "
            f"keeps to a JSON schema with {setting('model')}, or raise {setting('response_retries')}."
        )


@lru_cache(maxsize=512)
def _checker(response_model: type[BaseModel]) -> type[BaseModel]:
    """What instructor is given for the type: it checks a response by the type, and has nothing to be looked into.

    Of a type that it is given, instructor makes a subclass and a schema, and walks through all its fields, anew for
    every call; for a plan that takes more time than everything else that Candor does about the call.
    """
    from instructor import ResponseSchema

    class Checked(ResponseSchema):
        value: Any

        @classmethod
        def model_validate_json(cls, json_data: str | bytes | bytearray, **how: Any) -> Any:
            return cls.model_construct(value=response_model.model_validate_json(json_data, **how))

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return {}  # it is not sent: the conversation has the type's own

    return Checked


class _Conversation:
    """One call's requests and responses: the part of a client that instructor drives."""

    def __init__(
        self, endpoint: Endpoint, settings: EndpointSettings, schema: JsonSchema, varied: bool, hear: Hear | None
    ) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._schema = schema
        self._hear = hear
        self._temperature = settings.sampling_temperature if varied else settings.temperature
        self.answer = ""
        self.exchanges: list[Exchange] = []
        self.usage = Usage()

    async def create(self, *, messages: list[dict[str, str]], **_: object) -> SimpleNamespace:
        """Send the messages; answer in the shape of OpenAI's response object, as far as instructor reads it."""
        sent = [Message.model_validate(message) for message in messages]
        reply = await self._endpoint.send(sent, self._schema, self._temperature, self._hear and self._heard)
        text, aloud = split_thinking(reply.text)
        self.exchanges.append(Exchange(response=text, thinking="\n".join(filter(None, (reply.thinking, aloud)))))
        self.usage += self._usage_of(reply)
        self.answer = without_fence(text)
        message = SimpleNamespace(role="assistant", content=self.answer)
        return SimpleNamespace(
            choices=[SimpleNamespace(message=message, finish_reason="length" if reply.truncated else "stop")]
        )

    async def _heard(self, text: str) -> None:
        if self._hear:
            await self._hear(answer_begun(text))

    def reject(self, fault: object) -> None:
        """Keep why the last response was not accepted."""
        said = _in_words(fault) if isinstance(fault, ValidationError) else str(fault)
        self.exchanges[-1] = self.exchanges[-1].model_copy(update={"fault": said})

    def _usage_of(self, reply: Reply) -> Usage:
        prices = (self._settings.prompt_price, self._settings.completion_price)
        return Usage(
            model_calls=1,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            seconds=reply.seconds,
            cost=(reply.prompt_tokens * prices[0] + reply.completion_tokens * prices[1]) / 1_000_000,
        )


def with_schema(messages: Sequence[Message], schema: JsonSchema) -> list[Message]:
    """The messages with the schema told to the model, at the end of the system message.

    Constrained decoding alone keeps a model to the form, but most servers do not show it the schema: it would write
    into fields whose descriptions it has never read.
    """
    told = "Answer with one JSON object and nothing else. It must follow this JSON schema:\n" + json.dumps(
        _untitled(schema), ensure_ascii=False, separators=(",", ":")
    )
    if messages and messages[0].role == "system":
        return [Message.system(f"{messages[0].content}\n\n{told}"), *messages[1:]]
    return [Message.system(told), *messages]


def _untitled(schema: Any) -> Any:
    """The schema without the titles that pydantic derives from names: they tell a model nothing and cost tokens."""
    if isinstance(schema, list):
        return [_untitled(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _untitled(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}


def split_thinking(text: str) -> tuple[str, str]:
    """The answer, and what the model thought aloud before it between ``<think>`` and ``</think>``.

    Some chat templates swallow the opening mark; an unclosed one means that it never got to an answer.
    """
    text = text.strip()
    if text.startswith("<think>"):
        thinking, _, answer = text.removeprefix("<think>").partition("</think>")
        return answer.strip(), thinking.strip()
    if "</think>" in text and not text.startswith(("{", "[", "```")):
        thinking, _, answer = text.partition("</think>")
        return answer.strip(), thinking.strip()
    return text, ""


def answer_begun(text: str) -> str:
    """What is there of the answer in a response that is still being written."""
    answer, _ = split_thinking(text)
    return answer.partition("\n")[2] if answer.startswith("```") else answer


def without_fence(text: str) -> str:
    """The text inside a Markdown fence, if the fence is all there is around it."""
    if not (text.startswith("```") and text.endswith("```") and "\n" in text):
        return text
    return text.partition("\n")[2].removesuffix("```").strip()


def _in_words(error: ValidationError) -> str:
    """Where and what, one clause per fault, without pydantic's links."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" if fault["loc"] else fault["msg"] for fault in faults
    )
