"""Prints lists of runs, and plans."""

import json
from collections.abc import Iterable

from rich.console import Console
from rich.filesize import decimal
from rich.text import Text

from api.cli.render.text import excerpt, show_line, show_paragraph
from api.services.research.event_text import duration
from multi_agent.orchestrator.planning.proposal import Proposal
from multi_agent.storage.trace import RunSummary
from multi_agent.values.plan import PlanExample


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
    facts += [decimal(run.size)] if run.size is not None else []
    facts += [f"rated {run.rating}"] if run.rating else []
    facts += [f"forked from {run.forked_from} at {run.forked_at}"] if run.forked_from else []
    return [*facts, run.collection]


def show_plan(console: Console, saved: PlanExample | Proposal) -> None:
    """Print the goal, the parameters and the steps of a plan."""
    plan = saved.plan
    show_line(console, Text("saved from  ", style="bold") + Text(saved.question))
    show_line(console, Text("goal        ", style="bold") + Text(plan.goal))
    for parameter in plan.parameters:
        default = f" (default: {parameter.default!r})" if parameter.default is not None else ""
        named = Text(f"{parameter.name}: {parameter.meaning}{default}")
        show_line(console, Text("parameter   ", style="bold") + named)
    for number, step in enumerate(plan.steps, start=1):
        after = f", after {', '.join(step.after)}" if step.after else ""
        heading = f"{number}. {step.id} ({', '.join(step.agents)}{after})"
        show_line(console, heading, "bold")
        if step.instruction:
            show_line(console, f"   {step.instruction}")
        for name, value in step.settings.items():
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            show_line(console, f"   {name}: {shown}")
