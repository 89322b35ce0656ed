"""Shows an ingest on the command line: a progress bar, a summary, a dry run, and watching folders."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from api.bootstrap import Candor
from api.cli.common import print_message
from ingest.pipeline.plan import IngestRequest

if TYPE_CHECKING:
    from ingest.pipeline.plan import Plan
    from ingest.pipeline.reembed import ReembedReport
    from ingest.pipeline.reports import IngestReport, Progress

_SHOWN = 20  # files listed per verdict of a dry run
_POLL_MS = 500  # how often Ctrl-C is checked
_SLOW_SECONDS = 1.0  # faster files are not listed as slow


def run_ingest(
    candor: Candor,
    paths: Sequence[Path],
    collection: str,
    *,
    retry_failed: bool = False,
    sync: bool = False,
    progress: bool,
) -> IngestReport:
    """Ingest, showing the progress on standard error. Raises IngestError, StoreError, UsageError."""
    request = IngestRequest(collection, tuple(paths), retry_failed=retry_failed, sync=sync)
    with _bar(shown=progress) as show:
        report = candor.ingest.ingest(
            request, show, on_plan=_print_notices, on_reembedded=_print_reembedded
        )  # fmt: skip
    if progress:
        for line in summary(report):
            print_message(line)
    return report


def run_dry(
    candor: Candor, paths: Sequence[Path], collection: str, *, retry_failed: bool, sync: bool, progress: bool
) -> Plan:
    """Show what an ingest would do. Raises IngestError, UsageError."""
    request = IngestRequest(collection, tuple(paths), retry_failed=retry_failed, sync=sync)
    plan = candor.ingest.plan(request)
    if progress:
        for line in planned(plan):
            print_message(line)
    return plan


def run_watch(candor: Candor, paths: Sequence[Path], collection: str, *, retry_failed: bool, sync: bool) -> None:
    """Ingest, and again after every change below the paths, until interrupted.

    The collection is closed between two ingests, so that it can be searched. Raises IngestError, StoreError.
    """
    import watchfiles

    from ingest.errors import IngestError

    candor.ingest.check(IngestRequest(collection, tuple(paths), sync=sync))
    first = True
    with _until_interrupted() as stop:
        # Watch before the first ingest, so that no change during it is missed.
        for changes in watchfiles.watch(*paths, stop_event=stop, rust_timeout=_POLL_MS, yield_on_timeout=True):
            try:
                if first or changes:
                    run_ingest(candor, paths, collection, retry_failed=retry_failed and first, sync=sync, progress=True)
            except IngestError as error:  # the next change may resolve it, for example in a folder that is empty now
                print_message(f"candor: {error}")
            if first:
                print_message(f"Watching {', '.join(map(str, paths))}; end with Ctrl-C.")
                first = False


@contextmanager
def _until_interrupted() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C sets, so that a running ingest finishes. A second Ctrl-C interrupts it."""
    stop = threading.Event()

    def end(*_: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, previous)

    previous = signal.signal(signal.SIGINT, end)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, previous)


def summary(report: IngestReport) -> list[str]:
    """Return the lines of the summary: counts, slow files, and failures with their reasons."""
    stages = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in report.stage_seconds.items())
    rate = f", {report.tokens / report.seconds:,.0f} tokens/s" if report.chunks else ""
    lines = [
        f"{report.collection}: {report.indexed} indexed, {report.unchanged} unchanged, {len(report.failed)} failed, "
        f"{len(report.left_out)} left out, {len(report.removed)} removed; {report.chunks} passages "
        f"({report.embedded} embedded), {report.pages} pages, {report.tokens:,} tokens in {report.seconds:.1f} s{rate} "
        f"({stages})"
    ]
    for record in report.slowest:
        seconds = sum(record.seconds.values())
        if seconds >= _SLOW_SECONDS:
            lines.append(f"slow: {record.name}: {seconds:.1f} s, {record.pages} pages, {record.chunks} passages")
    lines += [f"failed: {record.name} (while {record.stage.value}): {record.reason}" for record in report.failed]
    if report.failed_before:
        lines.append(f"{report.failed_before} of these failed before and are unchanged: --retry-failed tries again.")
    lines += [f"left out: {each.path}: {each.reason}" for each in report.left_out]
    lines += [f"removed: {name}" for name in report.removed]
    return lines


def planned(plan: Plan) -> list[str]:
    """Return the lines of a dry run: the files by verdict."""
    from ingest.pipeline.plan import Verdict

    lines = [f"{plan.collection}: {len(plan.files)} files; nothing was done.", *plan.notices]
    for verdict in Verdict:
        names = [each.file.name for each in plan.files if each.verdict is verdict]
        if names:
            lines.append(f"{verdict.value}: {len(names)}")
        if verdict is not Verdict.UNCHANGED:
            lines += [f"  {name}" for name in names[:_SHOWN]]
            lines += [f"  … and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    lines += [f"left out: {each.path}: {each.reason}" for each in plan.left_out]
    lines += [f"to be removed: {known.name}" for known in plan.gone]
    return lines


def _print_notices(plan: Plan) -> None:
    for notice in plan.notices:
        print_message(notice)


def _print_reembedded(report: ReembedReport) -> None:
    print_message(
        f"{report.change.collection}: {report.rebuilt} documents embedded again with {report.change.now!r}: "
        f"{report.chunks} passages ({report.embedded} embedded) in {report.seconds:.1f} s"
    )


@contextmanager
def _bar(*, shown: bool) -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar on standard error if that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from api.cli.render.console import SafeConsole

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    console = SafeConsole(file=sys.stderr, highlight=False)
    with Bar(*columns, console=console, transient=True, disable=not (shown and console.is_terminal)) as bar:
        task = bar.add_task("")

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.files_done, total=progress.files_total, description=describe(progress))

        yield show


def describe(progress: Progress) -> str:
    """Return the text next to the bar: time left, passages, speed, failures, and the current file."""
    parts = [_time_left(progress), f"{progress.chunks} passages"]
    if progress.tokens:
        parts.append(f"{progress.tokens / progress.seconds:,.0f} tokens/s")
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    return ", ".join(part for part in parts if part) + f" · {progress.stage.value} {progress.name}"


def _time_left(progress: Progress) -> str:
    """Estimate the time left from the bytes of the files that are still to be read."""
    if not progress.bytes_done or progress.bytes_done >= progress.bytes_total:
        return ""
    seconds = round(progress.seconds * (progress.bytes_total / progress.bytes_done - 1))
    return f"{seconds // 60}:{seconds % 60:02} left"
