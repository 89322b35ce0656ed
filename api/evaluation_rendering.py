"""Evaluations in the terminal: sums, comparisons, and how one goes on."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import fmean

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from api.evaluation_reports.report import shown, spending
from api.rendering import show_table
from multi_agent.evaluation.records import Evaluation, EvaluationResult, Row
from multi_agent.evaluation.runner import rightness
from multi_agent.evaluation.statistics import Interval
from multi_agent.evaluation.summing import Comparison, Summary


def show_summary(console: Console, result: EvaluationResult, summary: Summary) -> None:
    """Figures with their intervals, then where answers went wrong, then what failed."""
    evaluation = result.evaluation
    asked = f"{summary.asked} of {summary.questions} questions ({evaluation.state.value})"
    what = f"{evaluation.set_name} over {evaluation.collection}"
    made = (evaluation.id, evaluation.configuration.label, what, evaluation.configuration.model, asked)
    console.print(" · ".join(made), soft_wrap=True)
    rows = [(name, shown(name, each.mean), _bounds(name, each), each.n) for name, each in summary.figures.items()]
    show_table(console, ("figure", "mean", "95 % interval", "questions"), rows)
    console.print(f"Spent: {spending(summary)}")
    for heading, counts in (("Where answers went wrong", summary.places), ("Metrics without a figure", summary.errors)):
        if counts:
            console.print(f"{heading}: {', '.join(f'{name} {count}' for name, count in counts.items())}")
    for row in result.rows:
        if row.error:
            console.print(f"{row.question_id}: {row.status}: {row.error}", soft_wrap=True)


def show_comparison(console: Console, first: Evaluation, second: Evaluation, comparison: Comparison) -> None:
    """Second minus first, figure by figure."""
    console.print(f"{second.configuration.label} ({second.id}) minus {first.configuration.label} ({first.id})")
    rows = [
        (
            name, shown(name, paired.difference.mean, signed=True), _bounds(name, paired.difference, signed=True),
            f"{paired.p_value:.3g}", len(paired.better), len(paired.worse), paired.equal,
            comparison.needed.get(name, ""),
        )
        for name, paired in comparison.figures.items()
    ]  # fmt: skip
    columns = ("figure", "difference", "95 % interval", "p", "up", "down", "same", "questions needed")
    show_table(console, columns, rows)
    if comparison.left_out:
        console.print(f"{comparison.left_out} questions that only one of both has finished are left out.")


@contextmanager
def progress(total: int, *, visible: bool) -> Iterator[Callable[[Evaluation, Row], None]]:
    """A bar on standard error with running scores; without a terminal a line for each question."""
    console = Console(file=sys.stderr, highlight=False)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    figures: defaultdict[str, list[float]] = defaultdict(list)
    with Progress(*columns, console=console, transient=True, disable=not (visible and console.is_terminal)) as bar:
        task = bar.add_task("", total=total)

        def tell(evaluation: Evaluation, row: Row) -> None:
            label = evaluation.configuration.label
            if (right := rightness(row.figures)) is not None:
                figures[label].append(right)
            running = " · ".join(f"{name} {fmean(values):.3f}" for name, values in figures.items())
            bar.update(task, advance=1, description=running)
            if visible and not console.is_terminal:
                place = f" ({row.place.value})" if row.place else ""
                console.print(f"{label}: {row.question_id}: {row.status}{place} · {running}", soft_wrap=True)

        yield tell


def _bounds(name: str, interval: Interval, *, signed: bool = False) -> str:
    return f"{shown(name, interval.low, signed=signed)} to {shown(name, interval.high, signed=signed)}"
