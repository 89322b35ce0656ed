"""Measure the model calls and prompt tokens of questions about the collection itself.

    PYTHONPATH=tests python -m benchmarks.collection_questions [--documents 15 20000]

Writes documents to the database, and a short passage of each of the first 500 to the store, with the default
embedding model. A scripted endpoint gives the responses of a careful reader. The tokens are an estimate that errs on
the high side.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from api.bootstrap import Candor
from api.settings import Settings
from base.tokens import estimate_tokens
from ingest.document import DATE, ISSUER, Block, BlockKind, Fact, FactSource, ParsedDocument
from ingest.ledger.records import INDEX_VERSION, DocumentRecord, DocumentState, Publication, Stage, document_id
from ingest.pipeline.chunks import chunk_id
from multi_agent.llm.models import Models, build_llm
from multi_agent.values.request import Request as Asked
from support.panel import SYNTHESIS, TRIAGE, role_of, synthesis, triage
from support.replies import Request
from support.scripted_endpoint import ScriptedEndpoint
from vectorstore.models import Chunk, CollectionSpec, PageSpan, SectionStart

_NAME, _BATCH, _MOST_PASSAGES = "benchmark", 1_000, 500
_TYPES = ("pdf", "docx", "pdf", "eml", "xlsx")
_TOPICS = ("Offer", "Minutes", "Report", "Invoice", "Manual")

QUESTIONS: Mapping[str, dict[str, Any]] = {
    "Which documents are there?": {"sql": "SELECT name, title FROM documents ORDER BY name"},
    "How many documents are there, and how many are PDFs?": {
        "sql": "SELECT count(*) AS documents, count(*) FILTER (WHERE type = 'pdf') AS pdfs FROM documents"
    },
    "Which is the newest document?": {
        "sql": "SELECT name, title, coalesce(date, file_date) AS date FROM documents ORDER BY 3 DESC NULLS LAST LIMIT 1"
    },
    "Which documents did we get in 2024?": {
        "sql": "SELECT name, title, coalesce(date, file_date) AS date FROM documents "
        "WHERE year(coalesce(date, file_date)) = 2024 ORDER BY 3"
    },
    "In which documents is Borea mentioned?": {"words": ["Borea"]},
    "Does any document mention asbestos?": {"words": ["asbestos"]},
    "What is on page 2 of document 00003?": {"documents": ["000/00003.eml"], "pages": [2]},
    "What are the headings of document 00003?": {"documents": ["000/00003.eml"], "pages": []},
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--documents", type=int, nargs="+", default=[15, 20_000])
    table = Table("documents", "question", "status", "calls", "prompt tokens", "seconds")
    for number in options.parse_args().documents:
        with tempfile.TemporaryDirectory(prefix="candor-collection-") as home:
            fill(Candor(Settings(home=Path(home))), number)
            for row in asyncio.run(_ask_all(Path(home))):
                table.add_row(f"{number:,}", *row)
    Console(width=130, highlight=False).print(table)


def fill(candor: Candor, number: int) -> None:
    """Write the documents, and passages of the first ones."""
    embedder = candor.collections.load_embedder()
    spec = CollectionSpec(
        name=_NAME, embedding_model=embedder.model, dimension=embedder.dimension, chunking="sections-v1/256"
    )
    with candor.store.create(spec) as collection:
        for start in range(0, number, _BATCH):
            documents = [_publication(at) for at in range(start, min(start + _BATCH, number))]
            candor.ledger.publish(documents)
            chunks = [_chunk(each.record) for each in documents[: max(_MOST_PASSAGES - start, 0)]]
            if chunks:
                collection.upsert(chunks, embedder.embed_passages([chunk.embedded_text for chunk in chunks]))


def _publication(number: int) -> Publication:
    path = f"/srv/files/{number // 1_000:03d}/{number:05d}.{_TYPES[number % len(_TYPES)]}"
    stated = {ISSUER: f"Company {number % 50}", DATE: f"{2015 + number % 12}-{1 + number % 12:02d}-05"}
    record = DocumentRecord(
        collection=_NAME, id=document_id(path), path=path, name=path.removeprefix("/srv/files/"), chunks=1, tokens=40,
        state=DocumentState.INDEXED, stage=Stage.STORING, version=f"{number:064x}", size=1000, pages=2,
        modified=datetime(2016 + number % 10, 1, 1, tzinfo=UTC).timestamp(), mime_type="text/plain",
        title=f"{_TOPICS[number % 5]} for project {number % 400}", parser="text/1", chunking="sections-v1/256",
        metadata={"language": "en", "authors": f"Author {number % 30}"},
        facts={
            name: Fact(value=value, printed=value, quote=value, source=FactSource.RULE)
            for name, value in stated.items()
            if number % 3
        },
    )  # fmt: skip
    text = _text(record.title, number)
    block = Block(kind=BlockKind.PROSE, start=0, end=len(text))
    return Publication(record, ParsedDocument(text=text, blocks=(block,), parser="text/1"))


def _text(title: str, number: int) -> str:
    pump = "The Borea 12 is delivered in spring. " if number % 20 == 3 else ""
    return f"1 Subject\nThis is about {title}.\n2 Details\n{pump}Number {number} was agreed with the client."


def _chunk(record: DocumentRecord) -> Chunk:
    text = _text(record.title, int(record.version, 16))
    second = text.index("2 Details")
    return Chunk(
        id=chunk_id(record.index_version, 0), document_id=record.id, document=record.path, name=record.name,
        version=record.version, index=0, text=text, start=0, end=len(text), title=record.title, section=("1 Subject",),
        sections=(SectionStart(start=second, path=("2 Details",)),),
        page_spans=(PageSpan(number=1, start=0, end=second), PageSpan(number=2, start=second, end=len(text))),
        metadata={"language": "en", INDEX_VERSION: record.index_version},
    )  # fmt: skip


async def _ask_all(home: Path) -> list[tuple[str, ...]]:
    return [await _measure(home, question, lookup) for question, lookup in QUESTIONS.items()]


async def _measure(home: Path, question: str, lookup: dict[str, Any]) -> tuple[str, ...]:
    """Ask the question and return its row of the table."""
    with ScriptedEndpoint(lambda request: _respond(request, lookup)) as server:
        candor = Candor(Settings(home=home))
        with candor.collections.open(_NAME) as opened:
            library = candor.collections.library(_NAME, opened)
            panel = candor.panel.orchestrator(library, Models(build_llm(server.settings("openai"))))
            started = time.monotonic()
            answer = await panel.research(Asked(question=question))
            seconds = time.monotonic() - started
        tokens = sum(estimate_tokens(request.prompt) for request in server.requests)
        return question, answer.status.value, str(len(server.requests)), f"{tokens:,}", f"{seconds:.1f}"


def _respond(request: Request, lookup: dict[str, Any]) -> str:
    """Look it up, then claim the first row of the result."""
    if role_of(request) == TRIAGE:
        return json.dumps(triage(request, lookup=lookup))
    assert role_of(request) == SYNTHESIS, "no other call is needed"
    rows = request.prompt.rpartition("[C1]")[2].splitlines()
    claim = {"text": rows[3].strip().replace(" | ", ", "), "evidence": [], "computations": [1]}
    return json.dumps(synthesis([claim], sufficient=True))


if __name__ == "__main__":
    main()
