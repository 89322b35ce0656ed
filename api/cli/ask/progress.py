"""Shows the progress of a run on standard error: one line per important event, and the time of the current call."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.text import Text

from api.cli.render.console import SafeConsole
from api.cli.render.run_events import ProgressLines
from api.services.research.event_text import duration, speed
from multi_agent.values import events, evidence_events
from multi_agent.values.bus import Subscriber
from multi_agent.values.events import Event

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
