"""A tool that an agent was granted. Every call is published, journaled, limited in time, and approved if dangerous.

A call that the run made before, for example before a restart, is not repeated. Its stored result is returned. A
dangerous call that started but did not end is not repeated either, because its effects are unknown.

A text that a model reads can instruct the model to put data into a URL and fetch it. Therefore, a run fetches without
approval only URLs that the model cannot have invented. These are URLs in the person's questions, URLs in search
results and pages of this run, and URLs of the sites in ``tools.allowed_sites``. All others need an approval.

A page can offer a link for each letter, so that the choice of links carries a text away. Therefore, the links of pages
need an approval once the run has read documents, and a site may offer only ``NEW_PER_SITE`` addresses.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import httpx
from pydantic import BaseModel

from multi_agent.errors import AgentError, ToolError
from multi_agent.grounding.terms import without_own
from multi_agent.llm.wrappers.journal import Occurrences
from multi_agent.settings.research import Source
from multi_agent.settings.tools import ToolSettings
from multi_agent.storage.tool_calls import ToolCalls, ToolEntry
from multi_agent.tool import Tool, ToolCard, ToolResult
from multi_agent.values.bus import Publish
from multi_agent.values.events import Event, ToolCalled, ToolReturned
from multi_agent.values.evidence_events import Searched
from multi_agent.values.sources import readable, source_of, tool_passage
from vectorstore.errors import StoreError
from vectorstore.models import ToolOutput

EVERY_SITE = "*"
NEW_PER_SITE = 10
"""Addresses of one site that a run fetches without approval because a search or a page gave them."""
WHY_ASKED = (
    "The model wrote this address itself, or it is a link of a page after documents were read, or one of more than "
    f"{NEW_PER_SITE} of its site. An address can carry what the model has read to the owner of the site."
)
_SCHEMES = ("http://", "https://")
_AROUND = str.maketrans(dict.fromkeys("<>\"'“”„‘’«»|", " "))
_BEFORE, _AFTER = "([{*_", ".,;:!?…)]}*_"

Address = tuple[str, bytes, str, int | None, bytes]


class KnownAddresses:
    """The URLs that one run may fetch without an approval."""

    def __init__(self, allowed_sites: Iterable[str] = ()) -> None:
        self._sites = tuple(site.lower().strip(".") for site in allowed_sites)
        self._said: set[Address] = set()
        self._documents_read = False

    async def listen(self, event: Event) -> None:
        """Notice that a step has read documents. Subscribe this to the run's bus."""
        self._documents_read |= bool(event.step and isinstance(event.body, Searched) and event.body.chunks_found)

    def hear(self, texts: Iterable[str]) -> None:
        """Add the URLs in texts of the person."""
        self._said |= {address for text in texts for url in _urls_in(text) if (address := _address_of(url))}

    def cover(self, url: str, calls: Sequence[ToolEntry]) -> bool:
        """Return whether the run may fetch ``url``. ``calls`` are the calls that the run has made.

        Returns True for a text that is not a web URL, because it is never fetched.
        """
        address = _address_of(url)
        if address is None or address in self._said or self._is_allowed(address):
            return True
        return address in self._given(calls) and len(_fetched(calls, address) | {address}) <= NEW_PER_SITE

    def _given(self, calls: Iterable[ToolEntry]) -> set[Address | None]:
        """Return the addresses from searches and pages of this run."""
        results = [("url" in call.arguments, call.result) for call in calls if call.result]
        read = self._documents_read or any(each.origin is None for _, result in results for each in result.passages)
        return {
            _address_of(url)
            for is_page, result in results
            for url in (*result.sources, *(() if is_page and read else result.links))
        }

    def _is_allowed(self, address: Address) -> bool:
        host = f".{address[2]}"
        return any(site == EVERY_SITE or host.endswith(f".{site}") for site in self._sites)


def _fetched(calls: Iterable[ToolEntry], like: Address) -> set[Address]:
    """Return the fetched addresses of the same site. All hosts of a domain are one site."""
    fetched = {_address_of(str(call.arguments["url"])) for call in calls if "url" in call.arguments}
    return {each for each in fetched if each and each[2].split(".")[-2:] == like[2].split(".")[-2:]}


