"""Evaluations in the terminal: sums, comparisons, and how one goes on."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from api.cli.render.terminal import show_table
from api.services.reports.report import bounds, changed, in_order, shown, spending
from multi_agent.evaluation.records import Evaluation, EvaluationResult, Row
from multi_agent.evaluation.runner import rightness
from multi_agent.evaluation.summary import Comparison, Summary

_ASTRAY_SHOWN = 10


def show_summary(console: Console, result: EvaluationResult, summary: Summary) -> None:
    """Figures with their intervals, then where answers went wrong, then what failed."""
    evaluation = result.evaluation
    asked = f"{summary.asked} of {summary.questions} questions ({evaluation.state.value})"
    what = f"{evaluation.set_name} over {evaluation.collection}"
    made = (evaluation.id, evaluation.configuration.label, what, evaluation.configuration.model, asked)
    _say(console, " · ".join(made))
    figures = [(name, summary.figures[name]) for name in in_order(summary.figures)]
    rows = [(name, shown(name, each.mean), bounds(name, each), each.n) for name, each in figures]
    show_table(console, ("figure", "mean", "95 % interval", "questions"), rows)
    _say(console, f"Spent: {spending(summary)}")
    for heading, counts in (("Right, or where it went wrong", summary.places), ("Without a figure", summary.errors)):
        if counts:
            _say(console, f"{heading}: {', '.join(f'{name} {count}' for name, count in counts.items())}")
    for row in result.rows:
        if row.error:
            _say(console, f"{row.question_id}: {row.status}: {row.error}")


def show_comparison(console: Console, first: Evaluation, second: Evaluation, comparison: Comparison) -> None:
    """Second minus first, figure by figure, and the questions that changed."""
    _say(console, f"{second.configuration.label} ({second.id}) minus {first.configuration.label} ({first.id})")
    figures = [(name, comparison.figures[name]) for name in in_order(comparison.figures)]
    rows = [
        (
            name, shown(name, paired.difference.mean, signed=True), bounds(name, paired.difference, signed=True),
            f"{paired.p_value:.3g}", f"{len(paired.better)}/{len(paired.worse)}/{paired.equal}",
            comparison.needed.get(name, ""),
        )
        for name, paired in figures
    ]  # fmt: skip
    show_table(console, ("figure", "difference", "95 % interval", "p", "up/down/same", "needed"), rows)
    if change := changed(comparison):
        name, paired = change
        for way, ids in (("up", paired.better), ("down", paired.worse)):
            if ids:
                _say(console, f"{name} went {way}: {', '.join(ids)}")
    if comparison.needed:
        _say(console, "needed: so many questions would show a difference as large as this one, four times in five.")
    if comparison.left_out:
        _say(console, f"{comparison.left_out} questions that only one of both has finished are left out.")


def unfinished_lines(results: Sequence[EvaluationResult]) -> list[str]:
    """Of each evaluation that is not finished, how much is left, and how it is gone on with."""
    return [
        f"{each.evaluation.id} is not finished: {each.left} of {len(each.questions)} questions are left; "
        f"`candor eval resume {each.evaluation.id}` goes on"
        for each in results
        if each.left
    ]


def astray_lines(found: Sequence[str]) -> list[str]:
    """That some gold cannot be found, with the first ones; nothing if there is none."""
    if not found:
        return []
    more = [f"  and {len(found) - _ASTRAY_SHOWN} more"] if len(found) > _ASTRAY_SHOWN else []
    heading = f"Gold that the collection does not hold, so that nobody can find it: {len(found)}"
    return [heading, *(f"  {each}" for each in found[:_ASTRAY_SHOWN]), *more]


@contextmanager
def progress(results: Sequence[EvaluationResult], *, visible: bool) -> Iterator[Callable[[Evaluation, Row], None]]:
    """A bar on standard error with running scores; without a terminal a line for each question."""
    console = Console(file=sys.stderr, highlight=False)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    scores = _Scores(results)
    with Progress(*columns, console=console, transient=True, disable=not (visible and console.is_terminal)) as bar:
        task = bar.add_task("", total=sum(result.left for result in results))

        def tell(evaluation: Evaluation, row: Row) -> None:
            scores.add(evaluation, row)
            bar.update(task, advance=1, description=str(scores))
            if visible and not console.is_terminal:
                place = f" ({row.place.value})" if row.place else ""
                label = evaluation.configuration.label
                said = f"{label}: {row.question_id}: {row.status}{place}"
                _say(console, " · ".join(filter(None, (said, str(scores)))))

        yield tell


class _Scores:
    """How right the answers of each configuration are so far, by the weights of the questions."""

    def __init__(self, results: Sequence[EvaluationResult]) -> None:
        self._weights = {each.id: each.weight for result in results for each in result.questions}
        self._totals: defaultdict[str, float] = defaultdict(float)
        self._masses: defaultdict[str, float] = defaultdict(float)
        for result in results:  # that is resumed
            for row in result.rows:
                self.add(result.evaluation, row)

    def add(self, evaluation: Evaluation, row: Row) -> None:
        label, weight = evaluation.configuration.label, self._weights[row.question_id]
        if (right := rightness(row.figures)) is not None:
            self._totals[label] += weight * right
            self._masses[label] += weight

    def __str__(self) -> str:
        return " · ".join(f"{label} {total / self._masses[label]:.3f}" for label, total in self._totals.items())


def _say(console: Console, text: str) -> None:
    """A line as it stands: what looks like markup in it was said by a model, or is the name of a setting."""
    console.print(text, markup=False, soft_wrap=True)
