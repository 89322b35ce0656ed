"""The figures of an evaluation over its questions, by tag, and against another evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from pydantic import Field

from multi_agent.evaluation.errors import EvaluationError
from multi_agent.evaluation.metric import discover, figures_of
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.records import EvaluationResult, Row
from multi_agent.evaluation.statistics import Interval, Paired, compare, interval, questions_needed
from multi_agent.llm.llm import Usage
from vectorstore.models import FrozenModel


class Summary(FrozenModel):
    """An evaluation in figures."""

    figures: Mapping[str, Interval] = Field(description="means over the questions that a figure applies to")
    by_tag: Mapping[str, Mapping[str, Interval]]
    places: Mapping[str, int] = Field(description="how many answers went wrong where")
    statuses: Mapping[str, int]
    errors: Mapping[str, int] = Field(description="by metric: answers that it could not tell of")
    asked: int
    questions: int
    spent: Usage = Field(description="by the runs of all questions together")
    judging: Usage = Field(description="by the judge, beside the runs")


class Comparison(FrozenModel):
    """Two evaluations on the same questions."""

    figures: Mapping[str, Paired] = Field(description="the second minus the first")
    needed: Mapping[str, int] = Field(
        description="how many questions would show a difference as large as the one seen, at a power of 0.8; left out "
        "where there is none, or one question alone"
    )
    left_out: int = Field(description="questions that only one of both has finished")


def summarise(result: EvaluationResult, *, by_tag: bool = False) -> Summary:
    """Means with intervals. ``by_tag``: questions with the same tags are taken as one cluster."""
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


def against(first: EvaluationResult, second: EvaluationResult, *, by_tag: bool = False) -> Comparison:
    """The second against the first. Raises EvaluationError if they are of different sets, or have nothing in common."""
    if first.evaluation.fingerprint != second.evaluation.fingerprint:
        raise EvaluationError(
            f"{first.evaluation.id} and {second.evaluation.id} were asked different questions; only evaluations of the "
            "same set can be compared."
        )
    ours, theirs = ({row.question_id: row for row in each.rows if row.finished} for each in (first, second))
    common = [each for each in first.questions if each.id in ours and each.id in theirs]
    if not common:
        raise EvaluationError("The two evaluations have finished no question in common.")
    names = {name for each in common for name in ours[each.id].figures.keys() & theirs[each.id].figures.keys()}
    shares = _shares()
    figures = {
        name: _paired(name, _with(name, common, ours, theirs), ours, theirs, share=name in shares, by_tag=by_tag)
        for name in sorted(names)
    }
    needed = {name: number for name, paired in figures.items() if (number := _needed(paired))}
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
    """Names of the figures whose values lie between 0 and 1."""
    return frozenset(name for name, figure in figures_of(discover().values()).items() if not figure.unit)


def _cluster(question: Question) -> Hashable:
    """Its tags; without any, it stands alone."""
    return question.tags or question.id


def _paired(
    name: str,
    both: Sequence[Question],
    ours: Mapping[str, Row],
    theirs: Mapping[str, Row],
    *,
    share: bool,
    by_tag: bool,
) -> Paired:
    return compare(
        [each.id for each in both],
        [ours[each.id].figures[name] for each in both],
        [theirs[each.id].figures[name] for each in both],
        [each.weight for each in both],
        [_cluster(each) for each in both] if by_tag else None,
        shares=share,
    )


def _needed(paired: Paired) -> int | None:
    """None where there is no difference to show, or a single cluster, which does not tell how it varies."""
    if not paired.difference.mean or paired.deviation is None:
        return None
    return questions_needed(paired.deviation, paired.difference.mean, 1 - paired.equal / paired.difference.n)


def _with(name: str, common: Sequence[Question], ours: Mapping[str, Row], theirs: Mapping[str, Row]) -> list[Question]:
    return [each for each in common if name in ours[each.id].figures and name in theirs[each.id].figures]
