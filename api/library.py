"""Candor as a Python library, with the same data folder and settings as the command line.

from api.library import open_home

home = open_home("data")
home.ingest(["papers"], "papers")
home.subscribe("claim_drafted", lambda event: print(event.body.claim.text))
answer = home.research("Which of these pumps works below -20 °C?", "papers", mode="high")
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from api.auth.permissions import LOCAL_CALLER
from api.bootstrap import Candor
from api.errors import UsageError
from api.services.documents.search import timed_search
from api.services.research.conversation import collection_to_ask, with_conversation
from api.services.research.research import make_request
from api.settings import load_settings
from base.installation import install_command
from ingest.pipeline.plan import IngestRequest
from ingest.pipeline.tally import IngestReport
from multi_agent.orchestrator.orchestrator import new_run_id
from multi_agent.values.answer import Answer
from multi_agent.values.bus import ALL
from multi_agent.values.events import Body, Event
from multi_agent.values.request import Request
from vectorstore.models import Chunk, FieldValue, Hit

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever as LangChainRetriever
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.response.schema import Response
    from llama_index.core.schema import NodeWithScore, QueryBundle

log = logging.getLogger(__name__)

Fields = Mapping[str, FieldValue]
Listener = Callable[[Event], object]
"""Receives an event. It may be a coroutine function. Its errors are logged and do not end the run."""

_UNION, *_ = get_args(Body)
EVENT_TYPES = tuple(kind.model_fields["type"].default for kind in get_args(_UNION))
"""The types of events, as in the trace of a run."""


def open_home(folder: Path | str | None = None, **settings: Any) -> Home:
    """Open a data folder. Without one, that of the settings. ``settings`` override files and environment variables.

    Raises SettingsError.
    """
    return Home(Candor(load_settings(Path(folder) if folder else None, **settings)))


class Home:
    """A data folder with collections of documents and runs.

    Errors are UsageError for wrong arguments, IngestError, StoreError, and AgentError. A question that the documents do
    not answer is no error: its answer has the status ``insufficient``.
    """

    def __init__(self, candor: Candor) -> None:
        self._candor = candor
        self._listeners: list[tuple[str, Listener]] = []

    def ingest(
        self, paths: Sequence[Path | str], collection: str, *, tags: Sequence[str] = (), meta: Fields | None = None
    ) -> IngestReport:
        """Read new and changed files below the paths. The report lists files that cannot be read."""
        request = IngestRequest(
            collection=collection, paths=tuple(map(Path, paths)), tags=tuple(tags), meta=dict(meta or {})
        )
        return self._candor.ingest.ingest(request)

    def search(self, query: str, collection: str | None = None, limit: int = 10) -> list[Hit]:
        """Return the best passages, without a language model. The only collection needs no name."""
        return timed_search(self._candor.collections, collection, query, limit).hits

    def subscribe(self, event_type: str, listener: Listener) -> None:
        """Call the listener for each event of this type in later runs. ``*`` stands for all types."""
        if event_type not in (ALL, *EVENT_TYPES):
            raise UsageError(f"Unknown event type {event_type!r}. Choose from {ALL}, {', '.join(EVENT_TYPES)}.")
        self._listeners.append((event_type, listener))

    def research(self, question: str, collection: str | None = None, **options: Any) -> Answer:
        """Research a question. Runs an event loop in this thread. ``options`` are fields of a ``Request``."""
        if unknown := sorted(options.keys() - Request.model_fields.keys()):
            raise UsageError(f"Unknown option {unknown[0]!r}. The options are {', '.join(Request.model_fields)}.")
        candor, request, run_id = self._candor, make_request({"question": question, **options}), new_run_id()
        named = collection_to_ask(candor.trace, request, collection, LOCAL_CALLER)
        name = candor.collections.resolve(named)
        request = with_conversation(candor.trace, request, name, LOCAL_CALLER)
        with candor.collections.open_library(name) as library:
            research = candor.panel.orchestrator(library).research(request, self._publish, run_id=run_id)
            return candor.command_runs.run(run_id, research, candor.trace)

    def retriever(self, collection: str | None = None, limit: int = 10) -> BaseRetriever:
        """Return ``search`` as a retriever of LlamaIndex."""
        from llama_index.core.base.base_retriever import BaseRetriever

        search = self.search

        class Passages(BaseRetriever):
            def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
                hits = search(query_bundle.query_str, collection, limit)
                return [_node(hit.chunk.id, hit.chunk.reading_text, hit.score, **_place(hit.chunk)) for hit in hits]

        return Passages()

    def langchain_retriever(self, collection: str | None = None, limit: int = 10) -> LangChainRetriever:
        """Return ``search`` as a retriever of LangChain. Raises UsageError if langchain-core is not installed."""
        try:
            from langchain_core.documents import Document
            from langchain_core.retrievers import BaseRetriever
        except ImportError as error:
            raise UsageError(
                f"LangChain is not installed. Install it with {install_command('langchain-core')!r}."
            ) from error

        search = self.search

        class Passages(BaseRetriever):
            def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
                chunks = [hit.chunk for hit in search(query, collection, limit)]
                return [Document(each.reading_text, id=each.id, metadata=_place(each)) for each in chunks]

        return Passages()

    def query_engine(self, collection: str | None = None, **options: Any) -> BaseQueryEngine:
        """Return ``research`` as a query engine of LlamaIndex. Its source nodes are the cited quotes, in order."""
        from llama_index.core.base.base_query_engine import BaseQueryEngine
        from llama_index.core.base.response.schema import Response

        research = self.research

        class Panel(BaseQueryEngine):
            def _get_prompt_modules(self) -> dict[str, Any]:
                return {}

            def _query(self, query_bundle: QueryBundle) -> Response:
                answer = research(query_bundle.query_str, collection, **options)
                nodes = [
                    _node(f"{answer.run_id}/{quote.number}", quote.quote, None, document=quote.name)
                    for quote in answer.cited
                ]
                metadata = {"run_id": answer.run_id, "status": answer.status.value, "missing": answer.missing}
                return Response(answer.answer or answer.reasoning, nodes, metadata)

            async def _aquery(self, query_bundle: QueryBundle) -> Response:
                return await asyncio.to_thread(self._query, query_bundle)

        return Panel(callback_manager=None)

    async def _publish(self, event: Event) -> None:
        for wanted, listener in tuple(self._listeners):
            if wanted in (ALL, event.body.type):
                try:
                    heard = listener(event)
                    if inspect.isawaitable(heard):
                        await heard
                # A listener is code of the caller and may raise any exception, which must not end a paid run.
                except Exception:
                    log.exception("A listener of %s events of run %s failed.", wanted, event.run_id)


def _place(chunk: Chunk) -> dict[str, Any]:
    return {"document": chunk.name, "pages": chunk.pages}


def _node(node_id: str, text: str, score: float | None, **metadata: object) -> NodeWithScore:
    from llama_index.core.schema import NodeWithScore, TextNode

    return NodeWithScore(node=TextNode(id_=node_id, text=text, metadata=metadata), score=score)
