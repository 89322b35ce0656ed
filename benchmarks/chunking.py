"""Compare retrieval with Candor's chunker and with llama-index's SentenceSplitter of the same chunk size.

    python -m benchmarks.chunking --data DATA/chunking [--corpora chatlogs state_of_the_union]

The data are the corpora of brandonstarxel/chunking_evaluation, and their questions with the exact passages that answer
them. Every corpus is parsed once. Both chunkers divide the same text into chunks of the same budget (the limit of the
bundled model). Each set of chunks has one hybrid index over all corpora. Each question retrieves 5 chunks. Per question
and in characters: recall is the retrieved share of the answering passages, precision the answering share of the
retrieved text, IoU their intersection over their union (Smith and Troynikov, "Evaluating chunking strategies for
retrieval", 2024). References are matched in the parsed text without white space and Markdown markup. References without
a match are counted and skipped for both chunkers. The table has a row for all corpora together and one for each.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from rich.console import Console
from rich.table import Table

from ingest.chunking.chunker import Chunker, Source
from ingest.document import ParsedDocument
from ingest.parser import load_parser
from ingest.settings import IngestSettings
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import Embedder, make_embedder
from vectorstore.models import Chunk, CollectionSpec, Hit
from vectorstore.retrieval import Retriever
from vectorstore.settings import EmbeddingSettings

RETRIEVED = 5
_MARKS = re.compile(r"[\s*_#`|\\>-]+")


class Question(NamedTuple):
    """A question with the spans of the parsed text that answer it."""

    corpus: str
    text: str
    spans: tuple[tuple[int, int], ...]


class Scores(NamedTuple):
    """Scores of one question, or the mean of many."""

    recall: float
    precision: float
    iou: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="folder with corpora/ and questions_df.csv")
    options.add_argument("--corpora", nargs="*", help="names of corpora; default: all")
    chosen = options.parse_args()
    names = chosen.corpora or sorted(path.stem for path in (chosen.data / "corpora").glob("*.md"))
    parser = load_parser("default")
    documents = {name: parser.parse(chosen.data / "corpora" / f"{name}.md") for name in names}
    questions, lost = _questions(chosen.data / "questions_df.csv", documents)
    print(f"{len(names)} corpora, {len(questions)} questions; {lost} references not found in the parsed text")
    embedder = make_embedder(EmbeddingSettings())
    table = Table("corpus", "questions", "chunker", "chunks", "recall", "precision", "IoU")
    measured = {}
    for label, chunks in (
        ("Candor", list(_by_candor(documents, embedder))),
        ("SentenceSplitter", list(_by_sentences(documents, embedder))),
    ):
        measured[label] = (chunks, _measure(chunks, questions, embedder))
    for title, corpora in (("all", names), *((name, [name]) for name in names)):
        for label, (chunks, each) in measured.items():
            count = sum(chunk.document_id in corpora for chunk in chunks)
            scores = [score for question, score in zip(questions, each, strict=True) if question.corpus in corpora]
            values = (f"{value:.3f}" for value in _mean(scores))
            table.add_row(title, str(len(scores)), label, str(count), *values)
    Console().print(table)


def _questions(path: Path, documents: dict[str, ParsedDocument]) -> tuple[list[Question], int]:
    folded = {name: _fold(document.text) for name, document in documents.items()}
    questions, lost = [], 0
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["corpus_id"] not in documents:
                continue
            found = [_locate(each["content"], *folded[row["corpus_id"]]) for each in json.loads(row["references"])]
            lost += found.count(None)
            spans = tuple(span for span in found if span)
            if spans:
                questions.append(Question(row["corpus_id"], row["question"], spans))
    return questions, lost


def _fold(text: str) -> tuple[str, list[int]]:
    """Return the text without white space and markup, and the original index of each character."""
    kept = [(character, index) for index, character in enumerate(text) if not _MARKS.fullmatch(character)]
    return "".join(character for character, _ in kept), [index for _, index in kept]


def _locate(content: str, folded: str, origins: list[int]) -> tuple[int, int] | None:
    wanted = _MARKS.sub("", content)
    start = folded.find(wanted)
    return None if start < 0 or not wanted else (origins[start], origins[start + len(wanted) - 1] + 1)


def _by_candor(documents: dict[str, ParsedDocument], embedder: Embedder) -> Iterator[Chunk]:
    chunker = Chunker(embedder.count_tokens, embedder.max_tokens, IngestSettings().chunk_overlap)
    for name, document in documents.items():
        yield from chunker.chunk(document, Source(document_id=name, path=name, name=name, version="1"))


def _by_sentences(documents: dict[str, ParsedDocument], embedder: Embedder) -> Iterator[Chunk]:
    from llama_index.core.node_parser import SentenceSplitter

    splitter = SentenceSplitter(
        chunk_size=embedder.max_tokens, chunk_overlap=0, tokenizer=lambda text: range(embedder.count_tokens([text])[0])
    )
    for name, document in documents.items():
        position = 0
        for index, text in enumerate(splitter.split_text(document.text)):
            start = document.text.index(text, position)
            position = start + len(text)
            yield Chunk(
                id=str(uuid5(NAMESPACE_URL, f"{name}/{index}")), document_id=name, document=name, name=name,
                version="1", index=index, text=text, start=start, end=position,
            )  # fmt: skip


def _measure(chunks: Sequence[Chunk], questions: Sequence[Question], embedder: Embedder) -> list[Scores]:
    """Return the scores of each question."""
    spec = CollectionSpec(
        name="chunking", embedding_model=embedder.model, dimension=embedder.dimension, chunking="benchmark"
    )
    with tempfile.TemporaryDirectory() as folder, EdgeStore(Path(folder)).create(spec) as collection:
        collection.upsert(chunks, embedder.embed_passages([chunk.embedded_text for chunk in chunks]))
        retriever = Retriever(collection, embedder)
        return [_score(question, retriever.search([question.text], RETRIEVED)) for question in questions]


def _mean(scores: Sequence[Scores]) -> Scores:
    return Scores(*(fmean(values) for values in zip(*scores, strict=True)))


def _score(question: Question, hits: Iterable[Hit]) -> Scores:
    relevant = _characters(question.spans)
    retrieved: set[int] = set()
    foreign = 0
    for chunk in (hit.chunk for hit in hits):
        if chunk.document_id == question.corpus:
            retrieved |= _characters([(chunk.start, chunk.end)])
        else:
            foreign += chunk.end - chunk.start
    both = len(relevant & retrieved)
    total = len(retrieved) + foreign
    return Scores(both / len(relevant), both / total if total else 0.0, both / (len(relevant) + total - both))


def _characters(spans: Iterable[tuple[int, int]]) -> set[int]:
    return {index for start, end in spans for index in range(start, end)}


if __name__ == "__main__":
    main()
