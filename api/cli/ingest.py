"""Ingests on the command line, with a progress bar and a summary. Also dry runs, and watching folders.

The first Ctrl-C stops the ingest within seconds, also within a file. The second one stops it at once.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import typer
import watchfiles
from rich.progress import TaskProgressColumn

from api.bootstrap import Candor
from api.cli.common import INTERRUPTED, Cli, print_json, print_message
from api.cli.render.text import progress_bar
from base.counts import count
from ingest.errors import IngestError
from ingest.fields import fields_text
from ingest.ledger.interrupts import INTERRUPTS
from ingest.pipeline.discovery import SkippedFile
from ingest.pipeline.plan import IngestRequest, Plan, Verdict
from ingest.pipeline.reembed import ReembedReport
from ingest.pipeline.tally import IngestReport, Progress

_SHOWN = 20  # files listed per verdict of a dry run
_POLL_MS = 500  # how often Ctrl-C is checked
_GROUPED = 4  # files with the same reason that share a line
_NAMED = 3  # files that such a line names
_STOPPING = b"\nStopping. The next ingest reads the files that are left. Press Ctrl-C again to stop at once.\n"


def run_ingest(
    candor: Candor, paths: Sequence[Path], collection: str, *, sync: bool = False, progress: bool
) -> IngestReport:
    """Ingest paths as ``run_request`` does."""
    request = IngestRequest(collection=collection, paths=tuple(paths), sync=sync)
    return run_request(candor, request, progress=progress)


def run_request(
    candor: Candor,
    request: IngestRequest,
    *,
    progress: bool,
    details: bool = False,
    stop: threading.Event | None = None,
) -> IngestReport:
    """Ingest and show the progress on standard error. If Ctrl-C stops the ingest, its report is ``cancelled``.

    ``details`` lists each file that failed or was left out. ``stop`` is an event that an existing handler sets on
    Ctrl-C. Raises IngestError, StoreError, UsageError, and Exit after a second Ctrl-C.
    """
    try:
        with _until_interrupted(stop) as stopped, _bar(shown=progress) as show:
            report = candor.ingest.ingest(
                request, show, on_plan=_print_notices, on_reembedded=_print_reembedded, on_index=_print_indexing,
                cancelled=stopped.is_set,
            )  # fmt: skip
    except KeyboardInterrupt:
        print_message(_interruption("what is complete stays"))
        raise typer.Exit(INTERRUPTED) from None
    if progress:
        for line in summary(report, details=details):
            print_message(line)
    if report.cancelled:
        done = f"{report.indexed + report.unchanged} of {report.files} files are in collection {request.collection!r}"
        print_message(_interruption(done if report.files else "no file was read"))
    return report


def run_and_end(cli: Cli, candor: Candor, request: IngestRequest, *, details: bool = False) -> None:
    """Ingest as ``run_request`` does, and print the report with ``--json``. Raises Exit unless all files were read."""
    report = run_request(candor, request, progress=not cli.as_json, details=details)
    if cli.as_json:
        print_json(report)
    if code := exit_code(report):
        raise typer.Exit(code)


def exit_code(report: IngestReport) -> int:
    """Return the exit code of a command that ingests: 130 after Ctrl-C, 1 if a file failed, otherwise 0."""
    return INTERRUPTED if report.cancelled else int(bool(report.failed))


def _interruption(done: str) -> str:
    return f"Interrupted: {done}. Run the same command again to continue."


def run_watch(candor: Candor, request: IngestRequest, *, details: bool = False) -> None:
    """Ingest, then ingest again after every change below the paths until interrupted.

    The collection is closed between ingests so that other processes can search it. Raises IngestError, StoreError.
    """
    candor.ingest.check(request)
    first = True
    with _until_interrupted() as stop:
        # Watch before the first ingest, so that no change during it is missed.
        for changes in watchfiles.watch(*request.paths, stop_event=stop, rust_timeout=_POLL_MS, yield_on_timeout=True):
            try:
                if first or changes:
                    again = request.model_copy(update={"retry_failed": request.retry_failed and first})
                    run_request(candor, again, progress=True, details=details, stop=stop)
            except IngestError as error:  # the next change may resolve it, for example if the folder is still empty
                print_message(f"candor: {error}")
            if first:
                print_message(f"Watching {', '.join(map(str, request.paths))}; end with Ctrl-C.")
                first = False
    raise typer.Exit(INTERRUPTED)


@contextmanager
def _until_interrupted(given: threading.Event | None = None) -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C sets. The second Ctrl-C raises KeyboardInterrupt.

    Yields ``given`` if an existing handler sets it on Ctrl-C. Only the main thread receives Ctrl-C. A process that was
    started with SIGINT ignored continues to ignore it.
    """
    stop = given or threading.Event()
    previous = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if given or not in_main or previous is signal.SIG_IGN:
        yield stop
        return

    def end(*_: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, INTERRUPTS.interrupt)
        os.write(2, _STOPPING)  # a handler must not print: it may have interrupted a print

    signal.signal(signal.SIGINT, end)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, previous)


