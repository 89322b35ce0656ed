"""The demo, which ingests the sample documents, answers three questions about them and fills a small table.

A recording contains the model's responses to these calls. Everything else is executed. A replay matches calls by agent
and response type, so it also works with changed prompts, but reports them. After a change of prompts, make a new
recording with ``candor demo --live --record sample_docs/recording.jsonl``.
"""

import asyncio
import json
import os
import shlex
import shutil
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, TypeVar

import typer
from pydantic import Field

from api.auth.permissions import LOCAL_CALLER
from api.bootstrap import Candor
from api.cli.ask.run import run_question
from api.cli.common import INTERRUPTED, make_console, print_message, print_text
from api.cli.ingest import exit_code, run_ingest
from api.cli.render.answers import show_answer
from api.cli.render.tables import show_grid
from api.services.tables.tables import CALLER, FillRequest
from api.settings import load_settings
from base.models import FrozenModel
from multi_agent.llm.models import Models
from multi_agent.llm.wrappers.journal import JournalEntry, RecordedJournal
from multi_agent.llm.wrappers.replay import DriftedCall, ReplayingLLM
from multi_agent.settings.research import ResearchSettings
from multi_agent.tables.values import Column, Grid
from multi_agent.values.answer import Answer, Status
from multi_agent.values.request import DocumentFilter, Request
from vectorstore.settings import EmbeddingSettings

T = TypeVar("T")
COLLECTION = "sample_docs"
QUESTIONS = 3
RECORDING = "recording.jsonl"
TABLE = "demo"
_ROWS = ("borea_12_manual.pdf", "compressor_delivery.eml", "quarterly_report_q3_2024.pdf", "warranty_policy.html")
_COLUMNS = (
    "Company=Which company wrote it?",
    "Date=When was it issued?:date",
    "Warranty=How long is the warranty of a heat pump Borea 12?:number(years)",
)
_TODAY = date(2026, 11, 22)
"""The date in the prompts. Prompts with another date would not match the recording."""

REPLAYED = (
    "The model's responses are replayed from a recording (answered by hand, from the prompts alone). Everything else "
    "runs now. With your own model: candor demo --live"
)

_NEXT = """
These answers in the browser: candor serve --home {home}
Your own documents: candor ask "QUESTION" FOLDER (needs a language model: candor doctor)"""


class DemoResult(FrozenModel):
    """The data folder and answers of the demo, and the replayed calls whose prompts differ from the recording."""

    home: str
    collection: str
    answers: tuple[Answer, ...]
    table: Grid | None = Field(default=None, description="left out if only one question is answered")
    drifted: tuple[DriftedCall, ...] = ()


def run_demo(
    home: Path | None, *, live: bool, record: Path | None = None, only: int | None = None, progress: bool
) -> DemoResult:
    """Ingest the documents and answer the questions, or only question number ``only``, counted from 1.

    Raises the errors of ingests and of research.
    """
    candor = Candor(_settings(home, check_claims=not live or record is not None))
    folder = _copy_documents(candor.settings.home)
    _drop_foreign_collection(candor, folder, progress=progress)
    report = run_ingest(candor, [folder], COLLECTION, progress=progress)
    if report.cancelled:
        raise typer.Exit(exit_code(report))
    answers, drifted, calls = list[Answer](), list[DriftedCall](), RecordedJournal()
    if live:
        answers = [_answer(candor, question, None, progress=progress) for question in _selected(demo_questions(), only)]
    else:
        print_message(REPLAYED)
        with as_file(files("sample_docs") / RECORDING) as path:
            entries = RecordedJournal.load(path).entries
        answers, drifted = _replay(candor, [each for each in entries if each.caller != CALLER], only, progress=progress)
        recorded = ReplayingLLM([each for each in entries if each.caller == CALLER], entries[0].model)
    table = None
    if only is None:
        table = _fill_table(candor, calls, None if live else Models(recorded), progress=progress)
        drifted += [] if live else recorded.drifted
    if progress:
        print_message(_NEXT.format(home=shlex.quote(str(candor.settings.home))))
    if drifted:
        print_message(drift_warning(drifted, len(entries)))
    if record:
        asked = [entry for answer in answers for entry in candor.trace.journal_entries(answer.run_id)]
        RecordedJournal([*asked, *calls.entries]).dump(record)
    given = {"home": str(candor.settings.home), "collection": COLLECTION, "table": table}
    return DemoResult(**given, answers=tuple(answers), drifted=tuple(drifted))


def _copy_documents(home: Path) -> Path:
    """Copy the documents into the data folder, all with one date: prompts show dates of files that differ."""
    with as_file(files("sample_docs") / "documents") as source:
        folder = Path(shutil.copytree(source, home / "documents", dirs_exist_ok=True))
    noon = datetime.combine(_TODAY, time(12), UTC).timestamp()
    for each in folder.iterdir():
        os.utime(each, (noon, noon))
    return folder


