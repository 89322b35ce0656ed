"""Evaluations: figures, comparisons, and live progress."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import MofNCompleteColumn

from api.cli.render.text import progress_bar, show_line, show_table
from api.services.reports.report import changed_questions, format_interval, format_spending, format_value, sort_figures
from base.counts import count
from multi_agent.evaluation.runner import correctness
from multi_agent.evaluation.store import Evaluation, EvaluationResult, Row
from multi_agent.evaluation.summary import Comparison, Summary

_MAX_GOLD_LINES = 10


def show_summary(console: Console, result: EvaluationResult, summary: Summary) -> None:
    """Print figures with intervals, outcomes, then errors."""
    evaluation = result.evaluation
    asked = f"{summary.asked} of {count(summary.questions, 'question')} ({evaluation.state.value})"
    what = f"{evaluation.set_name} over {evaluation.collection}"
    heading = (evaluation.id, evaluation.configuration.label, what, evaluation.configuration.model, asked)
    show_line(console, " · ".join(heading))
    figures = [(name, summary.figures[name]) for name in sort_figures(summary.figures)]
    rows = [(name, format_value(name, each.mean), format_interval(name, each), each.n) for name, each in figures]
    show_table(console, ("figure", "mean", "95 % interval", "questions"), rows)
    show_line(console, f"Spent: {format_spending(summary)}")
    for title, counts in (("Outcomes", summary.places), ("Metric errors", summary.errors)):
        if counts:
            show_line(console, f"{title}: {', '.join(f'{name} {count}' for name, count in counts.items())}")
    for row in result.rows:
        if row.error:
            show_line(console, f"{row.question_id}: {row.status}: {row.error}")


def show_comparison(console: Console, first: Evaluation, second: Evaluation, comparison: Comparison) -> None:
    """Print the difference of each figure, second minus first, and the questions that changed."""
    show_line(console, f"{second.configuration.label} ({second.id}) minus {first.configuration.label} ({first.id})")
    figures = [(name, comparison.figures[name]) for name in sort_figures(comparison.figures)]
    rows = [
        (
            name,
            format_value(name, paired.difference.mean, signed=True),
            format_interval(name, paired.difference, signed=True),
            f"{paired.p_value:.3g}", f"{len(paired.better)}/{len(paired.worse)}/{paired.equal}",
            comparison.needed.get(name, ""),
        )
        for name, paired in figures
    ]  # fmt: skip
    show_table(console, ("figure", "difference", "95 % interval", "p", "up/down/same", "needed"), rows)
    if change := changed_questions(comparison):
        name, paired = change
        for direction, ids in (("up", paired.better), ("down", paired.worse)):
            if ids:
                show_line(console, f"{name} went {direction}: {', '.join(ids)}")
    if comparison.needed:
        show_line(console, "needed: number of questions to detect a difference of this size with a power of 80 %.")
    if comparison.left_out:
        show_line(console, f"{count(comparison.left_out, 'question')} left out: only one evaluation has finished them.")


def unfinished_lines(results: Sequence[EvaluationResult]) -> list[str]:
    """Return a line for each unfinished evaluation: how much is left, and how to resume it."""
    return [
        f"{each.evaluation.id} is not finished: {each.left} of {count(len(each.questions), 'question')} left. "
        f"Resume with `candor eval resume {each.evaluation.id}`."
        for each in results
        if each.left
    ]


def missing_gold_lines(missing: Sequence[str]) -> list[str]:
    """Return a warning that lists the first gold quotes that the collection does not contain."""
    if not missing:
        return []
    more = [f"  and {len(missing) - _MAX_GOLD_LINES} more"] if len(missing) > _MAX_GOLD_LINES else []
    heading = f"Gold quotes missing from the collection, so no search can find them: {len(missing)}"
    return [heading, *(f"  {each}" for each in missing[:_MAX_GOLD_LINES]), *more]


@contextmanager
def progress(results: Sequence[EvaluationResult], *, visible: bool) -> Iterator[Callable[[Evaluation, Row], None]]:
    """Show a progress bar with running scores on standard error. Without a terminal, print one line per question.

    Yields a function that takes each finished row.
    """
    scores = _Scores(results)
    questions = {each.id: each for result in results for each in result.questions}
    with progress_bar(MofNCompleteColumn(), shown=visible) as (bar, console):
        task = bar.add_task("", total=sum(result.left for result in results))

        def show_row(evaluation: Evaluation, row: Row) -> None:
            scores.add(evaluation, row)
            bar.update(task, advance=1, description=str(scores))
            if visible and not console.is_terminal:
                place = f" ({outcome})" if (outcome := row.outcome(questions[row.question_id])) else ""
                line = f"{evaluation.configuration.label}: {row.question_id}: {row.status}{place}"
                show_line(console, " · ".join(filter(None, (line, str(scores)))))

        yield show_row


class _Scores:
    """Running mean correctness of each configuration, weighted by question."""

    def __init__(self, results: Sequence[EvaluationResult]) -> None:
        self._question_weights = {each.id: each.weight for result in results for each in result.questions}
        self._totals: defaultdict[str, float] = defaultdict(float)
        self._weights: defaultdict[str, float] = defaultdict(float)
        for result in results:  # a resumed evaluation has rows already
            for row in result.rows:
                self.add(result.evaluation, row)

    def add(self, evaluation: Evaluation, row: Row) -> None:
        label, weight = evaluation.configuration.label, self._question_weights[row.question_id]
        if (score := correctness(row.figures)) is not None:
            self._totals[label] += weight * score
            self._weights[label] += weight

    def __str__(self) -> str:
        return " · ".join(f"{label} {total / self._weights[label]:.3f}" for label, total in self._totals.items())
