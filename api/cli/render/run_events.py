"""Prints events of a run. ``candor trace`` prints all events, ``candor ask`` the main ones as live progress."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from api.cli.render.text import excerpt, show_paragraph
from api.services.research.event_text import describe, first_sentence, passage_line, passages_found, progress
from multi_agent.llm.wrappers.usage import ResponseFaults
from multi_agent.values import events, evidence_events
from multi_agent.values.bus import LEVELS
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
