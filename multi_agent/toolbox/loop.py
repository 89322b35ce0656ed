"""The tool loop, in which the model requests tool calls and reads their results until it is done.

    use = await ToolLoop(kit.llm, await kit.tools()).run(messages)
    await kit.llm.complete([*use.messages, Message.user("Now write…")], MyResult)

The loop returns a conversation. The agent then asks the model for a result of its own type. The units of passages from
tools are numbered over the whole loop: ``number_units(use.passages)`` returns them.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, create_model

from multi_agent.errors import ToolError
from multi_agent.model import LLM, Message
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_outside import defuse, mark_outside, show_lines
from multi_agent.prompts.show_passages import bullets, number_units, show_location, show_units
from multi_agent.tool import ToolCard, ToolResult
from multi_agent.toolbox.granted_tool import OfferedTools
from vectorstore.models import Chunk, ToolOutput
from vectorstore.text.sentences import units_of


@dataclass(frozen=True)
class ToolUse:
    """The conversation of a finished loop."""

    messages: tuple[Message, ...]
    passages: tuple[Chunk, ...]
    sources: tuple[str, ...]
    calls: int
    exhausted: bool
    """Whether the limit of rounds was reached before the model was done."""

    @property
    def closing(self) -> list[Message]:
        """The messages that ask for the result. If the model had tools, the last message requests the result now."""
        had_tools = self.exhausted or self.messages[-1].role == "assistant"
        return [*self.messages, Message.user(Prompt.part("tool_result"))] if had_tools else list(self.messages)


class ToolLoop:
    """Lets a model call the offered tools. ``passages`` contains the passages that the messages already show."""

    def __init__(self, llm: LLM, offered: OfferedTools, passages: Sequence[Chunk] = ()) -> None:
        self._llm, self._offered, self._settings = llm, offered, offered.settings
        self._tools = {tool.card.name: tool for tool in offered.tools}
        self._passages = {chunk.id: chunk for chunk in passages}
        self._sources: dict[str, None] = {}
        self._calls = 0

    async def run(self, messages: Sequence[Message]) -> ToolUse:
        """Run the loop, starting with these messages. Raises AgentError, StoreError. The model reads ToolErrors."""
        if not self._tools:
            return self._tool_use(messages, exhausted=False)
        cards = tuple(tool.card for tool in self._offered.tools)
        response_model = round_model(cards, self._settings.calls_per_round)
        conversation = [Message.system(f"{messages[0].content}\n\n{self._rules()}"), *messages[1:]]
        for left in reversed(range(self._settings.rounds)):
            turn: Any = (await self._llm.complete(conversation, response_model)).value
            conversation.append(Message(role="assistant", content=turn.model_dump_json(by_alias=True)))
            if not turn.calls:
                return self._tool_use(conversation, exhausted=False)
            results = await self._call_all(turn.calls)
            shown = [self._show(call, result) for call, result in zip(turn.calls, results, strict=True)]
            shown.append(Prompt.part("tool_rounds", left=left) if left else Prompt.part("tool_no_rounds"))
            conversation.append(Message.user("\n\n".join(shown)))
        return self._tool_use(conversation, exhausted=True)

    async def _call_all(self, calls: Sequence[Any]) -> Sequence[ToolResult | ToolError]:
        """Call the tools concurrently. Any error other than ToolError cancels the other calls."""
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
            return f"{head}\nIt failed: {defuse(str(result))}"
        self._sources |= dict.fromkeys(result.sources)
        parts = (head, self._show_text(call.tool, result), *(self._show_passage(chunk) for chunk in result.passages))
        return "\n".join(part for part in parts if part)

    def _show_text(self, tool: str, result: ToolResult) -> str:
        """Return the text of the result besides its passages. Only text of document tools is shown unchanged."""
        if any(isinstance(chunk.origin, ToolOutput) for chunk in result.passages):
            return ""  # the passage contains the text
        return result.text if self._tools[tool].card.source == "documents" else show_lines(result.text)

    def _show_passage(self, chunk: Chunk) -> str:
        """Return the passage with numbered units, in full only the first time."""
        known = chunk.id in self._passages
        self._passages[chunk.id] = chunk
        units = [unit for unit in number_units(self._passages.values()) if unit.chunk.id == chunk.id]
        if known or (not units and units_of(chunk)):
            return f"=== {show_location(chunk)}: see above"
        if units:
            return show_units(units)
        return f"=== {show_location(chunk)}{mark_outside(chunk)}\n{show_lines(chunk.text)}"

    def _tool_use(self, messages: Sequence[Message], *, exhausted: bool) -> ToolUse:
        return ToolUse(
            messages=tuple(messages),
            passages=tuple(self._passages.values()),
            sources=tuple(self._sources),
            calls=self._calls,
            exhausted=exhausted,
        )


@lru_cache(maxsize=64)  # creating a type and its schema takes milliseconds
def round_model(cards: tuple[ToolCard, ...], max_calls: int) -> type[BaseModel]:
    """Return the response type of a round, with tool names as enums and arguments of the types of the tools."""
    kinds: Any = Union[tuple(_call_model(card) for card in cards)]  # noqa: UP007 - made at run time
    discriminated = Field(discriminator="tool", json_schema_extra=_as_any_of)
    call: Any = Annotated[kinds, discriminated] if len(cards) > 1 else kinds
    return create_model(
        "ToolTurn",
        __config__=ConfigDict(extra="forbid"),
        thinking=(str, Field(description="what is known by now and what is still needed, in a sentence or two")),
        calls=(list[call], Field(max_length=max_calls, description="tools to call now; [] if nothing more is needed")),
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
    """Replace ``oneOf`` with ``anyOf``, which is equivalent here and supported by more endpoints."""
    if "oneOf" in schema:
        schema["anyOf"] = schema.pop("oneOf")
        schema.pop("discriminator", None)
