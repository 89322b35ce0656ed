"""Working with tools: the model says which to call, they are called, and it reads what they gave, until it is done.

    use = await ToolLoop(kit.llm, await kit.tools()).run(messages)
    await kit.llm.complete([*use.messages, Message.user("Now write…")], MyResult)

The loop ends with a conversation, not with a result: what is to be made of it, its agent asks for in its own terms.
Passages that tools gave are numbered over the whole loop, as ``citing.py`` needs them: a quote of passage 3 is verified
against ``use.passages[2]``.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, create_model

from multi_agent.errors import ToolError
from multi_agent.llm.llm import LLM, Message
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets, show_passages
from multi_agent.tool import ToolCard, ToolResult
from multi_agent.toolbox.granted_tool import OfferedTools
from vectorstore.models import Chunk


@dataclass(frozen=True)
class ToolUse:
    """What became of a loop."""

    messages: tuple[Message, ...]
    passages: tuple[Chunk, ...]
    sources: tuple[str, ...]
    calls: int
    exhausted: bool
    """Whether the model was not done when it had no round left."""

    @property
    def closing(self) -> list[Message]:
        """What to ask for the result with: a model that had tools is told that it is time for it."""
        had_tools = self.exhausted or self.messages[-1].role == "assistant"
        return [*self.messages, Message.user(Prompt.part("tool_result"))] if had_tools else list(self.messages)


class ToolLoop:
    """Gives a model these tools and no others; ``passages`` are those that its messages show it already."""

    def __init__(self, llm: LLM, offered: OfferedTools, passages: Sequence[Chunk] = ()) -> None:
        self._llm, self._offered, self._settings = llm, offered, offered.settings
        self._tools = {tool.card.name: tool for tool in offered.tools}
        self._passages = {chunk.id: chunk for chunk in passages}
        self._sources: dict[str, None] = {}
        self._calls = 0

    async def run(self, messages: Sequence[Message]) -> ToolUse:
        """Let it work, from these messages on. Raises AgentError, StoreError; a tool's error is told to the model."""
        if not self._tools:
            return self._ended(messages, exhausted=False)
        cards = tuple(tool.card for tool in self._offered.tools)
        shape = turn_model(cards, self._settings.calls_per_round)
        conversation = [Message.system(f"{messages[0].content}\n\n{self._rules()}"), *messages[1:]]
        for left in reversed(range(self._settings.rounds)):
            turn: Any = (await self._llm.complete(conversation, shape)).value
            conversation.append(Message(role="assistant", content=turn.model_dump_json(by_alias=True)))
            if not turn.calls:
                return self._ended(conversation, exhausted=False)
            results = await self._call_all(turn.calls)
            told = [self._show(call, result) for call, result in zip(turn.calls, results, strict=True)]
            told.append(Prompt.part("tool_rounds", left=left) if left else Prompt.part("tool_no_rounds"))
            conversation.append(Message.user("\n\n".join(told)))
        return self._ended(conversation, exhausted=True)

    async def _call_all(self, calls: Sequence[Any]) -> Sequence[ToolResult | ToolError]:
        """Side by side; what is no fault of a call ends all of them."""
        tasks = [asyncio.create_task(self._call(call)) for call in calls]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _call(self, call: Any) -> ToolResult | ToolError:
        self._calls += 1
        try:
            return await self._tools[call.tool](call.arguments, call.why)
        except ToolError as error:
            return error

    def _rules(self) -> str:
        lines = [f"- {tool.card.name}: {tool.card.description}" for tool in self._offered.tools]
        missing = f"\n\nNot there:\n{bullets(self._offered.unavailable)}" if self._offered.unavailable else ""
        return f"{Prompt.part('tool_use')}\n\nThe tools:\n" + "\n".join(lines) + missing

    def _show(self, call: Any, result: ToolResult | ToolError) -> str:
        head = f"--- {call.tool} {call.arguments.model_dump_json(by_alias=True, exclude_defaults=True)}"
        if isinstance(result, ToolError):
            return f"{head}\nIt failed: {result}"
        self._sources |= dict.fromkeys(result.sources)
        parts = (head, result.text, *(self._show_passage(chunk) for chunk in result.passages))
        return "\n".join(part for part in parts if part)

    def _show_passage(self, chunk: Chunk) -> str:
        """In full the first time; its number keeps."""
        if chunk.id in self._passages:
            return f"=== Passage {list(self._passages).index(chunk.id) + 1}: see above"
        self._passages[chunk.id] = chunk
        return show_passages([chunk], first=len(self._passages))

    def _ended(self, messages: Sequence[Message], *, exhausted: bool) -> ToolUse:
        return ToolUse(
            messages=tuple(messages),
            passages=tuple(self._passages.values()),
            sources=tuple(self._sources),
            calls=self._calls,
            exhausted=exhausted,
        )


@lru_cache(maxsize=64)  # a type and its schema take milliseconds to make
def turn_model(cards: tuple[ToolCard, ...], most: int) -> type[BaseModel]:
    """What a model says in each round, where it has these tools: their names as enums, arguments by their types."""
    kinds: Any = Union[tuple(_call_model(card) for card in cards)]  # noqa: UP007 - made at run time
    told_apart = Field(discriminator="tool", json_schema_extra=_as_any_of)
    call: Any = Annotated[kinds, told_apart] if len(cards) > 1 else kinds
    return create_model(
        "ToolTurn",
        __config__=ConfigDict(extra="forbid"),
        thinking=(str, Field(description="what is known by now and what is still needed, in a sentence or two")),
        calls=(list[call], Field(max_length=most, description="tools to call now; [] if nothing more is needed")),
    )


def _call_model(card: ToolCard) -> type[BaseModel]:
    name: Any = Literal[card.name]
    return create_model(
        "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", card.name)) + "Call",
        __config__=ConfigDict(extra="forbid"),
        tool=(name, Field(description="the tool")),
        arguments=(card.inputs, Field(description="what to call it with")),
        why=(str, Field(description="what the call is for, in one sentence")),
    )


def _as_any_of(schema: dict[str, Any]) -> None:
    """``anyOf`` says the same here, and more endpoints that constrain decoding know it."""
    if "oneOf" in schema:
        schema["anyOf"] = schema.pop("oneOf")
        schema.pop("discriminator", None)
