"""Measure what the research engine adds to its model calls.

    python -m benchmarks.engine [--runs 200] [--parallel 16]

A scripted endpoint in another process answers every call after 1.0 s, any number at once. Four kinds of questions run
over the sample documents: one search (`fast`), facts from several documents (`high`), rows for SQL (`high`), and two
hops (`high`). Prints

- per kind: model calls, the longest chain of dependent calls, wall time over the time of that chain, and the common
  prefix of the prompts of one step (for prefix caching);
- engine time per model call, with an endpoint that answers at once;
- many concurrent runs in one process, with `--parallel` calls at a time: the share of the endpoint's capacity used;
- tokens of the demo's three questions by agent, from its recording.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from itertools import takewhile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import load_settings
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.wrappers.journal import JournalEntry, RecordedJournal
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.values.answer import Answer
from multi_agent.values.events import ModelCalled

ROOT = Path(__file__).resolve().parents[1]
SECONDS_A_CALL = 1.0
KINDS = {
    "fast: one search": "[fast] Which refrigerant does the Borea 12 use?",
    "high: facts": "[facts] How does the warranty of the Borea 12 differ from that of its predecessor?",
    "high: rows": "[rows] Which three runners were fastest in 2024?",
    "high: two hops": "[hops] In which town is the supplier of the compressor?",
}


@dataclass(frozen=True)
class Measured:
    """Figures of one run."""

    answer: Answer
    seconds: float
    chain: int
    shared: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--parallel", type=int, default=16)
    options.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve is not None:
        _serve(chosen.serve)
        return
    with tempfile.TemporaryDirectory(prefix="candor-engine-") as folder:
        candor = Candor(load_settings(Path(folder), research={"plan_examples": 0}))
        with as_file(files("sample_docs") / "documents") as documents:
            run_ingest(candor, [documents], "sample_docs", progress=False)
        with candor.collections.open_library("sample_docs") as library:
            candor.embedder.embed_query("load the model")
            with endpoint(SECONDS_A_CALL) as url:
                _show_kinds(asyncio.run(_run_sequentially(candor, library, url, SECONDS_A_CALL)))
            with endpoint(0.0) as url:
                _show_overhead(asyncio.run(_run_sequentially(candor, library, url, 0.0)))
            with endpoint(SECONDS_A_CALL) as url:
                asyncio.run(_run_concurrently(candor, library, url, chosen.runs, chosen.parallel))
    _show_tokens()


# The endpoint


@contextmanager
def endpoint(seconds: float) -> Iterator[str]:
    """Start the scripted endpoint in another process. Yield its URL."""
    command = [sys.executable, "-m", "benchmarks.engine", "--serve", str(seconds)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout
        assert process.stdin
        yield process.stdout.readline().strip()
        process.stdin.close()


def environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}


def _serve(seconds: float) -> None:
    from support.replies import delayed
    from support.scripted_endpoint import ScriptedEndpoint

    respond = scripted_model()
    with ScriptedEndpoint(lambda request: delayed(respond(request), seconds)) as server:
        print(server.url("openai"), flush=True)
        sys.stdin.read()


def scripted_model() -> Callable[[Any], str]:
    """Return a responder for the kinds of questions of this module and of ``benchmarks.overhead``."""
    from support.panel import Panel, triage
    from support.replies import Request

    plans, usual = _plans(), Panel("Borea", "2024", roles={})

    def respond(request: Request) -> str:
        role = str((request.schema or {})["title"])
        if role == "Triage":
            return json.dumps(triage(request, mode="fast" if "[fast]" in request.prompt else "high"))
        if role == "PlannerResponse":
            kind = max(plans, key=lambda each: request.prompt.rfind(f"[{each}]"))  # examples come before the question
            return json.dumps(plans[kind])
        if role in _FIXED:
            return json.dumps(_FIXED[role])
        reply = json.loads(str(usual(request)))
        schema = json.dumps(request.schema)
        for item in reply.get("items", ()) if '"record"' in schema else ():
            item["record"] = {"runner": "somebody"}
        for claim in reply.get("claims", ()) if '"computations"' in schema else ():
            claim["computations"] = [1]
        return json.dumps(reply)

    return respond


def _plans() -> dict[str, Any]:
    from support.panel import plan, planned, reading, step

    search = {"method": "search", "documents": [], "queries": []}
    scan = {"method": "scan", "documents": ["road_race_results.csv"], "queries": []}
    return {
        "facts": planned(
            step("queries", "QueryPlanner"), step("find", "Retriever", inputs=search),
            step("read", "Extractor"), step("answer", "Synthesizer"),
        ),
        "rows": planned(
            step("all", "Retriever", inputs=scan), step("look", "DataInspector"),
            step("fields", "PatternGenerator"), step("read", "Extractor"),
            step("compute", "Analyst"), step("answer", "Synthesizer"),
        ),
        "hops": planned(
            reading("first", "Who supplies the compressor of the Borea 12?"),
            reading("second", "Where is @{outputs.first.answer}?"), step("answer", "Synthesizer"),
        ),
        "comparison": planned(
            reading("one", "Which refrigerant does the Borea 12 use?"),
            reading("other", "Which refrigerant does the Borea 9 use?"), step("answer", "Synthesizer"),
        ),
        "panel": plan(),
    }  # fmt: skip


_FIXED: dict[str, Any] = {
    "Patterns": {
        "strategies": [{"description": "results", "take": "each row", "leave_out": "", "examples": []}],
        "record_fields": [{"name": "runner", "type": "text", "meaning": "who ran"}],
        "reasoning": "Rows.",
    },
    "Analysis": {
        "reasoning": "Counted.",
        "calculations": [
            {
                "purpose": "runners",
                "sql": "SELECT count(*) AS runners FROM records",
                "records_sql": "SELECT record FROM records",
            }
        ],
    },
}


# Measuring


def _panel(candor: Candor, library: Any, url: str, parallel: int) -> Orchestrator:
    from multi_agent.llm.models import Models, build_llm

    settings = EndpointSettings(
        provider="openai", base_url=url, model="scripted", parallel=parallel, context_window=64_000, timeout_s=600
    )
    return candor.panel.orchestrator(library, Models(build_llm(settings)))


async def _run_sequentially(candor: Candor, library: Any, url: str, seconds: float) -> dict[str, Measured]:
    panel = _panel(candor, library, url, 1000)
    await panel.research(KINDS["fast: one search"])  # connections, caches
    return {kind: await _measured(candor, panel, question) for kind, question in KINDS.items()}


async def _measured(candor: Candor, panel: Orchestrator, question: str) -> Measured:
    began = time.perf_counter()
    answer = await panel.research(question)
    seconds = time.perf_counter() - began
    if answer.status.value == "failed":
        raise SystemExit(f"{question}: {answer.reasoning}")
    return Measured(answer, seconds, _longest_chain(candor, answer), _shared_prefix(candor, answer))


def _longest_chain(candor: Candor, answer: Answer) -> int:
    calls = [event for event in candor.trace.events(answer.run_id) if isinstance(event.body, ModelCalled)]
    return longest_chain((call.at.timestamp() - call.body.usage.seconds, call.at.timestamp()) for call in calls)


def longest_chain(calls: Iterable[tuple[float, float]]) -> int:
    """Return the length of the longest sequence of calls (start, end) in which each starts after the previous ended."""
    spans = sorted(calls)
    longest: list[int] = []
    for start, _ in spans:
        before = [length for length, (_, end) in zip(longest, spans, strict=False) if end <= start]
        longest.append(1 + max(before, default=0))
    return max(longest, default=0)


def _shared_prefix(candor: Candor, answer: Answer) -> float:
    """Return the share of prompt characters that callers with several calls have in common from the beginning."""
    by_caller: defaultdict[str, list[str]] = defaultdict(list)
    for entry in candor.trace.journal_entries(answer.run_id):
        by_caller[entry.caller].append("\n".join(message.content for message in entry.messages))
    several = [prompts for prompts in by_caller.values() if len(prompts) > 1]
    total = sum(len(prompt) for prompts in several for prompt in prompts[1:])
    shared = sum(_common(prompts) * (len(prompts) - 1) for prompts in several)
    return shared / total if total else 0.0


def _common(prompts: Sequence[str]) -> int:
    """Return the length of the common prefix."""
    alike = takewhile(lambda characters: len(set(characters)) == 1, zip(*prompts, strict=False))
    return sum(1 for _ in alike)


async def _run_concurrently(candor: Candor, library: Any, url: str, runs: int, parallel: int) -> None:
    panel = _panel(candor, library, url, parallel)
    questions = [list(KINDS.values())[number % len(KINDS)] for number in range(runs)]
    began, cpu = time.perf_counter(), time.process_time()
    answers = await asyncio.gather(*(panel.research(question) for question in questions))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    failed = [answer for answer in answers if answer.status.value == "failed"]
    calls = sum(answer.usage.model_calls for answer in answers)
    possible = calls * SECONDS_A_CALL / parallel
    print(
        f"{runs} concurrent runs, {parallel} calls at a time: {calls} calls in {seconds:.1f} s, "
        f"{possible / seconds:.1%} of the endpoint's capacity; {1000 * cpu / calls:.1f} ms of CPU time a call; "
        f"{len(failed)} failed"
    )


# Showing


def _show_kinds(measured: dict[str, Measured]) -> None:
    table = Table("question", "calls", "longest chain", "seconds", "over the chain", "shared prefix within steps")
    for kind, each in measured.items():
        table.add_row(
            kind, str(each.answer.usage.model_calls), str(each.chain), f"{each.seconds:.2f}",
            f"{each.seconds / (each.chain * SECONDS_A_CALL):.3f}", f"{each.shared:.0%}" if each.shared else "",
        )  # fmt: skip
    Console(width=110).print(table)


def _show_overhead(measured: dict[str, Measured]) -> None:
    for kind, each in measured.items():
        calls = each.answer.usage.model_calls
        print(f"{kind}, endpoint without delay: {1000 * each.seconds / calls:.1f} ms a call over {calls} calls")


def _show_tokens() -> None:
    with as_file(files("sample_docs") / "recording.jsonl") as path:
        entries = RecordedJournal.load(path).entries
    table = Table("the demo's questions, by agent", "calls", "prompt tokens", "response tokens")
    for caller, calls in _by_caller(entries).items():
        usage = [call.usage for call in calls]
        table.add_row(
            caller, str(len(calls)), f"{sum(each.prompt_tokens for each in usage):,}",
            f"{sum(each.completion_tokens for each in usage):,}",
        )  # fmt: skip
    Console(width=90).print(table)


def _by_caller(entries: Sequence[JournalEntry]) -> dict[str, list[JournalEntry]]:
    grouped: defaultdict[str, list[JournalEntry]] = defaultdict(list)
    for entry in entries:
        grouped[entry.caller].append(entry)
    return {**grouped, "all": list(entries)}


if __name__ == "__main__":
    main()
