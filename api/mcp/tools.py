"""The tools of the MCP server, for search, research, reading documents and past runs.

The tools are the same over stdio and over HTTP. The transports differ in the caller and in the ``Backend``. The
docstrings and field descriptions of tools are prompts: the client's model reads them.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, ParamSpec, Protocol, Self, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from api.auth.permissions import Caller, Right
from api.bootstrap import Candor
from api.problems import EXPECTED, problem_of
from api.services.documents.collections import Collections
from api.services.documents.documents import Documents
from api.services.documents.search import Found
from api.services.documents.selection import Selection
from api.services.exports.export import Report, contradictions_of
from api.services.research.event_text import progress
from api.services.research.execution_summary import execution_facts
from api.services.research.runs import find_run, list_runs
from base.installation import own_version
from base.models import FrozenModel
from multi_agent.settings.research import Source
from multi_agent.storage.run_filter import RunFilter, RunState
from multi_agent.storage.trace import RunSummary
from multi_agent.values.answer import Answer, Status
from multi_agent.values.bus import Subscriber
from multi_agent.values.context import AnswerPart, Clarification
from multi_agent.values.events import Event
from multi_agent.values.request import LONGEST, DocumentFilter, RagResult, Request
from vectorstore.models import Hit, Origin, PrintedPages, SearchMode, UnreadableCollection

P = ParamSpec("P")
T = TypeVar("T")

_INSTRUCTIONS = (
    "Candor answers questions from a person's own documents. `research` reads them and returns an answer whose claims "
    "cite verbatim quotes; it takes a while. `search` finds passages at once, without a language model. "
    "`read_document` returns the text around a passage. `runs` and `run` return earlier research."
)
_Collections = Annotated[
    Selection,
    Field(description="name of the collection, or a list of names; * means all; not needed if there is just one"),
]

_Filter = Annotated[DocumentFilter | None, Field(description="read only these documents; null for all")]


class Backend(Protocol):
    """Runs searches and research for the tools."""

    async def search(
        self, query: str, collection: str, limit: int, wanted: DocumentFilter | None, mode: SearchMode
    ) -> Found:
        """Return the best passages. Raises StoreError, NoDocumentMatches."""
        ...

    async def research(self, request: Request, collection: str, caller: Caller, tell: Subscriber) -> Answer:
        """Return the answer with any status. Sends the run's events to ``tell``. Raises AgentError, StoreError."""
        ...


GetCaller = Callable[[Context[Any, Any]], Awaitable[Caller]]
"""Returns the caller of a tool."""


class CollectionFound(FrozenModel):
    """A collection that can be searched."""

    name: str
    documents: int
    passages: int
    unreadable: str = Field(default="", description="why it cannot be searched now; empty if it can")


class Passage(FrozenModel):
    """What a search found."""

    document: str = Field(description="its id, for read_document")
    name: str
    section: str
    pages: tuple[int, ...]
    printed_pages: PrintedPages = ""
    start: int = Field(description="where in the document's text it begins")
    text: str
    score: float
    respelt: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="words that no passage has, each with those searched for instead"
    )


class Passages(FrozenModel):
    """The passages that a search found, best first."""

    passages: tuple[Passage, ...]
    note: str = Field(default="", description="what may have kept the search from finding more")


class Cited(FrozenModel):
    """A quote that supports a claim."""

    mark: str = Field(description="its mark in the answer")
    document: str = Field(description="its id, for read_document")
    where: str = Field(description="document and page; and if a model read the words in the picture of the page")
    start: int
    end: int
    quote: str
    origin: Origin | None = Field(default=None, description="its web page or tool; null for a document")


