"""Whether a search over quarterly reports finds the figures that answer: 20 PDFs, 76 questions about one passage each.

    python -m benchmarks.filings --data DATA/sec-10-q [--misses] [--home FOLDER] [--reports "*AAPL*"]

The set is Docugami's KG-RAG-datasets, sec-10-q. The reports are ingested like any files of a user; each question of the
type "Single-Doc Single-Chunk RAG" is searched as it stands, for 8 chunks out of all reports, and once more in the right
report alone, as a planner may name it that has read the list of documents.

What counts as a figure of the answer: an amount (with a currency sign, a thousands separator, a decimal point, or
"million" or "billion" after it) or a percentage. Not: dates, counts, numbers that the question itself names, and
figures that the report named by the question does not hold anywhere (the answer computed them). A figure is found if a
chunk *of that report* among the 8 holds the same number, and for a percentage, followed by the percent sign. Signs and
units are not compared. Questions whose answers have no such figure are counted apart.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.retrieval import ingest
from ingest.chunking.chunker import Chunker
from ingest.settings import IngestSettings
from vectorstore.edge import EdgeStore
from vectorstore.embedding.embedder import make_embedder
from vectorstore.models import ChunkFilter, CollectionSpec, SearchMode
from vectorstore.retrieval import Retriever
from vectorstore.settings import EmbeddingSettings

RETRIEVED = 8
ONE_PASSAGE = "Single-Doc Single-Chunk RAG"
_SOURCE = re.compile(r"\(?SOURCE.*", re.DOTALL)
_NUMBER = re.compile(r"(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)(?P<percent>[\s|)]*%)?")
_AMOUNT = re.compile(
    r"(?P<sign>[$€£]\s?\(?)?(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)\)?(?P<unit>\s?%|\s(?:million|billion|trillion)\b)?"
)


class Figure(NamedTuple):
    """A number without its separators; ``12.50`` is ``12.5``."""

    value: Decimal
    is_percentage: bool


class Question(NamedTuple):
    """A question, the report that answers it, and the figures of the answer that stand in that report."""

    text: str
    report: str
    figures: frozenset[Figure]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="folder with docs/ and questions.csv")
    options.add_argument("--home", type=Path, help="keep what was ingested here, for the next time; default: nowhere")
    options.add_argument("--reports", default="*", help="pattern of their file names, for a quick look; default: all")
    options.add_argument("--misses", action="store_true", help="list the questions that the hybrid search misses")
    chosen = options.parse_args()
    embedder = make_embedder(EmbeddingSettings())
    chunker = Chunker(embedder.count_tokens, embedder.max_tokens, IngestSettings().chunk_overlap)
    spec = CollectionSpec(
        name="filings", embedding_model=embedder.model, dimension=embedder.dimension, chunking=chunker.fingerprint
    )
    with (
        nullcontext(chosen.home) if chosen.home else tempfile.TemporaryDirectory() as home,
        EdgeStore(Path(home) / "store").create(spec) as collection,
    ):
        files = sorted((chosen.data / "docs").glob(f"{chosen.reports}.pdf"))
        report = ingest(files, Path(home), collection, chunker, embedder)
        retriever = Retriever(collection, embedder)
        texts: dict[str, list[str]] = {}
        ids: dict[str, str] = {}
        for chunk in retriever.scan():
            texts.setdefault(chunk.name, []).append(chunk.text)
            ids[chunk.name] = chunk.document_id
        questions = _questions(chosen.data / "questions.csv", texts)
        asked = [question for question in questions if question.figures]
        print(
            f"{len(texts)} reports, {report.chunks} chunks; {len(questions)} questions, "
            f"of which {len(asked)} have a figure of the report in their answer"
        )
        _report(retriever, asked, ids, list_misses=chosen.misses)


def _report(retriever: Retriever, questions: Sequence[Question], ids: Mapping[str, str], *, list_misses: bool) -> None:
    table = Table("search", f"any figure in the first {RETRIEVED}", "every figure", "the report among them")
    misses: list[tuple[Question, str]] = []
    for mode, alone in [*((mode, False) for mode in SearchMode), (SearchMode.HYBRID, True)]:
        some = every = reports = 0
        for question in questions:
            where = ChunkFilter(documents=(ids[question.report],) if alone else ())
            hits = retriever.search([question.text], RETRIEVED, where, mode)
            own = [hit.chunk for hit in hits if hit.chunk.name == question.report]
            found = question.figures & {figure for chunk in own for figure in _numbers(chunk.reading_text)}
            some, every, reports = some + bool(found), every + (found == question.figures), reports + bool(own)
            if not found and mode is SearchMode.HYBRID and not alone:
                names = ", ".join(f"{hit.chunk.name} #{hit.chunk.index}" for hit in hits)
                misses.append((question, names))
        label = f"{mode}, in the right report alone" if alone else mode
        table.add_row(label, *(f"{count / len(questions):.3f} ({count})" for count in (some, every, reports)))
    Console().print(table)
    for question, names in misses if list_misses else ():
        figures = ", ".join(f"{figure.value:f}{'%' * figure.is_percentage}" for figure in sorted(question.figures))
        print(f"\n{question.text}\n  wanted: {figures} in {question.report}\n  found: {names}")


def _questions(path: Path, texts: dict[str, list[str]]) -> list[Question]:
    """The questions about one passage, in the order of the file."""
    held = {name: {figure for text in parts for figure in _numbers(text)} for name, parts in texts.items()}
    questions = []
    with path.open(encoding="utf-8-sig", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["Question Type"] != ONE_PASSAGE:
                continue
            name = next(iter(fnmatch.filter(texts, row["Source Docs"])), None)
            if name is None:
                continue  # its report was not chosen
            answer = _SOURCE.sub("", row["Answer"])
            figures = _figures(answer) - _numbers(row["Question"])
            questions.append(Question(row["Question"], name, frozenset(figures & held[name])))
    return questions


def _figures(answer: str) -> set[Figure]:
    """The amounts and percentages of an answer."""
    figures = set()
    for match in _AMOUNT.finditer(answer):
        number, unit = match["number"], (match["unit"] or "").strip()
        if match["sign"] or unit or "," in number or "." in number:
            figures.add(_figure(number, is_percentage=unit == "%"))
    return figures


def _numbers(text: str) -> set[Figure]:
    """Every number of a text, a percentage also as a mere number."""
    numbers = set()
    for match in _NUMBER.finditer(text):
        numbers.add(_figure(match["number"], is_percentage=False))
        if match["percent"]:
            numbers.add(_figure(match["number"], is_percentage=True))
    return numbers


def _figure(number: str, *, is_percentage: bool) -> Figure:
    return Figure(Decimal(number.replace(",", "")).normalize(), is_percentage)


if __name__ == "__main__":
    main()
