"""Prints events of a run. ``candor trace`` prints all events, ``candor ask -v`` the main ones as live progress."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from api.cli.render.text import SafeConsole, show_line, show_paragraph
from api.services.research.event_text import describe, duration, progress, speed
from multi_agent.llm.wrappers.usage import ResponseFaults
from multi_agent.values import events, evidence_events
from multi_agent.values.bus import LEVELS, Subscriber
from multi_agent.values.events import Event

_IN_FULL = (evidence_events.Searched, events.Voted, events.StepFailed, events.PlanRejected)
"""Events that the live progress prints with their details."""


def show_event(console: Console, event: Event) -> None:
    """Print one event: a title with time and step, then its details."""
    title, *details = describe(event)
    step = f"{event.step}: " if event.step else ""
    indent = "  " * LEVELS.index(event.level) if event.level else ""
    when = Text(f"{event.number:>4} {event.at:%H:%M:%S} {indent}", style="dim")
    show_line(console, when + Text(f"{step}{title}", style="bold"))
    for detail in details:
        show_paragraph(console, detail)


def show_faults(console: Console, faults: ResponseFaults) -> None:
    """Print the number of faults in the model's responses, if there were any."""
    if faults != ResponseFaults():
        counts = f"repairs: {faults.repairs}, rejected responses: {faults.rejected}, failed calls: {faults.failed}"
        show_line(console, f"\nFaults of the model: {counts}", "yellow")


@contextmanager
def live_progress(collection: str, *, steps: bool) -> Iterator[Subscriber]:
    """Yield a subscriber that shows a run: one line, and with ``steps`` a line for each step.

    On a terminal, the line shows the elapsed time and the estimated time left.
    """
    console = SafeConsole(file=sys.stderr, highlight=False)
    progress = LiveProgress(console, steps=steps)
    if not console.is_terminal:
        console.print(Text(f"  Searching {collection} …", style="dim"))
        yield progress.listen
        return
    with Live(get_renderable=progress.line, console=console, refresh_per_second=2, transient=True) as live:
        waiting = set[str]()

        async def listen(event: Event) -> None:
            if isinstance(event.body, events.ApprovalRequested):
                waiting.add(event.body.approval_id)
                live.stop()  # the approval prompt needs the terminal
            await progress.listen(event)
            if isinstance(event.body, events.ApprovalDecided):
                waiting.discard(event.body.approval_id)
                if not waiting:
                    live.start()

        yield listen


class LiveProgress:
    """The live display of a run: a status line for the current call, and with ``steps`` lines for past events."""

    def __init__(self, console: Console, *, steps: bool) -> None:
        self._console, self._steps = console, steps
        self._began = time.monotonic()
        self._calls: list[tuple[float, str, events.ModelAsked]] = []  # start, step and event; oldest first
        self._speed, self._doing = "", "Searching"

    async def listen(self, event: Event) -> None:
        """Show an event of the run."""
        body = event.body
        if isinstance(body, events.ModelAsked):
            self._calls.append((time.monotonic(), event.step, body))
        elif isinstance(body, events.ModelCalled | events.ModelFailed):
            mine = (call for call in self._calls if (call[1], call[2].caller) == (event.step, body.caller))
            if ended := next(mine, None):
                self._calls.remove(ended)
        elif isinstance(body, events.StepRetried | events.StepFailed):  # cancelled calls have no end event
            self._calls = [call for call in self._calls if call[1] != event.step]
        if isinstance(body, events.ModelCalled) and not body.replayed:
            self._speed = speed(body.usage)
        if isinstance(body, evidence_events.Searched | events.StepStarted):
            self._doing = "Working"
        for line in filter(None, describe(event) if isinstance(body, _IN_FULL) else [progress(event)]):
            if self._steps:
                self._console.print(Text(f"  {line}", style="dim"))

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
