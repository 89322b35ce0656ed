"""The demo: the sample documents ingested for real, and three questions answered, by a recorded or a live model.

A recording holds the responses that were given by hand to the very prompts of these questions. The pipeline around
them is the real one; if a prompt changes, the recording no longer answers it, and has to be made anew.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from api.bootstrap import Candor
from api.cli.ask.run import run_question
from api.cli.ingest import run_ingest
from api.settings import load_settings
from multi_agent.answer import Answer
from multi_agent.llm.journal import JournalEntry, RecordedJournal
from multi_agent.llm.models import Models
from multi_agent.llm.replay import ReplayingLLM
from multi_agent.request import Request
from multi_agent.settings import ResearchSettings
from vectorstore.models import FrozenModel

COLLECTION = "sample_docs"
QUESTIONS = 3
RECORDING = "recording.jsonl"

REPLAYED = (
    "The model's responses are replayed from a recording (answered by hand, from the prompts alone); all else is "
    "done now. With your own model: candor demo --live"
)


class DemoResult(FrozenModel):
    """Where the demo's data lies, and its answers."""

    home: str
    collection: str
    answers: tuple[Answer, ...]


def run_demo(home: Path | None, *, live: bool, record: Path | None, progress: bool) -> DemoResult:
    """Ingest, then answer. Raises what ingesting and asking raise."""
    candor = Candor(_settings(home))
    with as_file(files("sample_docs") / "documents") as folder:
        _make_room(candor, folder, progress=progress)
        run_ingest(candor, [folder], COLLECTION, progress=progress)
    recording = None if live else _load_recording()
    answers = []
    if recording:
        print(REPLAYED, file=sys.stderr)
    for question in demo_questions():
        answers.append(_answer(candor, question, recording, progress=progress))
    if record:
        _save(candor, answers, record)
    return DemoResult(home=str(candor.settings.home), collection=COLLECTION, answers=tuple(answers))


def _make_room(candor: Candor, folder: Path, *, progress: bool) -> None:
    """Drop the demo's own collection if it was made by another copy of Candor: its documents would be there twice."""
    strangers = [each for each in candor.ledger.list(COLLECTION) if not Path(each.path).is_relative_to(folder)]
    if strangers:
        if progress:
            print("The demo's collection is of another copy of Candor; it is made anew.", file=sys.stderr)
        candor.drop(COLLECTION)


def demo_questions() -> list[str]:
    """The first questions of the sample question set."""
    lines = (files("sample_docs") / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines[:QUESTIONS]]


def _settings(home: Path | None) -> Any:
    """The demo's own home, no rounding, and the panel as it comes: on every machine, every prompt is to be the same.

    Plans that worked are not shown as examples: a second demo would not be asked what the first one was.
    """
    base = load_settings(home)
    embedding = base.store.embedding.model_copy(update={"precision": "float32"})
    store = base.store.model_copy(update={"embedding": embedding})
    return base.model_copy(
        update={
            "home": home.absolute() if home else base.home / "demo",
            "store": store,
            "research": ResearchSettings(plan_examples=0),
        }
    )


def _answer(candor: Candor, question: str, recording: RecordedJournal | None, *, progress: bool) -> Answer:
    models = Models(ReplayingLLM(recording, recording.entries[0].model)) if recording else None
    if progress:
        print(f"\n▸ {question}", flush=True)
    answer = run_question(candor, Request(question=question), COLLECTION, progress=progress, models=models)
    if progress:
        from rich.console import Console

        from api.cli.render.answers import show_answer

        show_answer(Console(highlight=False), answer, candor.settings.home)
    return answer


def _load_recording() -> RecordedJournal:
    with as_file(files("sample_docs") / RECORDING) as path:
        return RecordedJournal.load(path)


def _save(candor: Candor, answers: list[Answer], path: Path) -> None:
    entries: list[JournalEntry] = [entry for answer in answers for entry in candor.trace.journal_entries(answer.run_id)]
    RecordedJournal(entries).dump(path)
