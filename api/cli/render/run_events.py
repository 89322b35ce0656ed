"""Prints events of a run. ``candor trace`` prints all events, ``candor ask`` the main ones as live progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from api.cli.render.text import SafeConsole, excerpt, show_paragraph
from api.services.research.event_text import (
    describe,
    duration,
    first_sentence,
    passage_line,
    passages_found,
    progress,
    speed,
)
from multi_agent.llm.wrappers.usage import ResponseFaults
from multi_agent.values import events, evidence_events
from multi_agent.values.bus import LEVELS, Subscriber
from multi_agent.values.events import Event

_PASSAGES_LISTED = 5  # passages per search in live progress
_SLOW_CALL = 3.0  # seconds: live progress prints a line for each call that took at least this long


def show_event(console: Console, event: Event) -> None:
    """Print one event: a title with time and step, then its details."""
    title, *details = describe(event)
    step = f"{event.step}: " if event.step else ""
    indent = "  " * LEVELS.index(event.level) if event.level else ""
    console.print(
        Text(f"{event.number:>4} {event.at:%H:%M:%S} {indent}", style="dim") + Text(f"{step}{title}", style="bold"),
        soft_wrap=True,
    )
    for detail in details:
        show_paragraph(console, detail)


def show_faults(console: Console, faults: ResponseFaults) -> None:
    """Print the number of faults in the model's responses, if there were any."""
    if faults != ResponseFaults():
        counts = f"repairs: {faults.repairs}, rejected responses: {faults.rejected}, failed calls: {faults.failed}"
        console.print(Text(f"\nFaults of the model: {counts}", style="yellow"), soft_wrap=True)


class ProgressLines:
    """The live progress of a run, one line per important event."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._found: set[str] = set()  # chunk ids of the passages found so far
        self._error = ""  # the last error

    def show_start(self, collection: str) -> None:
        """Print the first line."""
        self._print(f"Searching {collection} …")

    def show(self, event: Event) -> None:
        """Print the lines of an event. Ignores unimportant events."""
        match event.body:
            case evidence_events.Searched() as body:
                self._show_found(body)
            case events.ModelCalled(replayed=False, usage=usage) if usage.seconds >= _SLOW_CALL:
                self._print(describe(event)[0])
            case evidence_events.ClaimDrafted(claim=claim):
                self._print(" ".join(describe(event)), style="yellow" if claim.remark else "")
            case events.Voted():
                for line in describe(event):
                    self._print(line)
            case events.StepFailed(agent=who, error=error) | events.ModelFailed(caller=who, error=error):
                self._show_failure(who, error)
            case events.PlanRejected() | evidence_events.DraftWithdrawn():
                self._print(" ".join(describe(event)), style="yellow")
            case events.ReasoningShared():
                self._print(excerpt(progress(event)))
            case _ if line := progress(event):
                self._print(line)

    def _show_found(self, body: evidence_events.Searched) -> None:
        """Print the number of passages found, and the passages that no earlier search of the run found."""
        new = [passage for passage in body.passages if passage.chunk_id not in self._found]
        self._found.update(passage.chunk_id for passage in new)
        known = f", {len(new)} new" if len(new) < len(body.passages) else ""
        self._print(f"Found {passages_found(body)}{known}")
        for passage in new[:_PASSAGES_LISTED]:
            self._print(f"  {passage_line(passage)}", cut=True)
        if (rest := len(new) - _PASSAGES_LISTED) > 0:
            self._print(f"  … and {rest} more")

    def _show_failure(self, who: str, error: str) -> None:
        """Print the error once. A failed model call and its failed step have the same error."""
        if error != self._error:
            self._print(f"{who} failed: {first_sentence(error)}", style="yellow")
        self._error = error

    def _print(self, line: str, style: str = "dim", *, cut: bool = False) -> None:
        text = Text(f"  {line}", style=style)
        if cut and self._console.is_terminal:
            self._console.print(text, no_wrap=True, overflow="ellipsis")
        else:
            self._console.print(text)


_REFRESHES = 2  # per second


@contextmanager
def live_progress(collection: str) -> Iterator[Subscriber]:
    """Print the first line of a run and yield a subscriber that shows its events.

    On a terminal, the last line shows the elapsed time and the estimated time left.
    """
    console = SafeConsole(file=sys.stderr, highlight=False)
    progress = LiveProgress(ProgressLines(console))
    progress.lines.show_start(collection)
    if not console.is_terminal:
        yield progress.listen
        return
    with Live(get_renderable=progress.line, console=console, refresh_per_second=_REFRESHES, transient=True) as live:

        async def listen(event: Event) -> None:
            if isinstance(event.body, events.ApprovalRequested):
                live.stop()  # the approval prompt needs the terminal
            await progress.listen(event)
            if isinstance(event.body, events.ApprovalDecided):
                live.start()

        yield listen


class LiveProgress:
    """The live display of a run, with lines for past events and a status line for the current call."""

    def __init__(self, lines: ProgressLines) -> None:
        self.lines = lines
        self._began = time.monotonic()
        self._calls: list[tuple[float, str, events.ModelAsked]] = []  # start, step and event; oldest first
        self._speed, self._doing = "", "Searching"

    async def listen(self, event: Event) -> None:
        """Show an event of the run."""
        body = event.body
        if isinstance(body, events.ModelAsked):
            self._calls.append((time.monotonic(), event.step, body))
        elif isinstance(body, events.ModelCalled | events.ModelFailed):
            self._end_call(event.step, body.caller)
        elif isinstance(body, events.StepRetried | events.StepFailed):  # cancelled calls have no end event
            self._calls = [call for call in self._calls if call[1] != event.step]
        if isinstance(body, events.ModelCalled) and not body.replayed:
            self._speed = speed(body.usage)
        if isinstance(body, evidence_events.Searched | events.StepStarted):
            self._doing = "Working"
        self.lines.show(event)

    def _end_call(self, step: str, caller: str) -> None:
        ended = next((call for call in self._calls if (call[1], call[2].caller) == (step, caller)), None)
        if ended:
            self._calls.remove(ended)

    def line(self) -> Text:
        """Return the status line: the current call and the elapsed time."""
        return Text(f"  {self._waiting(time.monotonic())}", style="cyan", no_wrap=True, overflow="ellipsis")

    def _waiting(self, now: float) -> str:
        calls = list(self._calls)  # the event loop changes the list while the display reads it
        total = f"{duration(now - self._began)} in all"
        if not calls:
            return f"{self._doing} · {total}"
        began, _, asked = calls[0]
        others = f"{len(calls)} calls at once" if len(calls) > 1 else ""
        parts = (f"{asked.caller} asks {asked.model}", duration(now - began), time_left(asked, now - began))
        return " · ".join(filter(None, (*parts, others, self._speed, total)))


def time_left(asked: events.ModelAsked, elapsed: float) -> str:
    """Describe the estimated time left of a call after ``elapsed`` seconds."""
    if asked.expected_seconds is None:
        return "no estimate before the first call ends"
    left = asked.expected_seconds - elapsed
    return f"about {duration(left)} left" if left >= 1 else f"longer than usual ({duration(asked.expected_seconds)})"
