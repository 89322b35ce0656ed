"""Reports of one or more evaluations as HTML, Markdown or JSON.

The HTML page is self-contained: intervals are inline SVG, without scripts or external resources.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Self

from api.services.templates import environment
from base.counts import count
from base.models import FrozenModel
from multi_agent.evaluation.case import Place
from multi_agent.evaluation.metric import Figure, collect_figures, discover
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.runner import RIGHT, correctness
from multi_agent.evaluation.statistics import Interval, Paired
from multi_agent.evaluation.store import EvaluationResult, Row
from multi_agent.evaluation.summary import Comparison, Summary, compare_evaluations, summarize
from multi_agent.model import Usage

HEADLINES = (
    "correct", "judged", "exact_match", "f1", "abstention", "document_recall@10", "passage_recall@10",
    "citation_in_source", "citation_precision", "citation_recall", "claims_borne_out",
)  # fmt: skip
"""The figures that are drawn, most important first. All are shares."""

_NO_DECIMALS = 100  # values from here on are shown without decimals


class ReportFormat(StrEnum):
    """The formats of a report."""

    HTML = "html"
    MARKDOWN = "md"
    JSON = "json"


class QuestionResult(FrozenModel):
    """A question with its row in every evaluation."""

    question: Question
    rows: tuple[Row | None, ...] = ()

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdict in each evaluation, which is right, wrong, or the run's status if the answer has no score."""
        return tuple(_verdict(row) for row in self.rows)

    @property
    def changed(self) -> bool:
        """Whether the verdicts of the evaluations differ."""
        return len(set(self.verdicts)) > 1


class Report(FrozenModel):
    """Evaluations of the same question set. The first is the baseline of the others."""

    results: tuple[EvaluationResult, ...]
    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    questions: tuple[QuestionResult, ...]
    viewer: str = ""

    @classmethod
    def create(cls, results: Sequence[EvaluationResult], *, by_tag: bool = False, viewer: str = "") -> Self:
        """Create a report. ``viewer`` is the URL of the service, for links to runs. Raises EvaluationError."""
        rows = [{row.question_id: row for row in result.rows if row.finished} for result in results]
        return cls(
            results=tuple(results),
            summaries=tuple(summarize(result, by_tag=by_tag) for result in results),
            comparisons=tuple(compare_evaluations(results[0], other, by_tag=by_tag) for other in results[1:]),
            questions=tuple(
                QuestionResult(question=each, rows=tuple(found.get(each.id) for found in rows))
                for each in results[0].questions
            ),
            viewer=viewer.rstrip("/"),
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the evaluations. Equal labels get the evaluation id."""
        labels = [result.evaluation.configuration.label for result in self.results]
        return tuple(
            label if labels.count(label) == 1 else f"{label} ({result.evaluation.id})"
            for label, result in zip(labels, self.results, strict=True)
        )

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of all figures, headlines first."""
        return sort_figures(name for summary in self.summaries for name in summary.figures)

    @property
    def tags(self) -> Mapping[str, tuple[tuple[Interval | None, ...], ...]]:
        """The figures ``correct`` and ``judged`` of each evaluation, by tag."""
        names = sorted({tag for summary in self.summaries for tag in summary.by_tag})
        return {
            tag: tuple(
                (summary.by_tag.get(tag, {}).get("correct"), summary.by_tag.get(tag, {}).get("judged"))
                for summary in self.summaries
            )
            for tag in names
        }

    def failures(self, index: int) -> Mapping[str, tuple[tuple[Question, Row], ...]]:
        """Return the wrong answers of one evaluation, grouped by failure stage."""
        groups: defaultdict[str, list[tuple[Question, Row]]] = defaultdict(list)
        for asked in self.questions:
            row = asked.rows[index]
            if row and row.place and row.place is not Place.RIGHT:
                groups[row.place.value].append((asked.question, row))
        return {place.value: tuple(groups[place.value]) for place in Place if place.value in groups}


def sort_figures(figures: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names of figures, headlines first."""
    names = set(figures)
    return (*(name for name in HEADLINES if name in names), *sorted(names - set(HEADLINES)))


def render_report(report: Report, form: ReportFormat) -> str:
    """Return the report as text in this format."""
    if form is ReportFormat.JSON:
        return json.dumps(report.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"
    templates = environment("api.services.reports", html=form is ReportFormat.HTML)
    templates.filters |= {
        "value": format_value,
        "interval": format_interval,
        "changed": changed_questions,
        "description": lambda name: _figure(name).description,
        "cell": _escape_cell,
        "spending": format_spending,
    }
    return templates.get_template(f"report.{form.value}.jinja").render(report=report, shares=HEADLINES, zip=zip)


def format_value(name: str, value: float, *, signed: bool = False) -> str:
    """Format a value: shares with three decimals, others with three significant digits or as whole numbers."""
    sign = "+" if signed else ""
    if not _figure(name).unit:
        return f"{value:{sign}.3f}"
    return f"{value:{sign},.0f}" if abs(value) >= _NO_DECIMALS else f"{value:{sign}.3g}"


def format_interval(name: str, interval: Interval, *, signed: bool = False) -> str:
    """Format an interval, or a dash if a single cluster has none."""
    if interval.clusters < 2 and interval.low == interval.high:
        return "–"
    return f"{format_value(name, interval.low, signed=signed)} to {format_value(name, interval.high, signed=signed)}"


def changed_questions(comparison: Comparison) -> tuple[str, Paired] | None:
    """Return the figure ``judged``, otherwise ``correct``, with its changed questions. None if both are missing."""
    name = next((each for each in ("judged", "correct") if each in comparison.figures), None)
    return (name, comparison.figures[name]) if name else None


def format_spending(summary: Summary) -> str:
    """Format the usage of the answers and of the judge."""
    answers = f"{_format_usage(summary.spent)} by the answers"
    return f"{answers}, {_format_usage(summary.judging)} by the judge" if summary.judging.model_calls else answers


def _format_usage(usage: Usage) -> str:
    used = f"{count(usage.model_calls, 'call')}, {usage.describe_tokens()}"
    return f"{used}, cost {usage.cost:.4g}" if usage.cost else used


def _verdict(row: Row | None) -> str:
    if row is None:
        return "not asked"
    right = correctness(row.figures)
    return row.status if right is None else "right" if right > RIGHT else "wrong"


def _figure(name: str) -> Figure:
    return collect_figures(discover().values()).get(name) or Figure(description="", better="neither")


def _escape_cell(text: str) -> str:
    """Escape text for a cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())
