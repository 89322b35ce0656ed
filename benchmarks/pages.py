"""Measure, without a model, whether the pages that answer a question are found and read whole.

    python -m benchmarks.pages --reports DATA/annual-reports/docs

The 40 questions of ``benchmarks/annual_reports.jsonl`` are about twelve annual reports, half of them about tables.
Answers and pages were labelled from pictures of the pages. The search is not restricted to the right report. An agent
reads within a token budget (Candor's estimate): found passages first, then the rest of their tables, pages and sections
(``prompts/reading.py``). A gold page is found if at least one passage on it is read, and read whole if every
passage on it is read. A question counts if this holds for one gold page of each report that it needs.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from api.services.research.library import CollectionLibrary
from benchmarks.filings import BUDGETS, SHARES, SMALLEST, chunks_by_page
from benchmarks.retrieval import home_folder, ingested
from multi_agent.evaluation.question_set import Gold, Question, load_questions
from multi_agent.prompts.reading import read_around
from vectorstore.embedding.embedder import make_embedder
from vectorstore.models import Chunk
from vectorstore.retrieval import Retriever
from vectorstore.settings import EmbeddingSettings

QUESTIONS = Path(__file__).with_name("annual_reports.jsonl")
ALL = "all"
Pages = Mapping[str, Mapping[int, Sequence[Chunk]]]
"""The chunks of each page of each report."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--reports", type=Path, required=True, help="folder with the reports")
    options.add_argument("--questions", type=Path, default=QUESTIONS, help="question set with gold pages")
    options.add_argument("--home", type=Path, help="keep the ingested collection here; default: a temporary folder")
    chosen = options.parse_args()
    with (
        home_folder(chosen.home) as home,
        ingested(sorted(chosen.reports.glob("*.pdf")), "reports", home, make_embedder(EmbeddingSettings())) as (
            retriever,
            _,
        ),
    ):
        report(retriever, [each for each in load_questions(chosen.questions).questions if each.gold])


def report(retriever: Retriever, questions: Sequence[Question]) -> None:
    """Print the share of questions whose pages are found and read whole, by budget, share and tag."""
    library = CollectionLibrary("reports", lambda: (), retriever)
    pages = chunks_by_page(retriever)
    asked = Counter(tag for each in questions for tag in tags_of(each))
    table = Table("budget", "share for found passages", "a page found", "a page read whole", "found, by kind")
    for budget in BUDGETS:
        ranked = {each.id: retriever.search([each.question], budget // SMALLEST) for each in questions}
        for share in SHARES:
            found: Counter[str] = Counter()
            whole: Counter[str] = Counter()
            for question in questions:
                chunks = read_around([hit.chunk for hit in ranked[question.id]], library, budget, share)
                read = {chunk.id for chunk in chunks}
                found.update(tags_of(question) if all(has_page(gold, pages, read) for gold in question.gold) else ())
                whole.update(
                    tags_of(question) if all(has_page(gold, pages, read, whole=True) for gold in question.gold) else ()
                )
            by_kind = ", ".join(f"{tag} {found[tag]} of {asked[tag]}" for tag in asked if tag != ALL)
            shares = (f"{counts[ALL] / asked[ALL]:.3f} ({counts[ALL]})" for counts in (found, whole))
            table.add_row(f"{budget:,}", f"{share:g}", *shares, by_kind)
    Console(width=160).print(table)


def tags_of(question: Question) -> tuple[str, ...]:
    """Return ``ALL`` and the first tag of the question, which is its kind."""
    return (ALL, *question.tags[:1])


def has_page(gold: Gold, pages: Pages, read: Collection[str], *, whole: bool = False) -> bool:
    """Return whether one of the gold pages was read: any passage on it, or with ``whole`` every passage."""
    enough = all if whole else any
    own = pages.get(gold.document, {})
    return any(own.get(page) and enough(chunk.id in read for chunk in own[page]) for page in gold.pages)


if __name__ == "__main__":
    main()
