"""Measure listing and searching a collection of many documents, against one of ten documents.

    python -m benchmarks.listing [--documents 100000]

Fills the database and the store directly, with random vectors. Each line is a separate process, and its seconds are CPU
seconds: those of the large collection, of the small one, and the difference, which should be less than 1 s.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from api.bootstrap import Candor
from api.settings import Settings
from benchmarks.ingest import measure
from benchmarks.search import DIMENSION, clustered_vectors, random_texts
from ingest.document import ISSUER, PERIOD, Block, BlockKind, Fact, FactSource, ParsedDocument
from ingest.ledger.records import INDEX_VERSION, DocumentRecord, DocumentState, Publication, Stage, document_id
from ingest.pipeline.chunks import chunk_id
from multi_agent.orchestrator.planning.document_list import list_documents
from vectorstore.models import Chunk, CollectionSpec
from vectorstore.settings import DEFAULT_MODEL

_NAME, _FEW, _BATCH = "benchmark", 10, 1_000
_TARGET = 1.0
_CLI = ["-m", "api.cli"]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--documents", type=int, default=100_000)
    number = options.parse_args().documents
    with tempfile.TemporaryDirectory(prefix="candor-listing-") as scratch:
        homes = [Path(scratch, str(size)) for size in (number, _FEW)]
        for home, size in zip(homes, (number, _FEW), strict=True):
            fill(home, size)
        table = Table("", f"{number:,} documents", f"{_FEW} documents", "difference", "peak")
        for name, command in _commands().items():
            spent = [measure([sys.executable, *command, "--home", home]) for home in homes]
            more = spent[0].cpu_seconds - spent[1].cpu_seconds
            seconds = [f"{each.cpu_seconds:.2f}" for each in spent]
            table.add_row(name, *seconds, f"{more:.2f}{' (over 1 s)' * (more > _TARGET)}", f"{spent[0].peak_mb:.0f} MB")
    Console(width=130, highlight=False).print(table)


def _commands() -> dict[str, list[str]]:
    return {
        "candor documents": [*_CLI, "documents", "-c", _NAME],
        "candor documents --limit 1000 --json": [*_CLI, "documents", "-c", _NAME, "--limit", "1000", "--json"],
        "candor search": [*_CLI, "search", "a heat pump", "-c", _NAME],
        "candor search --folder 000": [*_CLI, "search", "a heat pump", "-c", _NAME, "--folder", "000"],
        "GET /v1/documents": ["-m", "benchmarks.listing", "get", "/v1/documents"],
        "GET /v1/collections": ["-m", "benchmarks.listing", "get", "/v1/collections"],
        "the planner's list": ["-m", "benchmarks.listing", "planner", ""],
    }


def fill(home: Path, number: int) -> None:
    """Write documents of one passage to the database and the store."""
    candor, rng = Candor(Settings(home=home)), np.random.default_rng(0)
    spec = CollectionSpec(name=_NAME, embedding_model=DEFAULT_MODEL, dimension=DIMENSION, chunking="none")
    with candor.store.create(spec) as collection:
        written = random_texts(rng, number)  # in one call: each has words of its own
        for start in range(0, number, _BATCH):
            texts = written[start : start + _BATCH]
            documents = [_publication(start + index, text) for index, text in enumerate(texts)]
            candor.ledger.publish(documents)
            chunks = [_chunk(each.record, text) for each, text in zip(documents, texts, strict=True)]
            collection.upsert(chunks, clustered_vectors(rng, len(texts)))
        collection.optimize()  # as an ingest does


def _publication(number: int, text: str) -> Publication:
    path = f"/srv/notes/{number // 1_000:03d}/note-{number:06d}.txt"
    facts = {ISSUER: f"Company {number % 50}", PERIOD: f"{2000 + number % 25}"} if number % 2 else {}
    record = DocumentRecord(
        collection=_NAME, id=document_id(path), path=path, name=path.removeprefix("/srv/notes/"), chunks=1, tokens=100,
        state=DocumentState.INDEXED, stage=Stage.STORING, version=f"{number:064x}", size=len(text), modified=1.7e9,
        mime_type="text/plain", title=f"Note {number}", parser="text/1", chunking="none", metadata={"language": "en"},
        facts={
            name: Fact(value=value, printed=value, quote=value, source=FactSource.RULE) for name, value in facts.items()
        },
        seconds={"reading": 0.001, "parsing": 0.002, "chunking": 0.002}, tags=(),
    )  # fmt: skip
    block = Block(kind=BlockKind.PROSE, start=0, end=len(text))
    return Publication(record, ParsedDocument(text=text, blocks=(block,), parser="text/1"))


def _chunk(record: DocumentRecord, text: str) -> Chunk:
    return Chunk(
        id=chunk_id(record.index_version, 0), document_id=record.id, document=record.path, name=record.name,
        version=record.version, index=0, text=text, start=0, end=len(text), title=record.title,
        metadata={"language": "en", INDEX_VERSION: record.index_version},
    )  # fmt: skip


def get(home: Path, path: str) -> None:
    """Request a path of the REST API."""
    from fastapi.testclient import TestClient

    from api.http.app import make_app

    with TestClient(make_app(Candor(Settings(home=home)))) as http:
        response = http.get(path, params={"collection": _NAME})
    response.raise_for_status()
    print(len(response.content), "bytes")


def planner(home: Path, _: str) -> None:
    """Make the list of documents of the planner's prompt."""
    candor = Candor(Settings(home=home))
    with candor.collections.open(_NAME) as opened:
        library = candor.collections.library(_NAME, opened)
        print(list_documents(library, library.catalogue(), "How loud is the heat pump?", 15))


if __name__ == "__main__":
    if sys.argv[1:2] in (["get"], ["planner"]):
        globals()[sys.argv[1]](Path(sys.argv[4]), sys.argv[2])
    else:
        main()
