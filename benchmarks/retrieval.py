"""Measure retrieval over sets in BEIR format, through Candor's ingest and search: one line per set and mode.

    python -m benchmarks.retrieval --data DATA/retrieval --sets scifact --modes meaning words hybrid
    CANDOR_RESEARCH__RERANK__PROVIDER=llm python -m benchmarks.retrieval --data DATA/retrieval --rerank --queries 20

Each passage of a set becomes a Markdown file with its title as heading. It is ingested like a user's file and ranked by
its best chunk. ir-measures computes the metrics. benchmarks/README.md has published figures. With ``--home``, queries
that were reranked before are not asked again.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, islice, product
from pathlib import Path
from typing import NamedTuple

import ir_measures
from ir_measures import R, Success, nDCG
from sqlalchemy import create_engine

from api.services.documents.rerankers import load_reranker
from api.settings import load_settings
from base.database import METADATA
from ingest.chunking.chunker import Chunker
from ingest.ledger.ledger import Ledger
from ingest.parser import load_parser
from ingest.pipeline.pipeline import IngestPipeline, IngestReport
from ingest.pipeline.plan import IngestRequest, plan_ingest
from ingest.settings import IngestSettings
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import Embedder, make_embedder
from vectorstore.models import CollectionSpec, SearchMode
from vectorstore.ranking import DEPTH
from vectorstore.reranking import Reranker
from vectorstore.retrieval import Retriever
from vectorstore.settings import EmbeddingSettings
from vectorstore.store import Collection

MEASURES = [nDCG @ 10, Success @ 10, R @ 10, R @ 5]
WHERE = """A set is a folder with corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and qrels/test.tsv, as BEIR
publishes them: SciFact is https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/scifact.zip; the
other BEIR sets are in the same folder."""
_BAR = " | "  # between cells
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~&!+\-.=])")


class Qrel(NamedTuple):
    """One relevance judgement."""

    query_id: str
    doc_id: str
    relevance: int


class Found(NamedTuple):
    """One document of a ranking."""

    query_id: str
    doc_id: str
    score: float


def main() -> None:
    """Ingest each set, search it in each mode, print a line of metrics."""
    arguments = _arguments()
    settings = EmbeddingSettings(model=arguments.model, precision=arguments.precision)
    embedder = make_embedder(settings)
    for name in arguments.sets or sorted(folder.parent.name for folder in arguments.data.glob("*/corpus.jsonl")):
        with home_folder(arguments.home) as home:
            reranker = load_reranker(load_settings(home)) if arguments.rerank else None
            modes = [SearchMode(mode) for mode in arguments.modes]
            _measure(arguments.data / name, home / name, embedder, modes, arguments.queries, reranker)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=WHERE, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    parser.add_argument("--sets", nargs="*", help="names of the sets; default: all in the folder")
    parser.add_argument("--modes", nargs="*", default=[str(mode) for mode in SearchMode], choices=list(SearchMode))
    parser.add_argument("--rerank", action="store_true", help="also with the reranker of the settings")
    parser.add_argument("--queries", type=int, help="number of queries, the first ones of the set; default: all")
    parser.add_argument("--model", default=EmbeddingSettings().model, help="embedding model")
    parser.add_argument("--precision", default=EmbeddingSettings().precision, help="as in the settings")
    parser.add_argument("--home", type=Path, help="keep the ingested collections here; default: a temporary folder")
    return parser.parse_args()


@contextmanager
def home_folder(kept: Path | None) -> Iterator[Path]:
    """Yield the given folder, or a temporary folder if it is None."""
    if kept:
        yield kept
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _measure(
    data: Path, home: Path, embedder: Embedder, modes: list[SearchMode], most: int | None, reranker: Reranker | None
) -> None:
    documents = home / "documents"
    ids = write_documents(data / "corpus.jsonl", documents)
    with ingested([documents], data.name, home, embedder) as (retriever, report):
        print(
            f"{data.name}: {report.indexed} documents, {report.chunks} chunks, {report.tokens} tokens "
            f"ingested in {report.seconds:.0f} s ({report.unchanged} unchanged)",
            flush=True,
        )
        queries = dict(islice(queries_of(data / "queries.jsonl").items(), most))
        qrels = [each for each in qrels_of(data / "qrels" / "test.tsv") if each.query_id in queries]
        for mode, used in product(modes, (None, reranker) if reranker else (None,)):
            file = home / f"{mode}-{used.name.replace('/', '-')}.jsonl" if used else None
            run, seconds = _timed(retriever, queries, mode, ids, used, file)
            values = ir_measures.calc_aggregate(MEASURES, qrels, run)
            figures = "  ".join(f"{measure} {values[measure]:.4f}" for measure in MEASURES)
            each = f"{len(queries)} queries, {seconds / len(queries) * 1000:.1f} ms each"
            print(f"{data.name:24} {mode:7} {figures}  {each}{f', {used.name}' if used else ''}", flush=True)


def _timed(
    retriever: Retriever, queries: dict[str, str], mode: SearchMode, ids: dict[str, str],
    reranker: Reranker | None, file: Path | None,
) -> tuple[list[Found], float]:  # fmt: skip
    """Return the rankings and their seconds. Queries in ``file`` are not searched again."""
    rows = [json.loads(line) for line in file.open()] if file and file.exists() else []
    known = {row["query"] for row in rows}
    for query in [each for each in queries if each not in known]:
        started = time.perf_counter()
        found = [each.doc_id for each in ranked(retriever, {query: queries[query]}, mode, ids, reranker)]
        rows.append({"query": query, "found": found, "seconds": time.perf_counter() - started})
        if file:
            with file.open("a") as lines:
                print(json.dumps(rows[-1]), file=lines)
    rows = [row for row in rows if row["query"] in queries]
    run = [Found(row["query"], name, -float(rank)) for row in rows for rank, name in enumerate(row["found"])]
    return run, sum(row["seconds"] for row in rows)


def write_documents(corpus: Path, folder: Path) -> dict[str, str]:
    """Write one numbered file per passage (ids may not be valid file names). Return the id of each file."""
    folder.mkdir(parents=True, exist_ok=True)
    ids: dict[str, str] = {}
    with corpus.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            passage = json.loads(line)
            name = f"{number:06}.md"
            ids[name] = passage["_id"]
            heading = f"# {_escaped(passage['title'])}\n\n" if passage.get("title") else ""
            (folder / name).write_text(f"{heading}{_markdown(passage['text'])}\n", encoding="utf-8")
    return ids


def _markdown(text: str) -> str:
    """Return the text as one paragraph. Lines with equally many cells (OTT-QA's tables) become a table."""
    blocks: list[str] = []
    for bars, group in groupby(text.splitlines(), key=lambda line: line.count(_BAR)):
        lines = list(group)
        if bars and len(lines) > 1:
            header, *rows = (f"| {' | '.join(map(_escaped, line.split(_BAR)))} |" for line in lines)
            blocks.append("\n".join([header, "|---" * (bars + 1) + "|", *rows]))
        else:
            blocks.append(_escaped(" ".join(lines)))
    return "\n\n".join(block for block in blocks if block)


def _escaped(text: str) -> str:
    """Escape the text for Markdown."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


@contextmanager
def ingested(
    paths: Sequence[Path], name: str, home: Path, embedder: Embedder
) -> Iterator[tuple[Retriever, IngestReport]]:
    """Ingest files and folders into a collection in ``home`` and yield its retriever. Unchanged files are skipped."""
    chunker = Chunker(embedder.count_tokens, embedder.max_tokens, IngestSettings().chunk_overlap)
    spec = CollectionSpec(
        name=name, embedding_model=embedder.model, dimension=embedder.dimension, chunking=chunker.fingerprint
    )
    with EdgeStore(home / "store").create(spec) as collection:
        yield Retriever(collection, embedder), ingest(paths, home, collection, chunker, embedder)


def ingest(
    paths: Sequence[Path],
    home: Path,
    collection: Collection,
    chunker: Chunker,
    embedder: Embedder,
) -> IngestReport:
    """Ingest files and folders into the collection. The ledger is in ``home``."""
    engine = create_engine(f"sqlite:///{home / 'ledger.sqlite'}")
    METADATA.create_all(engine)
    ledger = Ledger(engine)
    pipeline = IngestPipeline(
        parser=load_parser("default"),
        chunker=chunker,
        embedder=embedder,
        collection=collection,
        ledger=ledger,
        settings=IngestSettings(),
    )
    request, known = (
        IngestRequest(collection=collection.spec.collection, paths=tuple(paths)),
        ledger.snapshot(collection.spec.collection),
    )
    return pipeline.ingest(plan_ingest(request, known, pipeline.index_settings), known)


def queries_of(file: Path) -> dict[str, str]:
    return {query["_id"]: query["text"] for query in map(json.loads, file.open(encoding="utf-8"))}


def qrels_of(file: Path) -> list[Qrel]:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return [Qrel(row["query-id"], row["corpus-id"], int(row["score"])) for row in rows]


def ranked(
    retriever: Retriever,
    queries: dict[str, str],
    mode: SearchMode,
    ids: dict[str, str],
    reranker: Reranker | None = None,
) -> Iterator[Found]:
    """Yield the documents of each query in the order of their best chunks."""
    for query_id, text in queries.items():
        hits = retriever.search([text], DEPTH, mode=mode, reranker=reranker)  # one document may have several
        for rank, name in enumerate(dict.fromkeys(hit.chunk.name for hit in hits)):
            yield Found(query_id, ids[name], -float(rank))


if __name__ == "__main__":
    main()
