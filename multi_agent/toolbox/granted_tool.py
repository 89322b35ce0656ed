"""A tool in an agent's hand: every call is told, remembered, bounded in time, and approved if it is dangerous.

A call that the run has made before, as after a restart, is not made again: it gives what it gave. A dangerous one that
was begun and never came to its end is not made again either, since nobody knows what it has done.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count

from pydantic import BaseModel

from multi_agent.bus import Publish
from multi_agent.errors import AgentError, ToolError
from multi_agent.events import ToolCalled, ToolReturned
from multi_agent.storage.tool_calls import ToolCalls, ToolEntry
from multi_agent.tool import Tool, ToolCard, ToolResult
from multi_agent.toolbox.settings import ToolSettings
from vectorstore.errors import StoreError

_EXCERPT = 500
_UNKNOWN = (
    "This very call was begun before the service was stopped, and nobody knows what became of it. It is not made "
    "again: find out what it has done, or do without it."
)

Approve = Callable[[ToolCard, ToolEntry, BaseModel], Awaitable[BaseModel]]
"""Waits for a person to decide on the call; gives the arguments that it may be made with, or raises ToolError."""


class CallNumbers:
    """Numbers equal calls of a run from 0, so that each is known again when the run is repeated.

    As with model calls: a turn that is repeated as a whole gives its numbers back first.
    """

    def __init__(self) -> None:
        self._taken: defaultdict[str, set[int]] = defaultdict(set)

    def take(self, key: str) -> int:
        """The lowest number that is free. Call it before the first await."""
        number = next(each for each in count() if each not in self._taken[key])
        self._taken[key].add(number)
        return number

    def give_back(self, key: str, number: int) -> None:
        """The call is going to be made again."""
        self._taken[key].discard(number)


@dataclass(frozen=True)
class CallContext:
    """Whose turn it is, and what all calls of the turn have in common."""

    run_id: str
    step: str
    agent: str
    publish: Publish
    approve: Approve
    calls: ToolCalls
    numbers: CallNumbers
    timeout_s: float
    taken: list[tuple[str, int]] = field(default_factory=list)

    def begin(self, tool: str, given: BaseModel, why: str) -> ToolEntry:
        """A call of this turn, known by what is called, by whom, and with what."""
        arguments = given.model_dump(mode="json", by_alias=True)
        made = json.dumps([self.step, self.agent, tool, arguments], sort_keys=True, ensure_ascii=False)
        key = hashlib.sha256(made.encode()).hexdigest()
        occurrence = self.numbers.take(key)
        self.taken.append((key, occurrence))
        return ToolEntry(
            key=key, occurrence=occurrence, step=self.step, agent=self.agent, tool=tool, arguments=arguments, why=why,
            began_at=datetime.now(UTC),
        )  # fmt: skip

    def release(self) -> None:
        """Give back the numbers of all calls of the turn, which is going to be repeated."""
        while self.taken:
            self.numbers.give_back(*self.taken.pop())


class GrantedTool:
    """One tool, for one agent's turn."""

    def __init__(self, tool: Tool, hand: CallContext) -> None:
        self._tool, self._hand = tool, hand

    @property
    def card(self) -> ToolCard:
        """What it is."""
        return self._tool.card

    async def __call__(self, given: BaseModel, why: str) -> ToolResult:
        """Call it. Raises ToolError with what the model is to know; StoreError, AgentError as tools do."""
        hand, entry, began = self._hand, self._hand.begin(self.card.name, given, why), time.perf_counter()
        call = {"agent": hand.agent, "tool": entry.tool, "key": entry.key, "occurrence": entry.occurrence}
        await hand.publish(ToolCalled.model_validate({**call, "arguments": entry.arguments, "why": why}))
        known = hand.calls.find(hand.run_id, entry.key, entry.occurrence)
        to_be_made = known is None or not (known.ended or self.card.dangerous)
        ended = await self._make(entry, given) if known is None or to_be_made else known
        result, error = ended.result or ToolResult(), ended.error or ("" if ended.result else _UNKNOWN)
        returned = {"result": result.text[:_EXCERPT], "passages": len(result.passages), "error": error}
        seconds = time.perf_counter() - began
        await hand.publish(
            ToolReturned.model_validate({**call, **returned, "seconds": seconds, "replayed": not to_be_made})
        )
        if error:
            raise ToolError(error)
        return result

    async def _make(self, entry: ToolEntry, given: BaseModel) -> ToolEntry:
        """The call with what came of it, as it is remembered."""
        hand, began = self._hand, time.perf_counter()
        try:
            if self.card.dangerous:
                given = await hand.approve(self.card, entry, given)
                entry = entry.model_copy(update={"arguments": given.model_dump(mode="json", by_alias=True)})
                hand.calls.record(hand.run_id, entry)  # so that it is never made twice, whatever happens now
            ended = entry.model_copy(update={"result": await self._in_time(given)})
        except ToolError as error:
            ended = entry.model_copy(update={"error": str(error) or "It failed without a word."})
        ended = ended.model_copy(update={"seconds": time.perf_counter() - began})
        hand.calls.record(hand.run_id, ended)
        return ended

    async def _in_time(self, given: BaseModel) -> ToolResult:
        seconds = self._hand.timeout_s
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self._tool(given)
        except (AgentError, StoreError):
            raise
        except TimeoutError as error:
            took = f"It took longer than {seconds:g} s (`tools.timeout_s`)." if limit.expired() else f"{error}"
            raise ToolError(took) from error
        # The boundary to tools' own code, which may be anybody's: whatever it raises is this call's failure.
        except Exception as error:
            raise ToolError(f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class OfferedTools:
    """The tools that an agent may call in this turn, and why it cannot call the others that it was granted."""

    tools: tuple[GrantedTool, ...] = ()
    unavailable: tuple[str, ...] = ()
    settings: ToolSettings = field(default_factory=ToolSettings)


async def no_tools() -> OfferedTools:
    """For an agent that was granted no tools."""
    return OfferedTools()
