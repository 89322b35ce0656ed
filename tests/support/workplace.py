"""A setup to ingest into: real files through the real parser, model and store."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ingest.chunking.chunker import Chunker
from ingest.document import ParsedDocument
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import document_id
from ingest.ledger.versions import LiveCollection
from ingest.parser import Parser, load_parser
from ingest.pipeline.pipeline import IngestPipeline
from ingest.pipeline.plan import IngestRequest, Plan, plan_ingest
from ingest.pipeline.tally import IngestReport, Progress
from ingest.settings import IngestSettings
from support.database import make_engine
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec
from vectorstore.retrieval import Retriever
from vectorstore.store import Collection, Vectors

PUMPS = "# Heat pumps\n\nA heat pump works below zero. It moves heat from the cold air into the house.\n"
BREAD = "# Bread\n\nKnead the dough for ten minutes. Bake it at two hundred degrees.\n"


class Workplace:
    """A collection and a ledger in a folder, and a folder of documents to ingest."""

    def __init__(self, home: Path, embedder: Embedder) -> None:
        self.documents = home / "documents"
        self.documents.mkdir()
        self.ledger = Ledger(make_engine(home / "candor.sqlite"))
        self.store = EdgeStore(home / "store", reserve=0)
        self.embedder = embedder
        self.chunker = Chunker(embedder.count_tokens, embedder.max_tokens)

    @contextmanager
    def collection(self) -> Iterator[Collection]:
        """Open the collection."""
        spec = CollectionSpec(
            name="papers",
            embedding_model=self.embedder.model,
            dimension=self.embedder.dimension,
            chunking=self.chunker.fingerprint,
        )
        with self.store.create(spec) as collection:
            yield collection

    def ingest(
        self,
        *paths: Path,
        progress: Callable[[Progress], None] = lambda _: None,
        parser: Parser | None = None,
        retry_failed: bool = False,
        sync: bool = False,
        on_plan: Callable[[Plan], None] = lambda _: None,
        **settings: Any,
    ) -> IngestReport:
        """Ingest the paths, by default the folder of documents."""
        with self.collection() as collection:
            pipeline = IngestPipeline(
                parser=parser or load_parser("default"),
                chunker=self.chunker,
                embedder=self.embedder,
                collection=collection,
                ledger=self.ledger,
                settings=IngestSettings(**settings),
            )
            request = IngestRequest(
                collection="papers", paths=paths or (self.documents,), retry_failed=retry_failed, sync=sync
            )
            return ingest_with(pipeline, self.ledger, request, progress, on_plan)

    def searched(self, query: str) -> list[str]:
        """Return the names of the documents that a search finds."""
        with self.collection() as collection:
            live = LiveCollection(collection, self.ledger)
            return [hit.chunk.name for hit in Retriever(live, self.embedder).search([query], limit=10)]

    def states(self) -> dict[str, str]:
        """Return the state of every file by name."""
        return {record.name: record.state.value for record in self.ledger.list("papers")}

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file in the folder of documents."""
        path = self.documents / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def chunks(self, *documents: Path) -> list[Chunk]:
        """Return the chunks in the collection, or only those of these documents."""
        ids = tuple(document_id(path.as_posix()) for path in documents)
        with self.collection() as collection:
            return list(collection.scan(ChunkFilter(documents=ids)))


def ingest_with(
    pipeline: IngestPipeline,
    ledger: Ledger,
    request: IngestRequest,
    progress: Callable[[Progress], None] = lambda _: None,
    on_plan: Callable[[Plan], None] = lambda _: None,
) -> IngestReport:
    """Plan, then execute the plan."""
    known = ledger.snapshot(request.collection)
    plan = plan_ingest(request, known, pipeline.index_settings)
    on_plan(plan)
    return pipeline.ingest(plan, known, progress)


class CountingEmbedder:
    """Records the texts that it embeds."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.embedded: list[str] = []
        self.model, self.dimension, self.max_tokens = embedder.model, embedder.dimension, embedder.max_tokens
        self.languages = embedder.languages

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return self._embedder.embed_passages(texts)

    def embed_query(self, text: str) -> tuple[Vectors, Vectors | None]:
        return self._embedder.embed_query(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)


class CountingParser:
    """Records the files that it parses, and calls ``meddle`` after each."""

    def __init__(self, meddle: Callable[[Path], None] = lambda _: None) -> None:
        self._parser = load_parser("default")
        self._meddle = meddle
        self.name = self._parser.name
        self.version_of = self._parser.version_of
        self.parsed: list[Path] = []

    def parse(self, path: Path) -> ParsedDocument:
        self.parsed.append(path)
        parsed = self._parser.parse(path)
        self._meddle(path)
        return parsed


def write_zip(path: Path, **members: str) -> Path:
    """Write an archive of Markdown files by name and content. `__` in a name stands for `/`."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/") + ".md", content)
    return path
