"""Span attributes for events, by the GenAI semantic conventions of OpenTelemetry, version 0.1.0.

Texts of people, documents and models are content. Only ``Content`` returns content, and it is not used by default.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Message
from multi_agent.storage.trace import Trace
from multi_agent.values.events import Body, ModelCalled, RunStarted, ToolCalled, ToolReturned

Attributes = dict[str, str | bool | int | float | tuple[str, ...]]

_PORTS = {"http": 80, "https": 443}
_OTHER = "_OTHER"  # value of the conventions for anything without a name of its own


def run_attributes(run_id: str, started: RunStarted | None) -> Attributes:
    """Return the attributes of the span of a run. ``started`` is None if the run ended before it started."""
    found: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "candor",
        "candor.run_id": run_id,
    }
    if started:
        found["gen_ai.data_source.id"] = started.collection
        found["gen_ai.request.model"] = started.model
        found["candor.mode"] = started.request.mode
        if started.request.session:
            found["gen_ai.conversation.id"] = started.request.session
    return found


def step_attributes(agent: str, step: str) -> Attributes:
    """Return the attributes of the span of a step."""
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent, "candor.step": step}


def call_attributes(model: str, caller: str, endpoints: Iterable[EndpointSettings]) -> Attributes:
    """Return the attributes of the span of a model call.

    Address and provider are those of the endpoint with this model. They are unknown if several endpoints have it.
    """
    found: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.agent.name": caller,
        "gen_ai.request.model": model,
        "gen_ai.output.type": "json",
    }
    matching = {(each.provider, each.base_url): each for each in endpoints if each.model == model}
    if len(matching) != 1:
        return found | {"gen_ai.provider.name": _OTHER}
    [endpoint] = matching.values()
    found |= {"gen_ai.provider.name": endpoint.provider, "gen_ai.request.max_tokens": endpoint.max_output_tokens}
    url = urlsplit(endpoint.base_url)
    if endpoint.provider != "local" and url.hostname:
        found |= {"server.address": url.hostname, "server.port": url.port or _PORTS[url.scheme]}
    return found


def response_attributes(call: ModelCalled) -> Attributes:
    """Return the attributes of the span of a model call that its response adds."""
    found: Attributes = {
        "gen_ai.usage.input_tokens": call.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": call.usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": call.usage.cached_tokens,
        "candor.requests": call.usage.model_calls,
        "candor.rejected_responses": len(call.faults),
    }
    if call.finish_reason:
        found["gen_ai.response.finish_reasons"] = (call.finish_reason,)
    if call.response_model:
        found["gen_ai.response.model"] = call.response_model
    return found


def tool_attributes(call: ToolCalled) -> Attributes:
    """Return the attributes of the span of a tool call."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": call.agent,
        "gen_ai.tool.name": call.tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": f"{call.key[:16]}-{call.occurrence}",
    }


def numbers_of(body: Body) -> Attributes:
    """Return the numbers in an event. They contain no content."""
    return {
        f"candor.{name}": value for name, value in dict(body).items() if isinstance(value, bool | int | float)
    }  # fmt: skip


class Content:
    """Attributes with content, which a person must allow."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def of_question(self, started: RunStarted) -> Attributes:
        """Return the question of a run."""
        return {"gen_ai.input.messages": _json([_message("user", started.request.question)])}

    def of_answer(self, run_id: str) -> Attributes:
        """Return the answer of a run that has finished."""
        text = self._trace.answer(run_id).answer
        return {"gen_ai.output.messages": _json([_message("assistant", text, finish_reason="stop")])}

    def of_call(self, run_id: str, call: ModelCalled) -> Attributes:
        """Return the prompt and the response of a model call."""
        entry = self._trace.journal(run_id).find(call.key, call.occurrence)
        if entry is None:
            return {}
        system = [_text(each.content) for each in entry.messages if each.role == "system"]
        prompt = [_message(each.role, each.content) for each in entry.messages if each.role != "system"]
        response = _message("assistant", entry.exchanges[-1].response, finish_reason=call.finish_reason)
        return {
            "gen_ai.system_instructions": _json(system),
            "gen_ai.input.messages": _json(prompt),
            "gen_ai.output.messages": _json([response]),
        }

    def of_arguments(self, call: ToolCalled) -> Attributes:
        """Return the arguments of a tool call."""
        return {"gen_ai.tool.call.arguments": _json(call.arguments)}

    def of_result(self, call: ToolReturned) -> Attributes:
        """Return the beginning of the result of a tool call."""
        return {"gen_ai.tool.call.result": call.result}


def _message(role: Message | str, text: str, **more: str) -> Mapping[str, Any]:
    return {"role": role, "parts": [_text(text)], **more}


def _text(text: str) -> Mapping[str, str]:
    return {"type": "text", "content": text}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
