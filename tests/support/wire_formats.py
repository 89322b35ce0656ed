"""The wire formats of the scripted endpoint: reads requests and writes replies in OpenAI's and Ollama's protocol."""

from __future__ import annotations

import base64
import json
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from multi_agent.llm.settings import ResponseForm

if TYPE_CHECKING:
    from support.replies import Reply, Request


def without_pictures(message: dict[str, Any]) -> dict[str, Any]:
    """Return the message, in either protocol, with only its text as the content."""
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": "".join(part.get("text", "") for part in content)}
    return message


def pictures_in(message: dict[str, Any]) -> list[bytes]:
    """Return the images of a message, in either protocol."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    encoded = [url.removeprefix("data:image/png;base64,") for url in urls] + list(message.get("images", ()))
    return [base64.b64decode(each, validate=True) for each in encoded]


def form_of(body: dict[str, Any]) -> tuple[ResponseForm, dict[str, Any] | None]:
    """Return the form in which a request names its schema, and the schema."""
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        return "json_schema", form["json_schema"].get("schema")
    if "guided_json" in body:
        return "guided_json", body["guided_json"]
    if "tool_choice" in body:
        return "tools", body["tools"][0]["function"]["parameters"]
    return "json_object" if form else "none", None


def _pieces(reply: Reply) -> list[str]:
    cut = reply.cut or max(1, len(reply.text))
    return [reply.text[at : at + cut] for at in range(0, len(reply.text), cut)]


def openai_body(request: Request, reply: Reply) -> tuple[str, str]:
    """Return the completion as one object."""
    if request.form == "tools" and not reply.tools:
        message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [_answer_call(reply.text)]}
    else:
        message = {"role": "assistant", "content": reply.text}
    if reply.refusal:
        message |= {"content": None, "refusal": reply.refusal}
    if reply.tools:
        message |= {"content": None, "tool_calls": [_tool_call(*tool) for tool in reply.tools]}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    body = _openai_head(request, "chat.completion") | {"choices": [choice], **_openai_usage(reply)}
    return json.dumps(body), "application/json"


def openai_chunks(request: Request, reply: Reply) -> list[dict[str, Any]]:
    """Return the chunks of a stream: thinking, text, the end, and the token usage if requested."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if request.form == "tools":
        deltas += [{"tool_calls": [{"index": 0} | _answer_call(piece)]} for piece in _pieces(reply)]
    else:
        deltas += [{"content": piece} for piece in _pieces(reply)]
    if reply.thinking:
        deltas.insert(1, {"reasoning_content": reply.thinking})
    if reply.refusal:
        deltas.append({"refusal": reply.refusal})
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    if reply.ending in ("whole", "uncounted", "endless"):
        choices.append([{"index": 0, "delta": {}, "finish_reason": reply.finish}])
    chunks: list[dict[str, Any]] = [{**_openai_head(request, "chat.completion.chunk"), "choices": it} for it in choices]
    if reply.ending in ("whole", "endless") and (request.body.get("stream_options") or {}).get("include_usage"):
        chunks.append({**chunks[0], "choices": [], **_openai_usage(reply)})
    return chunks


def _openai_head(request: Request, kind: str) -> dict[str, Any]:
    return {"id": f"scripted-{request.number}", "object": kind, "created": 0, "model": request.model}


def _openai_usage(reply: Reply) -> dict[str, dict[str, Any]]:
    """Return the token usage. llama.cpp reports cached tokens in a field of its own."""
    usage: dict[str, Any] = {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
    }
    if reply.cached_in_timings:
        return {"usage": usage, "timings": {"cache_n": reply.cached_tokens}}
    return {"usage": usage | {"prompt_tokens_details": {"cached_tokens": reply.cached_tokens}}}


def _answer_call(arguments: str) -> dict[str, Any]:
    """Return the call of the tool that carries the answer, or a piece of it."""
    return {"id": "call-0", "type": "function", "function": {"name": "answer", "arguments": arguments}}


def _tool_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    called = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call-{uuid.uuid4().hex}", "type": "function", "function": called}


def ollama_body(request: Request, reply: Reply) -> tuple[str, str]:
    """Return the completion as one object."""
    return json.dumps(_ollama_part(request, reply.text, reply, done=True)), "application/json"


def ollama_parts(request: Request, reply: Reply) -> list[dict[str, Any]]:
    """Return the lines of a stream. The last line has the totals."""
    thinking = [_ollama_part(request, "", reply, done=False)] if reply.thinking else []
    quiet = replace(reply, thinking="")
    parts = [*thinking, *(_ollama_part(request, piece, quiet, done=False) for piece in _pieces(reply))]
    return [*parts, _ollama_part(request, "", quiet, done=True)] if reply.ending == "whole" else parts


def _ollama_part(request: Request, text: str, reply: Reply, *, done: bool) -> dict[str, Any]:
    message = {"role": "assistant", "content": text} | ({"thinking": reply.thinking} if reply.thinking else {})
    part = {"model": request.model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done}
    counted = {"prompt_eval_count": reply.prompt_tokens, "eval_count": reply.completion_tokens}
    return part | {"done_reason": reply.finish} | counted if done else part