def _address_of(url: str) -> Address | None:
    """Return the normalized parts of ``url`` that a request sends, or None if it is not a web URL."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError):  # UnicodeError: half of a surrogate pair
        return None
    if parsed.scheme not in ("http", "https") or not parsed.raw_host:
        return None
    return parsed.scheme, parsed.userinfo, _host_of(parsed), parsed.port, parsed.raw_path


def _host_of(url: httpx.URL) -> str:
    """Return the host in letters; as sent, if it is no valid international name, because servers answer it, too."""
    try:
        return url.host.lower()
    except UnicodeError:
        return url.raw_host.decode("ascii").lower()


def _urls_in(text: str) -> Iterator[str]:
    """Yield the possible URLs in a text, which are words with a scheme or a dot, with and without final punctuation."""
    for word in text.translate(_AROUND).split():
        starts = [word.find(scheme) for scheme in _SCHEMES if scheme in word]
        written = word[min(starts) :] if starts else word.strip(_BEFORE + _AFTER)
        if not starts and "." not in written:
            continue
        schemes = ("",) if starts else _SCHEMES
        bare = len(written.rstrip(_AFTER))
        yield from (f"{scheme}{written[:end]}" for scheme in schemes for end in range(bare, len(written) + 1))


_EXCERPT = 500
_UNKNOWN = (
    "This very call was begun before the service was stopped, and nobody knows what became of it. It is not made "
    "again: find out what it has done, or do without it."
)

Approve = Callable[[ToolCard, ToolEntry, BaseModel], Awaitable[BaseModel]]
"""Waits for a person to decide on a call and returns the approved arguments. Raises ToolError."""


@dataclass(frozen=True)
class CallContext:
    """The data that all tool calls of one step share."""

    run_id: str
    step: str
    agent: str
    publish: Publish
    approve: Approve
    calls: ToolCalls
    occurrences: Occurrences
    timeout_s: float
    sources: tuple[Source, ...] = ("documents",)
    addresses: KnownAddresses = field(default_factory=KnownAddresses)
    claimed: list[tuple[str, int]] = field(default_factory=list)

    def start(self, tool: str, given: BaseModel, why: str) -> ToolEntry:
        """Return the entry for a new call. Step, agent, tool and arguments identify it."""
        arguments = given.model_dump(mode="json", by_alias=True)
        identity = json.dumps([self.step, self.agent, tool, arguments], sort_keys=True, ensure_ascii=False)
        key = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
        occurrence = self.occurrences.claim(key)
        self.claimed.append((key, occurrence))
        return ToolEntry(
            key=key, occurrence=occurrence, step=self.step, agent=self.agent, tool=tool, arguments=arguments, why=why,
            began_at=datetime.now(UTC),
        )  # fmt: skip

    def release(self) -> None:
        """Free the occurrence numbers of all calls before a retry of the step."""
        while self.claimed:
            self.occurrences.free(*self.claimed.pop())


class GrantedTool:
    """One tool for one step of an agent."""

    def __init__(self, tool: Tool, context: CallContext) -> None:
        self._tool, self._context, self.card = tool, context, tool.card

    async def __call__(self, given: BaseModel, why: str) -> ToolResult:
        """Call the tool. Raises ToolError with a message for the model, StoreError, AgentError."""
        started = time.perf_counter()
        context, entry = self._context, self._context.start(self.card.name, given, why)
        call = {"agent": context.agent, "tool": entry.tool, "key": entry.key, "occurrence": entry.occurrence}
        await context.publish(ToolCalled.model_validate({**call, "arguments": entry.arguments, "why": why}))
        known = context.calls.find(context.run_id, entry.key, entry.occurrence)
        is_new = known is None or not (known.ended or self.card.dangerous)
        ended = await self._call(entry, given) if known is None or is_new else known
        result, error = ended.result or ToolResult(), ended.error or ("" if ended.result else _UNKNOWN)
        found = sum(not isinstance(chunk.origin, ToolOutput) for chunk in result.passages)
        returned = {"result": result.text[:_EXCERPT], "passages": found, "error": error}
        seconds = time.perf_counter() - started
        await context.publish(
            ToolReturned.model_validate({**call, **returned, "seconds": seconds, "replayed": not is_new})
        )
        if error:
            raise ToolError(error)
        return result

    async def _call(self, entry: ToolEntry, given: BaseModel) -> ToolEntry:
        """Make the call and return its stored entry, with the result or the error."""
        context, started = self._context, time.perf_counter()
        try:
            if card := self._to_approve(given):
                given = await context.approve(card, entry, given)
                entry = entry.model_copy(update={"arguments": given.model_dump(mode="json", by_alias=True)})
                context.calls.record(context.run_id, entry)  # before the call, so that it is never made twice
            result = self._quotable(await self._call_with_timeout(given), entry)
            ended = entry.model_copy(update={"result": result})
        except ToolError as error:
            ended = entry.model_copy(update={"error": readable(str(error)) or "The tool failed without a message."})
        ended = ended.model_copy(update={"seconds": time.perf_counter() - started})
        context.calls.record(context.run_id, ended)
        return ended

    def _to_approve(self, given: BaseModel) -> ToolCard | None:
        """Return the card to show to the person if the call needs an approval. Only this method decides that."""
        if self.card.dangerous:
            return self.card
        context, url = self._context, getattr(given, self.card.fetches) if self.card.fetches else ""
        if not url or context.addresses.cover(url, context.calls.entries(context.run_id)):
            return None
        return self.card.model_copy(update={"description": f"{self.card.description} {WHY_ASKED}"})

    def _quotable(self, result: ToolResult, entry: ToolEntry) -> ToolResult:
        """Return the result with its text as a passage if the tool's source is "tools" and it has no passages.

        Raises ToolError for passages of a kind that this run does not allow.
        """
        text, passages = readable(result.text), result.passages
        if refused := {source_of(chunk.origin) for chunk in passages} - {*self._context.sources}:
            raise ToolError(f"It returned {', '.join(sorted(refused))}, which this run may not use (`--sources`).")
        if self.card.source == "tools" and result.proves and not passages:
            made = self._context.calls.entries(self._context.run_id)
            given = (said for call in (*made, entry) for said in _texts_in(call.arguments))
            found = without_own(text, given, (p.text for call in made if call.result for p in call.result.passages))
            passages = (tool_passage(entry.tool, entry.arguments, found),) if found.strip() else ()
        return result.model_copy(update={"text": text, "passages": passages})

    async def _call_with_timeout(self, given: BaseModel) -> ToolResult:
        seconds = self._context.timeout_s
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self._tool(given)
        except (AgentError, StoreError):
            raise
        except TimeoutError as error:
            took = f"It took longer than {seconds:g} s (`tools.timeout_s`)." if limit.expired() else f"{error}"
            raise ToolError(took) from error
        # Tools may be third-party code, so any exception is a failure of this call.
        except Exception as error:
            raise ToolError(f"{type(error).__name__}: {error}") from error


def _texts_in(value: object) -> Iterator[str]:
    """Yield the texts and figures of arguments, at any depth."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(each)
    else:
        yield str(value)


