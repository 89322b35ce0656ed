"""Measure whether a search over 20 quarterly reports finds the figures of 76 single-passage questions.

    python -m benchmarks.filings --data DATA/sec-10-q [--misses] [--home FOLDER] [--reports "*AAPL*"]

The set is sec-10-q of Docugami's KG-RAG-datasets. Each question of type "Single-Doc Single-Chunk RAG" is searched
unchanged for 8 chunks, once over all reports and once in the right report only, as a planner can request.

A figure of an answer is an amount (with a currency sign, a thousands separator, a decimal point, or "million" or
"billion") or a percentage. Dates, counts, numbers in the question, and figures that the report does not contain (the
answer computed them) do not count. A figure is found if one of the 8 chunks *of that report* has the same number, for a
percentage with the percent sign. Signs and units are not compared. Questions without such a figure are reported
separately.

A second table shows what an agent reads within a token budget (Candor's estimate), by the share of the budget for found
passages. The rest of their tables, pages and sections fills the remaining tokens (``prompts/reading.py``). The
pages of a question are the pages of its report with the most figures of the answer. A page is read whole if every
passage on it is read.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from api.services.research.library import CollectionLibrary
from benchmarks.retrieval import home_folder, ingested
from multi_agent.prompts.reading import read_around
from vectorstore.embedding.embedder import make_embedder
from vectorstore.models import Chunk, ChunkFilter, SearchMode
from vectorstore.retrieval import Retriever
from vectorstore.settings import EmbeddingSettings

RETRIEVED = 8
BUDGETS = (2_500, 8_000, 16_000)
SHARES = (1, 0.8, 0.7, 0.5)
ONE_PASSAGE = "Single-Doc Single-Chunk RAG"
SMALLEST = 50  # tokens per passage, a lower bound: the search returns enough passages to fill the budget
_SOURCE = re.compile(r"\(?SOURCE.*", re.DOTALL)
_NUMBER = re.compile(r"(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)(?P<percent>[\s|)]*%)?")
_AMOUNT = re.compile(
    r"(?P<sign>[$€£]\s?\(?)?(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)\)?(?P<unit>\s?%|\s(?:million|billion|trillion)\b)?"
)


class Figure(NamedTuple):
    """A normalized number; ``12.50`` equals ``12.5``."""

    value: Decimal
    is_percentage: bool


class Question(NamedTuple):
    """A question, the report that answers it, and the figures of the answer found in that report."""

    text: str
    report: str
    figures: frozenset[Figure]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="folder with docs/ and questions.csv")
    options.add_argument("--home", type=Path, help="keep the ingested collection here; default: a temporary folder")
    options.add_argument("--reports", default="*", help="pattern of the report file names; default: all")
    options.add_argument("--misses", action="store_true", help="list the questions that the hybrid search misses")
    chosen = options.parse_args()
    files = sorted((chosen.data / "docs").glob(f"{chosen.reports}.pdf"))
    with (
        home_folder(chosen.home) as home,
        ingested(files, "filings", home, make_embedder(EmbeddingSettings())) as (retriever, _),
    ):
        texts: dict[str, list[str]] = {}
        ids: dict[str, str] = {}
        for chunk in retriever.scan():
            texts.setdefault(chunk.name, []).append(chunk.text)
            ids[chunk.name] = chunk.document_id
        questions = _questions(chosen.data / "questions.csv", texts)
        asked = [question for question in questions if question.figures]
        print(
            f"{len(texts)} reports, {sum(map(len, texts.values()))} chunks; {len(questions)} questions, "
            f"{len(asked)} with a figure of the report in the answer"
        )
        _report(retriever, asked, ids, list_misses=chosen.misses)
        _report_reading(retriever, asked)


def _report(retriever: Retriever, questions: Sequence[Question], ids: Mapping[str, str], *, list_misses: bool) -> None:
    table = Table("search", f"any figure in the first {RETRIEVED}", "every figure", "right report among them")
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
        label = f"{mode}, only in the right report" if alone else mode
        table.add_row(label, *(f"{count / len(questions):.3f} ({count})" for count in (some, every, reports)))
    Console().print(table)
    for question, names in misses if list_misses else ():
        figures = ", ".join(f"{figure.value:f}{'%' * figure.is_percentage}" for figure in sorted(question.figures))
        print(f"\n{question.text}\n  wanted: {figures} in {question.report}\n  found: {names}")


def _report_reading(retriever: Retriever, questions: Sequence[Question]) -> None:
    library = CollectionLibrary("filings", lambda: (), retriever)
    on_pages = chunks_by_page(retriever)
    table = Table(
        "budget", "share for found passages", "any figure", "every figure", "a page found", "a page read whole"
    )
    for budget in BUDGETS:
        ranked = {each: retriever.search([each.text], budget // SMALLEST) for each in questions}
        for share in SHARES:
            counts: Counter[str] = Counter()
            for question, hits in ranked.items():
                chunks = read_around([hit.chunk for hit in hits], library, budget, share)
                counts.update(_what_is_read(question, chunks, on_pages[question.report]))
            shown = (
                f"{counts[name] / len(questions):.3f} ({counts[name]})" for name in ("any", "every", "found", "whole")
            )
            table.add_row(f"{budget:,}", f"{share:g}", *shown)
    Console().print(table)


def _what_is_read(
    question: Question, chunks: Sequence[Chunk], on_pages: Mapping[int, Sequence[Chunk]]
) -> Iterator[str]:
    """Yield the names of the table columns that count this question."""
    own = [chunk for chunk in chunks if chunk.name == question.report]
    figures = question.figures & {figure for chunk in own for figure in _numbers(chunk.reading_text)}
    read, pages = {chunk.id for chunk in own}, _pages(question, on_pages)
    holds = {
        "any": bool(figures),
        "every": figures == question.figures,
        "found": any(read & page for page in pages),
        "whole": any(page <= read for page in pages),
    }
    return (name for name, is_true in holds.items() if is_true)


def chunks_by_page(retriever: Retriever) -> dict[str, dict[int, list[Chunk]]]:
    """Return the chunks of each page of each report."""
    on_pages: defaultdict[str, defaultdict[int, list[Chunk]]] = defaultdict(lambda: defaultdict(list))
    for chunk in retriever.scan():
        for page in chunk.pages:
            on_pages[chunk.name][page].append(chunk)
    return {name: dict(pages) for name, pages in on_pages.items()}


def _pages(question: Question, on_pages: Mapping[int, Sequence[Chunk]]) -> list[set[str]]:
    """Return the chunk ids of each page with the most figures of the answer."""
    having = {
        page: len(question.figures & {figure for chunk in chunks for figure in _numbers(chunk.reading_text)})
        for page, chunks in on_pages.items()
    }
    most = max(having.values(), default=0)
    return [{chunk.id for chunk in on_pages[page]} for page, figures in having.items() if figures == most]


def _questions(path: Path, texts: dict[str, list[str]]) -> list[Question]:
    """Return the single-passage questions in the order of the file."""
    held = {name: {figure for text in parts for figure in _numbers(text)} for name, parts in texts.items()}
    questions = []
    with path.open(encoding="utf-8-sig", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["Question Type"] != ONE_PASSAGE:
                continue
            name = next(iter(fnmatch.filter(texts, row["Source Docs"])), None)
            if name is None:
                continue  # its report is not selected
            answer = _SOURCE.sub("", row["Answer"])
            figures = _figures(answer) - _numbers(row["Question"])
            questions.append(Question(row["Question"], name, frozenset(figures & held[name])))
    return questions


def _figures(answer: str) -> set[Figure]:
    """Return the amounts and percentages of an answer."""
    figures = set()
    for match in _AMOUNT.finditer(answer):
        number, unit = match["number"], (match["unit"] or "").strip()
        if match["sign"] or unit or "," in number or "." in number:
            figures.add(_figure(number, is_percentage=unit == "%"))
    return figures


def _numbers(text: str) -> set[Figure]:
    """Return every number of a text; a percentage also as a plain number."""
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
