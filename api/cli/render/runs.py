"""Prints lists of runs."""

from __future__ import annotations

from collections.abc import Sequence

from api.cli.common import print_list
from api.cli.render.text import duration
from multi_agent.storage.trace import RunSummary


def print_runs(runs: Sequence[RunSummary], as_json: bool) -> None:
    """Print the runs as a table or as JSON. The table has costs only if a run has a cost."""
    shows_cost = any(run.cost is not None for run in runs)
    columns = ["run", "status", "started (UTC)", "took", "tokens", *(["cost"] if shows_cost else []), "conf."]
    rows = [_row(run, shows_cost) for run in runs]
    print_list(runs, (*columns, "collection", "question"), rows, as_json)


def _row(run: RunSummary, shows_cost: bool) -> tuple[str, ...]:
    cost = "" if run.cost is None else f"{run.cost:.4f}"
    return (
        run.run_id,
        run.status,
        f"{run.started_at:%Y-%m-%d %H:%M}",
        "" if run.seconds is None else duration(run.seconds),
        "" if run.tokens is None else f"{run.tokens:,}",
        *([cost] if shows_cost else []),
        "" if run.confidence is None else f"{run.confidence:.2f}",
        run.collection,
        run.question,
    )