class OfferedTool(Protocol):
    """A tool that an agent may call: a granted tool, or a wrapper around one."""

    @property
    def card(self) -> ToolCard:
        """Description of the tool."""
        ...

    async def __call__(self, given: Any, why: str) -> ToolResult:
        """Call the tool. ``given`` is an instance of the card's ``inputs``. Raises like ``GrantedTool``."""
        ...


@dataclass(frozen=True)
class OfferedTools:
    """The tools that an agent may call in this step, and why it cannot call its other granted tools."""

    tools: tuple[OfferedTool, ...] = ()
    unavailable: tuple[str, ...] = ()
    settings: ToolSettings = field(default_factory=ToolSettings)


async def no_tools() -> OfferedTools:
    """Return the offered tools of an agent without tools."""
    return OfferedTools()


class NarrowedTool:
    """A tool that takes ``inputs``. ``widen`` converts them to the arguments of the wrapped tool."""

    def __init__(self, tool: OfferedTool, inputs: type[BaseModel], widen: Callable[[Any], BaseModel]) -> None:
        self._tool, self._widen = tool, widen
        self.card = tool.card.model_copy(update={"inputs": inputs})

    async def __call__(self, given: Any, why: str) -> ToolResult:
        return await self._tool(self._widen(given), why)


@dataclass(frozen=True)
class LimitedTool:
    """A tool that can be called for at most ``most`` different items, such as pages."""

    tool: OfferedTool
    most: int
    thing: Callable[[Any], Hashable]
    _known: set[Hashable] = field(default_factory=set)

    @property
    def card(self) -> ToolCard:
        return self.tool.card

    async def __call__(self, given: Any, why: str) -> ToolResult:
        thing = self.thing(given)
        if thing not in self._known and len(self._known) >= self.most:
            raise ToolError(f"{self.card.name} was called for {self.most}, which is all that this task allows.")
        self._known.add(thing)
        return await self.tool(given, why)
