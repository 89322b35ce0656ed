"""Prints lists of runs."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from api.cli.render.text import excerpt, file_size, show_paragraph
from api.services.research.event_text import duration
from multi_agent.storage.trace import RunSummary


def show_runs(console: Console, runs: Iterable[RunSummary]) -> None:
    """Print two lines for each run. The first has its id and figures, the second its question."""
    for run in runs:
        console.print(Text(run.run_id, style="bold"), Text(" · ".join(_facts(run)), style="dim"), soft_wrap=True)
        show_paragraph(console, excerpt(run.question))
        if run.note:
            show_paragraph(console, f"Note: {run.note}")


def _facts(run: RunSummary) -> list[str]:
    """Return the known facts of the run. A run that has not ended has no figures."""
    facts = [run.status, f"{run.started_at:%Y-%m-%d %H:%M} UTC"]
    facts += [duration(run.seconds)] if run.seconds is not None else []
    facts += [f"{run.tokens:,} tokens"] if run.tokens is not None else []
    facts += [f"cost {run.cost:.4f}"] if run.cost is not None else []
    facts += [run.basis or f"confidence {run.confidence:.2f}"] if run.basis or run.confidence is not None else []
    facts += [file_size(run.size)] if run.size is not None else []
    facts += [f"rated {run.rating}"] if run.rating else []
    facts += [f"forked from {run.forked_from} at {run.forked_at}"] if run.forked_from else []
    return [*facts, run.collection]