class Researched(FrozenModel):
    """The answer to a question, with its evidence, or why there is none."""

    run_id: str
    status: Status
    answer: str = Field(description="with marks such as [1]; empty if there is none")
    parts: tuple[AnswerPart, ...] = Field(description="of a question that asks several things; empty for any other")
    clarification: Clarification | None = Field(
        description="what to ask the person, whose question is unclear; then call `research` with the `question` of "
        "the candidate that they choose; null if the question is clear"
    )
    confidence: float
    basis: str = Field(description="what the answer rests on, in words")
    evidence: tuple[Cited, ...]
    reasoning: str
    missing: tuple[str, ...]
    other_values: tuple[str, ...] = Field(description="statements in what was read that may contradict the answer")
    did: dict[str, str] = Field(description="what the run did, by subject: steps, documents, tools, model calls")

    @classmethod
    def of(cls, run: RunSummary, answer: Answer) -> Self:
        """Return the parts of an answer that another agent needs."""
        where = {source.mark: source.where for source in Report.of(run, answer).sources}
        return cls(
            run_id=answer.run_id,
            status=answer.status,
            answer=answer.answer,
            parts=answer.parts,
            clarification=answer.clarification,
            confidence=answer.confidence,
            basis=answer.basis,
            evidence=tuple(
                Cited(
                    mark=f"[{quote.number}]", document=quote.document_id, where=where[str(quote.number)],
                    start=quote.start, end=quote.end, quote=quote.quote, origin=quote.origin,
                )
                for quote in answer.cited
            ),
            reasoning=answer.reasoning,
            missing=answer.missing,
            other_values=tuple(contradictions_of(answer)),
            did=execution_facts(answer),
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


def make_server(tools: "Tools") -> MCPServer[Any]:
    """Return an MCP server with all tools."""
    server: MCPServer[Any] = MCPServer(
        "candor", title="Candor", instructions=_INSTRUCTIONS, version=own_version(), log_level="WARNING"
    )
    for each in (tools.collections, tools.search, tools.research, tools.read_document, tools.runs, tools.run):
        server.tool(annotations=_ADDS if each == tools.research else _READS)(_with_tool_errors(each))
    return server


class Tools:
    """The tools. The name, the docstring and the argument descriptions of each method are prompts."""

    def __init__(self, backend: Backend, get_caller: GetCaller, candor: Candor) -> None:
        self._backend, self._get_caller, self._candor = backend, get_caller, candor

    async def collections(self, ctx: Context[Any, Any]) -> list[CollectionFound]:
        """List the collections."""
        return await asyncio.to_thread(_list_collections, self._candor.collections, await self._get_caller(ctx))

    async def search(
        self,
        ctx: Context[Any, Any],
        query: Annotated[
            str,
            Field(
                min_length=1,
                max_length=LONGEST,
                description='words, or a question; "a phrase" must stand in the passage, -word excludes passages',
            ),
        ],
        collection: _Collections = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        mode: Annotated[SearchMode, Field(description="by words, by meaning, or by both")] = SearchMode.HYBRID,
        filter: _Filter = None,  # noqa: A002 - the name of the argument is a prompt
    ) -> Passages:
        """Find passages by words and by meaning, best first."""
        found = await self._backend.search(query, await self._readable(ctx, collection), limit, filter, mode)
        return Passages(passages=tuple(map(_passage, found.hits)), note=found.note)

    async def research(
        self,
        ctx: Context[Any, Any],
        question: Annotated[str, Field(min_length=1, description="a complete question")],
        collection: _Collections = None,
        mode: Annotated[Literal["auto", "fast", "high"], Field(description="fast: one search; high: planned")] = "auto",
        sources: Annotated[
            tuple[Source, ...] | None,
            Field(min_length=1, description="kinds of sources to use; null for the default"),
        ] = None,
        passages: Annotated[
            tuple[RagResult, ...], Field(description="passages that you already have, best first")
        ] = (),
        filter: _Filter = None,  # noqa: A002 - the name of the argument is a prompt
    ) -> Researched:
        """Answer a question from the documents. Each claim cites a quote."""
        name, reported = await self._readable(ctx, collection), 0

        async def tell(event: Event) -> None:
            nonlocal reported
            if line := progress(event):
                reported += 1
                await ctx.report_progress(reported, message=line)

        own = {"sources": sources} if sources else {}
        request = Request(question=question, mode=mode, rag_results=passages, filter=filter, **own)
        answer = await self._backend.research(request, name, await self._get_caller(ctx), tell)
        run = await asyncio.to_thread(self._candor.trace.run, answer.run_id)
        return Researched.of(run, answer)

    async def read_document(
        self,
        ctx: Context[Any, Any],
        document: Annotated[str, Field(description="id of the document, from search or research")],
        collection: _Collections = None,
        start: Annotated[int, Field(ge=0, description="first character to return")] = 0,
        length: Annotated[int, Field(ge=1, le=100_000)] = 10_000,
    ) -> Reading:
        """Read the text of a document from a given character."""
        name = await self._readable(ctx, collection)
        return await asyncio.to_thread(_read, self._candor.documents, name, document, start, length)

    async def runs(
        self,
        ctx: Context[Any, Any],
        collection: Annotated[str | None, Field(description="only those of this collection; null for all")] = None,
        status: RunState | None = None,
        text: Annotated[str | None, Field(description="words of the question")] = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> list[RunSummary]:
        """List earlier runs, newest first."""
        wanted = RunFilter(collection=collection, status=(status,) if status else None, text=text)
        return await asyncio.to_thread(list_runs, self._candor.trace, wanted, limit, await self._get_caller(ctx))

    async def run(self, ctx: Context[Any, Any], run_id: str) -> Researched:
        """Return the answer of a run that has ended."""
        found = await asyncio.to_thread(find_run, self._candor.trace, run_id, await self._get_caller(ctx))
        return Researched.of(found, await asyncio.to_thread(self._candor.trace.answer, found.run_id))

    async def _readable(self, ctx: Context[Any, Any], collection: str | None) -> str:
        """Return the collection's name if the caller may read it. Raises UsageError, CollectionNotFound."""
        caller = await self._get_caller(ctx)
        return await asyncio.to_thread(self._candor.collections.resolve_for, caller, Right.READ, collection)


def _with_tool_errors(tool: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Wrap a tool so that expected errors reach the calling agent as text."""

    @functools.wraps(tool)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await tool(*args, **kwargs)
        except EXPECTED as error:
            raise ToolError(f"{problem_of(error).title}: {problem_of(error).detail}") from error

    return call


def _list_collections(collections: Collections, caller: Caller) -> list[CollectionFound]:
    known = [each for each in collections.list() if caller.may(Right.READ, each.collection)]
    counted = collections.counts()
    return [
        CollectionFound(
            name=listed.collection,
            documents=sum(each.documents for each in states.values() if each.chunks),
            passages=sum(each.chunks for each in states.values()),
            unreadable=listed.reason if isinstance(listed, UnreadableCollection) else "",
        )
        for listed in known
        for states in [counted.get(listed.collection, {})]
    ]


def _passage(hit: Hit) -> Passage:
    chunk = hit.chunk
    return Passage(
        document=chunk.document_id, name=chunk.name, section=" › ".join(chunk.section), pages=chunk.pages,
        printed_pages=chunk.printed(chunk.pages), start=chunk.start, text=chunk.reading_text, score=hit.score,
        respelt=hit.respelt,
    )  # fmt: skip


def _read(documents: Documents, collection: str, document: str, start: int, length: int) -> Reading:
    found = documents.find(document, collection)
    whole = documents.text(found).text
    end = start + length
    return Reading(
        document=found.id, name=found.name, text=whole[start:end], start=start, characters=len(whole),
        next_start=end if end < len(whole) else None,
    )  # fmt: skip
