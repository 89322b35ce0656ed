"""Turns an endpoint into a language model. Parses responses into typed values and retries invalid ones.

``instructor`` controls the retries for all protocols. This module passes it repaired responses without thinking, which
models and servers mark in different ways, asks for a shorter response after an incomplete one, and records the
exchanges and the usage of a call.
"""

import logging
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from base.counts import count
from base.models import describe_faults
from multi_agent.errors import InvalidResponse, LLMError
from multi_agent.llm.endpoint import Endpoint, EndpointRequest, Reply
from multi_agent.llm.endpoints.memory import EndpointMemory
from multi_agent.llm.responses.repair import Repaired, repair
from multi_agent.llm.responses.schema import outline_of, schema_of
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.vision import Vision
from multi_agent.model import LLM, Completion, LLMRequest, Message, ModelResponse, ResponseT, Usage
from multi_agent.prompt import Prompt

_NAME = r"(?:[\w-]{1,20}[:_])?(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|reflection|scratchpad|monologue|思考)"
_FORMS = (
    (r"<\|begin_of_thought\|>", "<|end_of_thought|>"),
    (r"<\|start_thinking\|>", "<|end_thinking|>"),
    (r"<\|inner_prefix\|>", "<|inner_suffix|>"),
    (r"<\|channel\|>\s*(?:analysis|commentary)[^{]*?<\|message\|>", "<|end|>"),
    (r"<\|channel>\s*thought", "<channel|>"),
    (r"<unused94>\s*thought", "<unused95>"),  # MedGemma
    (r"\Aanalysis(?=\w)", "assistantfinal"),  # of a server that removes the marks above
    (rf"(<\|?|\[|◁)({_NAME})(\|?>|\]|▷)", r"\1/\2\3"),
)
_MARKS = tuple((re.compile(start, re.IGNORECASE), end) for start, end in _FORMS)
"""The start of thinking and its end."""
_END = re.compile(rf"(?:<\|?|\[|◁)/{_NAME}(?:\|?>|\]|▷)", re.IGNORECASE)
_ANSWER = re.compile(r"\A(?:<\|\w+\|>(?:assistant|final)?\s*)*")


def split_thinking(text: str) -> tuple[str, str, bool]:
    """Return the answer, the thinking before it, and whether the thinking has ended. If not, there is no answer.

    Some chat templates remove the mark of the start.
    """
    thoughts, has_end = [], True
    while found := _start_of_thinking(text):
        start, end = found
        rest = text[start.end() :]
        last = re.search(re.escape(start.expand(end)), rest, re.IGNORECASE)
        thoughts.append((rest[: last.start()] if last else rest).strip())
        has_end, text = last is not None, rest[last.end() :] if last else ""
    text = text.strip()
    if not text.startswith(("{", "[", "```")) and (last := _END.search(text)):  # of nested marks, too
        thoughts, text = [*thoughts, text[: last.start()].strip()], text[last.end() :]
    text = text.strip()
    return _ANSWER.sub("", text, count=1), "\n".join(thoughts), has_end


def _start_of_thinking(text: str) -> tuple[re.Match[str], str] | None:
    """Return where thinking starts, before any JSON object, with the mark of its end."""
    before = text.find("{") if "{" in text else len(text)
    return next(((start, end) for mark, end in _MARKS if (start := mark.search(text, 0, before))), None)


_EXCERPT = 200