def summary(report: IngestReport, *, details: bool = False) -> list[str]:
    """Return the lines of the summary: counts, and failures with their reasons."""
    stages = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in report.stage_seconds.items())
    warned = f" ({len(report.warned)} with warnings)" if report.warned else ""
    rate = f", {report.tokens / report.seconds:,.0f} tokens/s" if report.chunks else ""
    lines = [
        f"{report.collection}: {report.indexed} indexed{warned}, {report.unchanged} unchanged, "
        f"{len(report.failed)} failed, "
        f"{len(report.left_out)} left out, {len(report.removed)} removed; {count(report.chunks, 'passage')} "
        f"({report.embedded} embedded), {count(report.pages, 'page')}, {count(report.tokens, 'token')} in "
        f"{report.seconds:.1f} s{rate}" + (f" ({stages})" if stages else "")
    ]
    if report.restored:
        lines.append(f"restored: {count(report.restored, 'document')} that were missing from the store")
    failed = [
        _Entry(
            each.name,
            f"{each.name} (while {each.stage.value}): {each.reason}",
            each.reason.replace(each.path, "it"),
        )
        for each in report.failed
    ]
    lines += _grouped("failed", failed, details)
    if report.failed_before:
        lines.append(f"{report.failed_before} of these failed before and are unchanged: --retry-failed tries again.")
    lines += _left_out(report.left_out, details)
    now = {name: f" (now {new})" for name, new in report.moved.items()}
    lines += [f"removed: {name}{now.get(name, '')}" for name in report.removed]
    warnings = [f"warning: {each.name}: {warning}" for each in report.warned for warning in each.warnings]
    lines += warnings[:_SHOWN]
    if len(warnings) > _SHOWN:
        lines.append(f"… and {len(warnings) - _SHOWN} more warnings: `candor documents --warnings` lists them.")
    return [*lines, report.search_note] if report.search_note else lines


class _Entry(NamedTuple):
    """A file that failed or was left out."""

    name: str
    line: str
    group: str
    """The reason in words that fit all files with it."""


def _left_out(entries: Sequence[SkippedFile], details: bool, *, by_rule: bool = False) -> list[str]:
    """Return the lines about what was left out, grouped by reason, or by the rule that names it."""
    reasons = [f"{each.reason} ({each.rule})" if by_rule and each.rule else each.reason for each in entries]
    named = zip(entries, reasons, strict=True)
    listed = [_Entry(each.name, f"{each.path}: {reason}", reason) for each, reason in named]
    lines = _grouped("left out", listed, details)
    if any(each.rule for each in entries):
        lines.append("--include GLOB reads what a rule leaves out.")
    return lines


def _grouped(outcome: str, entries: Sequence[_Entry], details: bool) -> list[str]:
    """Return a line for each file, or for each reason that several files share."""
    groups: dict[str, list[_Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.group, []).append(entry)
    lines = []
    for reason, group in groups.items():
        if details or len(group) < _GROUPED:
            lines += [f"{outcome}: {each.line}" for each in group]
        else:
            named = ", ".join(each.name for each in group[:_NAMED])
            lines.append(f"{outcome}: {len(group)}: {reason} ({named}, …; --details lists them)")
    return lines


def planned(plan: Plan, *, details: bool = False) -> list[str]:
    """Return the lines of a dry run: the files by verdict."""
    lines = [f"{plan.collection}: {count(len(plan.files), 'file')}; nothing was done.", *plan.notices]
    lines += [f"tags to add: {', '.join(plan.tags)}"] if plan.tags else []
    lines += [f"metadata to set: {fields_text(plan.meta)}"] if plan.meta else []
    for verdict in Verdict:
        names = [each.file.name for each in plan.files if each.verdict is verdict]
        if names:
            lines.append(f"{verdict.value}: {len(names)}")
        if verdict is not Verdict.UNCHANGED:
            lines += [f"  {name}" for name in names[:_SHOWN]]
            lines += [f"  … and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    lines += _left_out(plan.left_out, details, by_rule=True)
    lines += [f"to be removed: {known.name}" for known in plan.gone]
    return lines


def _print_notices(plan: Plan) -> None:
    for notice in plan.notices:
        print_message(notice)


def _print_reembedded(report: ReembedReport) -> None:
    print_message(
        f"{report.change.collection}: {count(report.rebuilt, 'document')} embedded again with {report.change.now!r}: "
        f"{count(report.chunks, 'passage')} ({report.embedded} embedded) in {report.seconds:.1f} s"
    )


def _print_indexing() -> None:
    print_message(
        "All files are read. The search index is being built, which takes minutes for a large collection. Searches "
        "work without it, but are slower. Ctrl-C leaves it to the next ingest."
    )


@contextmanager
def _bar(*, shown: bool) -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar on standard error if that is a terminal."""
    with progress_bar(TaskProgressColumn(), shown=shown) as (bar, _):
        task = bar.add_task("")

        def show(progress: Progress) -> None:
            done, total = progress.bytes_done, progress.bytes_total or None
            bar.update(task, completed=min(done, total or done), total=total, description=describe(progress))

        yield show


def describe(progress: Progress) -> str:
    """Return the text next to the bar: time left, files, pages, passages, speed, failures, and the current file."""
    parts = [_time_left(progress), f"{progress.files_done} of {count(progress.files_total, 'file')}"]
    parts += [count(progress.pages, "page")] if progress.pages else []
    parts.append(count(progress.chunks, "passage"))
    if progress.tokens:
        parts.append(f"{progress.tokens / progress.seconds:,.0f} tokens/s")
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    return ", ".join(part for part in parts if part) + f" · {progress.stage.value} {progress.name}"


def _time_left(progress: Progress) -> str:
    """Estimate the time left from the number of bytes that remain to be read."""
    if not progress.bytes_done or progress.bytes_done >= progress.bytes_total:
        return ""
    seconds = round(progress.seconds * (progress.bytes_total / progress.bytes_done - 1))
    return f"{seconds // 60}:{seconds % 60:02} left"
