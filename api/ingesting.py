"""Ingesting from the command line: the pipeline with a progress bar, and a summary."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from api.bootstrap import Candor

if TYPE_CHECKING:
    from ingest.pipeline import IngestReport, Progress


def run_ingest(candor: Candor, paths: Sequence[Path], collection: str, *, progress: bool) -> IngestReport:
    """Ingest, showing how it goes on standard error. Raises IngestError, StoreError."""
    with candor.open_pipeline(collection) as pipeline:
        if not progress:
            return pipeline.ingest(paths)
        with _bar() as show:
            report = pipeline.ingest(paths, show)
    for line in summary(report):
        print(line, file=sys.stderr)
    return report


def summary(report: IngestReport) -> list[str]:
    """What was done, and what failed and why."""
    stages = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in report.stage_seconds.items())
    lines = [
        f"{report.collection}: {report.indexed} indexed, {report.unchanged} unchanged, {len(report.failed)} failed, "
        f"{len(report.left_out)} left out; {report.chunks} passages, {report.pages} pages, {report.tokens:,} tokens "
        f"in {report.seconds:.1f} s ({stages})"
    ]
    lines += [f"failed: {record.name} (while {record.stage.value}): {record.reason}" for record in report.failed]
    lines += [f"left out: {each.path}: {each.reason}" for each in report.left_out]
    return lines


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    """A progress bar on standard error; nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    console = Console(file=sys.stderr, highlight=False)
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("")

        def show(progress: Progress) -> None:
            failed = f", {progress.failed} failed" if progress.failed else ""
            text = f"{progress.stage.value} {progress.name} ({progress.chunks} passages{failed})"
            bar.update(task, completed=progress.files_done, total=progress.files_total, description=text)

        yield show
