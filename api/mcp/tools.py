"""Candor as tools for the agents of others, by the Model Context Protocol: search, research, reading, and past runs.

The tools are the same over stdio and over HTTP. What differs is who calls, and at which ``Desk`` the work is done: by
the service, beside all its other work, or by this process alone.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Annotated, Any, Literal, ParamSpec, Protocol, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from api.auth.permissions import Caller, Right
from api.bootstrap import Candor
from api.http.errors import EXPECTED, problem_of
from api.services.documents import find_document
from api.services.exports.export import Report
from api.services.progress import progress
from api.services.runs import find_run, list_runs
from multi_agent.answer import Answer, Status
from multi_agent.bus import Subscriber
from multi_agent.events import Event
from multi_agent.request import LONGEST, Request
from multi_agent.storage.run_filter import RunFilter, RunState
from multi_agent.storage.trace import RunSummary
from vectorstore.models import FrozenModel, Hit

P = ParamSpec("P")
T = TypeVar("T")

_INSTRUCTIONS = (
    "Candor answers questions from a person's own documents. `research` reads them and gives an answer of which every "
    "claim cites the words that support it; it takes a while. `search` finds passages at once, without a language "
    "model; `read_document` reads on around them. `runs` and `run` give what was researched before."
)
_Collection = Annotated[str | None, Field(description="name of the collection; not needed if there is just one")]


class Desk(Protocol):
    """Where the work of a tool is done."""

    @property
    def candor(self) -> Candor:
        """What is worked with."""
        ...

    async def search(self, query: str, collection: str, limit: int) -> list[Hit]:
        """The best passages. Raises StoreError."""
        ...

    async def research(self, request: Request, collection: str, caller: Caller, tell: Subscriber) -> Answer:
        """The answer, whatever state the run ends in; its events go to ``tell``. Raises AgentError, StoreError."""
        ...


Who = Callable[[Context[Any, Any]], Awaitable[Caller]]
"""Who calls a tool."""


class CollectionFound(FrozenModel):
    """A collection that can be searched."""

    name: str
    documents: int
    passages: int


class Passage(FrozenModel):
    """What a search found."""

    document: str = Field(description="its id, for read_document")
    name: str
    section: str
    pages: tuple[int, ...]
    start: int = Field(description="where in the document's text it begins")
    text: str
    score: float


class Cited(FrozenModel):
    """The words that support a claim."""

    mark: str = Field(description="what the answer refers to it as")
    document: str = Field(description="its id, for read_document")
    where: str = Field(description="document and page")
    start: int
    end: int
    quote: str


class Researched(FrozenModel):
    """The answer to a question, with its evidence, or why there is none."""

    run_id: str
    status: Status
    answer: str = Field(description="with marks such as [1]; empty if there is none")
    confidence: float
    evidence: tuple[Cited, ...]
    reasoning: str
    missing: tuple[str, ...]

    @classmethod
    def of(cls, run: RunSummary, answer: Answer) -> Researched:
        """What another agent needs of it."""
        where = {source.mark: source.where for source in Report.of(run, answer).sources}
        return cls(
            run_id=answer.run_id,
            status=answer.status,
            answer=answer.answer,
            confidence=answer.confidence,
            evidence=tuple(
                Cited(
                    mark=f"[{quote.number}]", document=quote.document_id, where=where[str(quote.number)],
                    start=quote.start, end=quote.end, quote=quote.quote,
                )
                for quote in answer.cited
            ),
            reasoning=answer.reasoning,
            missing=answer.missing,
        )  # fmt: skip


class Reading(FrozenModel):
    """A part of a document's text."""

    document: str
    name: str
    text: str
    start: int
    characters: int = Field(description="of the whole text")
    next_start: int | None = Field(description="where to read on; null at the end")


_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(destructive_hint=False, open_world_hint=False)


def make_server(desk: Desk, who: Who) -> MCPServer[Any]:
    """The tools, for those that ``who`` knows."""
    server: MCPServer[Any] = MCPServer(
        "candor", title="Candor", instructions=_INSTRUCTIONS, version=version("candor"), log_level="WARNING"
    )
    tools = Tools(desk, who)
    server.tool(annotations=_READS)(_telling(tools.collections))
    server.tool(annotations=_READS)(_telling(tools.search))
    server.tool(annotations=_ADDS)(_telling(tools.research))
    server.tool(annotations=_READS)(_telling(tools.read_document))
    server.tool(annotations=_READS)(_telling(tools.runs))
    server.tool(annotations=_READS)(_telling(tools.run))
    return server


