"""Summarizes an evaluation over its questions and by tag, and compares two evaluations."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from pydantic import Field

from base.models import FrozenModel
from multi_agent.evaluation.errors import EvaluationError
from multi_agent.evaluation.metric import collect_figures, discover
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.statistics import Interval, Paired, compare, interval, questions_needed
from multi_agent.evaluation.store import EvaluationResult, Row
from multi_agent.model import Usage


class Summary(FrozenModel):
    """The figures, outcomes and usage of an evaluation."""

    figures: Mapping[str, Interval] = Field(description="mean of each figure over the questions that it applies to")
    by_tag: Mapping[str, Mapping[str, Interval]]
    places: Mapping[str, int] = Field(description="number of answers by outcome")
    statuses: Mapping[str, int]
    errors: Mapping[str, int] = Field(description="number of errors by metric")
    asked: int
    questions: int
    spent: Usage = Field(description="usage of all runs")
    judging: Usage = Field(description="usage of the judge, not included in `spent`")


class Comparison(FrozenModel):
    """Two evaluations on the same questions."""

    figures: Mapping[str, Paired] = Field(description="second minus first")
    needed: Mapping[str, int] = Field(
        description="number of questions to detect the observed difference with a power of 0.8; missing without a "
        "difference, or with one question only"
    )
    left_out: int = Field(description="number of questions that only one evaluation has finished")


def summarize(result: EvaluationResult, *, by_tag: bool = False) -> Summary:
    """Return means with intervals. ``by_tag`` treats questions with the same tags as one cluster."""
    finished = [row for row in result.rows if row.finished]
    questions = {each.id: each for each in result.questions}
    tags = sorted({tag for row in finished for tag in questions[row.question_id].tags})
    tagged = {tag: [row for row in finished if tag in questions[row.question_id].tags] for tag in tags}
    return Summary(
        figures=_intervals(finished, questions, clustered=by_tag),
        by_tag={tag: _intervals(rows, questions, clustered=False) for tag, rows in tagged.items()},
        places=Counter(row.place.value for row in finished if row.place),
        statuses=Counter(row.status for row in finished),
        errors=Counter(metric for row in finished for metric in row.errors),
        asked=len(finished),
        questions=len(result.questions),
        spent=sum((row.spent for row in finished), Usage()),
        judging=sum((row.judging for row in finished), Usage()),
    )


def compare_evaluations(first: EvaluationResult, second: EvaluationResult, *, by_tag: bool = False) -> Comparison:
    """Compare two evaluations, second minus first.

    Raises EvaluationError if the question sets differ, or no question is finished in both.
    """
    if first.evaluation.fingerprint != second.evaluation.fingerprint:
        raise EvaluationError(
            f"{first.evaluation.id} and {second.evaluation.id} have different questions. Only evaluations of the "
            "same question set can be compared."
        )
    ours, theirs = ({row.question_id: row for row in each.rows if row.finished} for each in (first, second))
    common = [each for each in first.questions if each.id in ours and each.id in theirs]
    if not common:
        raise EvaluationError("No question is finished in both evaluations.")
    names = {name for each in common for name in ours[each.id].figures.keys() & theirs[each.id].figures.keys()}
    shares = _shares()
    figures = {name: _paired(name, common, ours, theirs, share=name in shares, by_tag=by_tag) for name in sorted(names)}
    needed = {name: number for name, paired in figures.items() if (number := _count_needed(paired))}
    return Comparison(figures=figures, needed=needed, left_out=len({*ours, *theirs}) - len(common))


def _intervals(rows: Iterable[Row], questions: Mapping[str, Question], *, clustered: bool) -> dict[str, Interval]:
    kept = list(rows)
    names = sorted({name for row in kept for name in row.figures})
    shares = _shares()
    found = {}
    for name in names:
        applying = [row for row in kept if name in row.figures]
        asked = [questions[row.question_id] for row in applying]
        clusters = [_cluster(each) for each in asked] if clustered else None
        weights = [each.weight for each in asked]
        values = [row.figures[name] for row in applying]
        found[name] = interval(values, weights, clusters, shares=name in shares)
    return found


def _shares() -> frozenset[str]:
    """Return the names of figures with values between 0 and 1."""
    return frozenset(name for name, figure in collect_figures(discover().values()).items() if not figure.unit)


def _cluster(question: Question) -> Hashable:
    """Return the cluster of a question: its tags, or its id without tags."""
    return question.tags or question.id


def _paired(
    name: str,
    common: Sequence[Question],
    ours: Mapping[str, Row],
    theirs: Mapping[str, Row],
    *,
    share: bool,
    by_tag: bool,
) -> Paired:
    """Compare the figure over the questions that have it in both evaluations."""
    both = [each for each in common if name in ours[each.id].figures and name in theirs[each.id].figures]
    return compare(
        [each.id for each in both],
        [ours[each.id].figures[name] for each in both],
        [theirs[each.id].figures[name] for each in both],
        [each.weight for each in both],
        [_cluster(each) for each in both] if by_tag else None,
        shares=share,
    )


def _count_needed(paired: Paired) -> int | None:
    """Return None without a difference, or with one cluster, which has no deviation."""
    if not paired.difference.mean or paired.deviation is None:
        return None
    return questions_needed(paired.deviation, paired.difference.mean, 1 - paired.equal / paired.difference.n)