def _fill_table(candor: Candor, calls: RecordedJournal, models: Models | None, *, progress: bool) -> Grid:
    """Create the table of the demo again, fill and print it."""
    if any((each.name, each.collection) == (TABLE, COLLECTION) for each in candor.tables.store.list()):
        candor.tables.store.delete(TABLE)
    columns = tuple(map(Column.parse, _COLUMNS))
    asked = {"name": TABLE, "columns": columns, "filter": DocumentFilter(documents=_ROWS)}
    table = candor.tables.create(asked, COLLECTION)
    with candor.collections.open_library(COLLECTION) as library:
        filling = candor.tables.fill(
            library, table, FillRequest(), LOCAL_CALLER, on_cells=lambda *_: None, models=models, journal=calls
        )
        asyncio.run(filling)
    grid = candor.tables.grid(table)
    if progress:
        print_text("\n▸ A table: the same questions about several documents")
        show_grid(make_console(), grid, quotes=True)
    return grid


def _replay(
    candor: Candor, entries: Sequence[JournalEntry], only: int | None, *, progress: bool
) -> tuple[list[Answer], list[DriftedCall]]:
    questions = demo_questions()
    model = entries[0].model if entries else ""
    answers, drifted = list[Answer](), list[DriftedCall]()
    runs = list(zip(questions, split_by_question(entries, questions), strict=True))
    for question, recorded in _selected(runs, only):
        replay = ReplayingLLM(recorded, model)
        answers.append(_answer(candor, question, Models(replay), progress=progress))
        drifted += replay.drifted
    return answers, drifted


def _selected(items: list[T], number: int | None) -> list[T]:
    return items if number is None else [items[number - 1]]


def split_by_question(entries: Sequence[JournalEntry], questions: Sequence[str]) -> list[list[JournalEntry]]:
    """Split the entries by question. A recording contains the runs in the order of the questions.

    The entries of a question start with the first prompt that contains it, the prompt of Triage.
    """
    runs: list[list[JournalEntry]] = [[] for _ in questions]
    current = 0
    for entry in entries:
        following = questions[current + 1 :]
        prompt = "\n".join(message.content for message in entry.messages)
        asked = (number for number, question in enumerate(following, current + 1) if question in prompt)
        current = next(asked, current)
        runs[current].append(entry)
    return runs


def drift_warning(drifted: Sequence[DriftedCall], recorded: int) -> str:
    """Return the warning for replayed calls whose prompts differ from the recorded prompts."""
    calls = Counter(f"{call.caller} ({call.response_model})" for call in drifted)
    details = ", ".join(f"{count} of {call}" for call, count in calls.items())
    return (
        f"Warning: {len(drifted)} of {recorded} recorded prompts have changed: {details}. The demo used their recorded "
        "responses. Make a new recording with: candor demo --live --record FILE"
    )


def _drop_foreign_collection(candor: Candor, folder: Path, *, progress: bool) -> None:
    """Drop the demo's collection if another installation of Candor created it, to avoid duplicate documents."""
    foreign = [each for each in candor.ledger.list(COLLECTION) if not Path(each.path).is_relative_to(folder)]
    if foreign:
        if progress:
            print_message("The demo's collection belongs to another copy of Candor. It is created again.")
        candor.collections.drop(COLLECTION)


def demo_questions() -> list[str]:
    """Return the first questions of the sample question set."""
    lines = (files("sample_docs") / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines[:QUESTIONS]]


def _settings(home: Path | None, *, check_claims: bool) -> Any:
    """Return settings that produce the same prompts on every machine: own data folder, float32 on the
    CPU, default agents.

    Plan examples are off, because they would change the prompts of a second demo. ``check_claims`` is on for a
    recording and its replay, because the recorded model is capable.
    """
    base = load_settings(home)
    store = base.store.model_copy(update={"embedding": EmbeddingSettings(precision="float32")})
    return base.model_copy(
        update={
            "home": home.absolute() if home else base.home / "demo",
            "store": store,
            "research": ResearchSettings(plan_examples=0, tokens_per_call=4096, check_claims=check_claims),
        }
    )


def _answer(candor: Candor, question: str, models: Models | None, *, progress: bool) -> Answer:
    if progress:
        print_text(f"\n▸ {question}")
    request = Request(question=question, today=_TODAY)
    answer = run_question(candor, request, COLLECTION, progress=progress, steps=progress, models=models)
    if progress:
        show_answer(make_console(), answer, candor.settings.home)
    if answer.status is Status.CANCELLED:
        raise typer.Exit(INTERRUPTED)
    return answer