class Tools:
    """What each tool does. Its name, its docstring and the descriptions of its arguments are what agents are told."""

    def __init__(self, desk: Desk, who: Who) -> None:
        self._desk, self._candor, self._who = desk, desk.candor, who

    async def collections(self, ctx: Context[Any, Any]) -> list[CollectionFound]:
        """The collections of documents there are."""
        return await asyncio.to_thread(_collections, self._candor, await self._who(ctx))

    async def search(
        self,
        ctx: Context[Any, Any],
        query: Annotated[str, Field(min_length=1, max_length=LONGEST, description="words, or a question")],
        collection: _Collection = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
    ) -> list[Passage]:
        """Find passages by words and by meaning, best first."""
        return [_passage(hit) for hit in await self._desk.search(query, await self._may_read(ctx, collection), limit)]

    async def research(
        self,
        ctx: Context[Any, Any],
        question: Annotated[str, Field(min_length=1, description="a whole question, as a person would ask it")],
        collection: _Collection = None,
        mode: Annotated[Literal["auto", "fast", "high"], Field(description="fast: one search; high: planned")] = "auto",
    ) -> Researched:
        """Research a question over the documents: an answer whose claims cite the words that support them."""
        name, heard = await self._may_read(ctx, collection), 0

        async def tell(event: Event) -> None:
            nonlocal heard
            if told := progress(event):
                heard += 1
                await ctx.report_progress(heard, message=told)

        request = Request(question=question, mode=mode).validated()
        answer = await self._desk.research(request, name, await self._who(ctx), tell)
        run = await asyncio.to_thread(self._candor.trace.run, answer.run_id)
        return Researched.of(run, answer)

    async def read_document(
        self,
        ctx: Context[Any, Any],
        document: Annotated[str, Field(description="its id, as search and research give it")],
        collection: _Collection = None,
        start: Annotated[int, Field(ge=0, description="the first character that is wanted")] = 0,
        length: Annotated[int, Field(ge=1, le=100_000)] = 10_000,
    ) -> Reading:
        """Read the text of a document, from any place in it."""
        name = await self._may_read(ctx, collection)
        return await asyncio.to_thread(_reading, self._candor, name, document, start, length)

    async def runs(
        self,
        ctx: Context[Any, Any],
        collection: _Collection = None,
        status: RunState | None = None,
        text: Annotated[str | None, Field(description="what the question says")] = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> list[RunSummary]:
        """The questions that were researched before, newest first."""
        wanted = RunFilter(collection=collection, status=(status,) if status else None, text=text)
        return await asyncio.to_thread(list_runs, self._candor, wanted, limit, await self._who(ctx))

    async def run(self, ctx: Context[Any, Any], run_id: str) -> Researched:
        """The answer of a run that has ended."""
        found = await asyncio.to_thread(find_run, self._candor, run_id, await self._who(ctx))
        return Researched.of(found, await asyncio.to_thread(self._candor.trace.answer, found.run_id))

    async def _may_read(self, ctx: Context[Any, Any], collection: str | None) -> str:
        """The collection that is meant, if the caller may read it. Raises UsageError, StoreError, Forbidden."""
        caller = await self._who(ctx)
        name = await asyncio.to_thread(self._candor.collection_name, collection, among=caller.readable)
        caller.require(Right.READ, name)
        return name


def _telling(tool: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """The tool, whose errors are told as what the calling agent can read."""

    @functools.wraps(tool)
    async def told(*given: P.args, **named: P.kwargs) -> T:
        try:
            return await tool(*given, **named)
        except EXPECTED as error:
            raise ToolError(f"{problem_of(error).title}: {problem_of(error).detail}") from error

    return told


def _collections(candor: Candor, caller: Caller) -> list[CollectionFound]:
    known = [spec.collection for spec in candor.collections() if caller.may(Right.READ, spec.collection)]
    counted = candor.ledger.counts()
    return [
        CollectionFound(
            name=name,
            documents=sum(each.documents for each in counted.get(name, {}).values() if each.chunks),
            passages=sum(each.chunks for each in counted.get(name, {}).values()),
        )
        for name in known
    ]


def _passage(hit: Hit) -> Passage:
    chunk = hit.chunk
    return Passage(
        document=chunk.document_id, name=chunk.name, section=" › ".join(chunk.section), pages=chunk.pages,
        start=chunk.start, text=chunk.reading_text, score=hit.score,
    )  # fmt: skip


def _reading(candor: Candor, collection: str, document: str, start: int, length: int) -> Reading:
    found = find_document(candor, document, collection)
    whole = candor.ledger.text(found.collection, found.id).text
    end = start + length
    return Reading(
        document=found.id, name=found.name, text=whole[start:end], start=start, characters=len(whole),
        next_start=end if end < len(whole) else None,
    )  # fmt: skip