class TypedLLM(LLM):
    """The LLM of one endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        settings: EndpointSettings,
        vision: Vision | None = None,
        claim_checks: EndpointMemory | None = None,
    ) -> None:
        self._endpoint, self._settings = endpoint, settings
        self._vision = vision or Vision(settings)
        self._claim_checks = claim_checks

    @property
    def model(self) -> str:
        return self._settings.model

    @property
    def has_price(self) -> bool:
        return bool(self._settings.prompt_price or self._settings.completion_price)

    async def takes_pictures(self) -> bool:
        return await self._vision.available()

    def checks_claims(self) -> bool:
        return bool(self._claim_checks and self._claim_checks.recall())

    async def check_settings(self) -> None:
        if self._settings.vision == "on":
            await self._vision.available()

    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        messages = with_schema(request.messages, request.response_model)
        conversation = _Conversation(self._endpoint, self._settings, request, messages)
        try:
            value = await self._converse(conversation, messages, request.response_model)
        except LLMError as error:
            error.usage, error.exchanges = conversation.usage, tuple(conversation.exchanges)
            raise
        return Completion(
            value=value, model=self.model, usage=conversation.usage, exchanges=tuple(conversation.exchanges)
        )

    async def _converse(
        self, conversation: "_Conversation", messages: list[Message], response_model: type[ResponseT]
    ) -> ResponseT:
        import instructor
        from instructor.core import InstructorRetryException
        from instructor.core.hooks import Hooks

        # Everything that instructor logs is also raised as a typed error. The log output would hide that error.
        logging.getLogger("instructor").setLevel(logging.CRITICAL)
        hooks = Hooks()
        hooks.on("parse:error", conversation.reject)
        create: Any = instructor.patch(create=conversation.create, mode=instructor.Mode.JSON_SCHEMA)
        try:
            value: ResponseT = await create(
                response_model=_instructed(response_model),
                messages=[{"role": message.role, "content": message.content} for message in messages],
                max_retries=self._settings.response_retries,
                strict=False,  # accept "3" for 3, as pydantic does by default
                hooks=hooks,
            )
            return value
        except InstructorRetryException as error:
            if isinstance(error.__cause__, LLMError):
                raise error.__cause__ from error.__cause__.__cause__
            if isinstance(error.__cause__, ValidationError):
                raise self._invalid(conversation) from error.__cause__
            raise

    def _invalid(self, conversation: "_Conversation") -> InvalidResponse:
        last, setting = conversation.exchanges[-1], self._settings.setting
        return InvalidResponse(
            f"The {self._settings.name} gave no valid response in {count(len(conversation.exchanges), 'attempt')}. "
            f"The last response starts with {last.response[:_EXCERPT]!r}. Error: {last.fault}. "
            f"Choose a model that follows JSON schemas with {setting('model')}, or raise "
            f"{setting('response_retries')}."
        )


@lru_cache(maxsize=512)
def _instructed(response_model: type[ResponseT]) -> type[ResponseT]:
    """Return the type as instructor derives it. Its values are of ``response_model`` itself.

    Instructor would derive the type and build its schema for every call, which takes 4 to 10 ms.
    """
    import instructor

    derived: Any = instructor.response_schema(response_model)
    derived.model_validate_json = response_model.model_validate_json
    derived.model_json_schema = lambda *_, **__: schema_of(response_model)
    return cast("type[ResponseT]", derived)


class _Conversation:
    """The requests and responses of one call, behind the client interface that instructor drives."""

    def __init__(
        self, endpoint: Endpoint, settings: EndpointSettings, request: LLMRequest[Any], opening: Sequence[Message]
    ) -> None:
        """Create the conversation. Instructor starts with the messages in ``opening`` and appends others."""
        self._endpoint = endpoint
        self._pictures = [message.pictures for message in opening]
        self._settings = settings
        self._response_model: type[BaseModel] = request.response_model
        self._on_text = request.on_text
        self._temperature = settings.sampling_temperature if request.varied else settings.temperature
        self._shortened = settings.response_retries == 0
        self.exchanges: list[ModelResponse] = []
        self.usage = Usage()

    async def create(self, *, messages: list[dict[str, Any]], **_: object) -> SimpleNamespace:
        """Send the messages and return the parts of OpenAI's response object that instructor reads.

        After an incomplete response, ask once per call for a shorter one. Raises InvalidResponse if that is incomplete,
        too.
        """
        pictures = chain(self._pictures, repeat(()))  # instructor handles only text
        sent = tuple(Message(**text, pictures=each) for text, each in zip(messages, pictures, strict=False))
        if self.exchanges:  # instructor's own request quotes pydantic's links
            sent = (*sent[:-1], Message.user(Prompt.part("correct_response", fault=self.exchanges[-1].fault)))
        answer, incomplete = await self._ask(sent)
        if incomplete and not self._shortened:
            self._shortened = True
            answer, incomplete = await self._ask(_ask_shorter(sent, incomplete))
        if incomplete:
            raise self._incomplete(incomplete)
        message = SimpleNamespace(role="assistant", content=answer)
        return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")])

    async def _ask(self, messages: tuple[Message, ...]) -> tuple[str, str]:
        """Send the messages. Return the response as JSON, and the reason if it is incomplete, else an empty text."""
        on_text = self._report_text if self._on_text else None
        schema = schema_of(self._response_model)
        reply = await self._endpoint.send(EndpointRequest(messages, schema, self._temperature, on_text))
        response, thinking, repaired = _read(reply, self._response_model)
        stopped = reply.cut or ("it reached the output limit" if reply.truncated else "")
        accepted = (f"ended the response after the JSON object: {stopped}",) if stopped and repaired.valid else ()
        self.exchanges.append(
            ModelResponse(
                response=response,
                thinking=thinking,
                repairs=(*repaired.repairs, *accepted),
                finish_reason="length" if reply.truncated else "cut" if reply.cut else "stop",
                model=reply.model,
            )
        )
        self.usage += self._usage_of(reply)
        if not stopped or repaired.valid:
            return repaired.text, ""
        self.reject(f"stopped: {stopped}")
        return repaired.text, stopped

    def _incomplete(self, reason: str) -> InvalidResponse:
        setting, number = self._settings.setting, len(self.exchanges)
        only_thought = self.exchanges[-1].thinking and not self.exchanges[-1].response
        limit = f"The model only thought: set {setting('think')} to false or low. "
        advice = limit if only_thought else ""
        return InvalidResponse(
            f"The {self._settings.name} did not complete its response in {count(number, 'attempt')}: {reason} "
            f"({count(self.usage.completion_tokens, 'token')}, including thinking). {advice}Ask a narrower "
            f"question, or choose a more capable model with {setting('model')}. If its "
            f"responses are long, raise {setting('max_output_tokens')}, now {self._settings.max_output_tokens}, and "
            f"{setting('context_window')} if needed."
        )

    async def _report_text(self, text: str) -> None:
        if self._on_text:
            await self._on_text(partial_answer(text))

    def reject(self, fault: object) -> None:
        """Record why the last response is invalid."""
        message = describe_faults(fault) if isinstance(fault, ValidationError) else str(fault)
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
    instruction = Prompt.part("response_form", outline=outline_of(response_model))
    if messages and messages[0].role == "system":
        return [Message.system(f"{messages[0].content}\n\n{instruction}"), *messages[1:]]
    return [Message.system(instruction), *messages]


def _ask_shorter(messages: tuple[Message, ...], reason: str) -> tuple[Message, ...]:
    """Return the messages with a request for a shorter response.

    The incomplete response is left out because it costs tokens, and because a model continues a loop that it reads. The
    request is part of the last message because some chat templates require alternating roles.
    """
    request = Prompt.part("shorter_response", reason=reason)
    *earlier, last = messages
    return (*earlier, last.model_copy(update={"content": f"{last.content}\n\n{request}"}))


def _read(reply: Reply, response_model: type[BaseModel]) -> tuple[str, str, Repaired]:
    """Return the response, the thinking before it, and the repaired response.

    Thinking without an end tag counts as a response if it ends with a valid JSON object.
    """
    response, thinking, has_end = split_thinking(reply.text)
    repaired = repair(response, response_model)
    if not has_end:
        inside = repair(thinking, response_model)
        if inside.valid and thinking.endswith(("}", "```")):
            response, thinking = thinking.removeprefix(inside.before).strip(), inside.before
            repaired = inside._replace(repairs=("ended the thinking before the JSON object", *inside.repairs[1:]))
    thoughts = "\n".join(filter(None, (reply.thinking, thinking)))
    return response, thoughts, repaired


def partial_answer(text: str) -> str:
    """Return the part of the answer in a response that is still being written."""
    answer = split_thinking(text)[0]
    return answer.partition("\n")[2] if answer.startswith("```") else answer
