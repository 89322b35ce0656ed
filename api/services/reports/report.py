"""What a report of one or several evaluations shows, and how it is written as HTML, Markdown or JSON.

The page is complete in itself: plots are inline SVG, there is no script, and nothing is loaded.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from api.services.reports.plots import plot_differences, plot_figures, plot_places
from multi_agent.evaluation.failures import Place
from multi_agent.evaluation.metric import Figure, discover, figures_of
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.records import EvaluationResult, Row
from multi_agent.evaluation.runner import RIGHT, rightness
from multi_agent.evaluation.statistics import Interval, Paired
from multi_agent.evaluation.summary import Comparison, Summary, against, summarise
from multi_agent.llm.llm import Usage
from vectorstore.models import FrozenModel

HEADLINES = (
    "correct", "judged", "exact_match", "f1", "abstention", "document_recall@10", "passage_recall@10",
    "citation_in_source", "citation_precision", "citation_recall", "claims_borne_out",
)  # fmt: skip
"""Figures that are plotted: shares, from the answer back to what was found."""


_WHOLE = 100  # from here on, fractions are noise


class Format(StrEnum):
    """What a report can be written as."""

    HTML = "html"
    MARKDOWN = "md"
    JSON = "json"


class Asked(FrozenModel):
    """One question with what every evaluation answered to it."""

    question: Question
    rows: tuple[Row | None, ...] = ()

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Of each evaluation: right, wrong, or where there is no telling, the status."""
        return tuple(_verdict(row) for row in self.rows)

    @property
    def changed(self) -> bool:
        """Whether the evaluations differ in it."""
        return len(set(self.verdicts)) > 1


class Report(FrozenModel):
    """Evaluations of the same set: the first is what the others are compared with."""

    results: tuple[EvaluationResult, ...]
    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    questions: tuple[Asked, ...]
    viewer: str = ""

    @classmethod
    def of(cls, results: Sequence[EvaluationResult], *, by_tag: bool = False, viewer: str = "") -> Report:
        """``viewer`` is the address of the service, to which runs are linked. Raises EvaluationError."""
        rows = [{row.question_id: row for row in result.rows if row.finished} for result in results]
        return cls(
            results=tuple(results),
            summaries=tuple(summarise(result, by_tag=by_tag) for result in results),
            comparisons=tuple(against(results[0], other, by_tag=by_tag) for other in results[1:]),
            questions=tuple(
                Asked(question=each, rows=tuple(found.get(each.id) for found in rows)) for each in results[0].questions
            ),
            viewer=viewer.rstrip("/"),
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """What the evaluations are called; those of one name are told apart by their ids."""
        labels = [result.evaluation.configuration.label for result in self.results]
        return tuple(
            label if labels.count(label) == 1 else f"{label} ({result.evaluation.id})"
            for label, result in zip(labels, self.results, strict=True)
        )

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of all figures, headlines first."""
        return in_order(name for summary in self.summaries for name in summary.figures)

    @property
    def tags(self) -> Mapping[str, tuple[tuple[Interval | None, ...], ...]]:
        """By tag, for each evaluation: how many answers are right, by the comparison and by the judge."""
        names = sorted({tag for summary in self.summaries for tag in summary.by_tag})
        return {
            tag: tuple(
                (summary.by_tag.get(tag, {}).get("correct"), summary.by_tag.get(tag, {}).get("judged"))
                for summary in self.summaries
            )
            for tag in names
        }

    def failures(self, index: int) -> Mapping[str, tuple[tuple[Question, Row], ...]]:
        """The wrong answers of one evaluation, grouped by where they arose, in the order of the way of an answer."""
        groups: defaultdict[str, list[tuple[Question, Row]]] = defaultdict(list)
        for asked in self.questions:
            row = asked.rows[index]
            if row and row.place and row.place is not Place.RIGHT:
                groups[row.place.value].append((asked.question, row))
        return {place.value: tuple(groups[place.value]) for place in Place if place.value in groups}


def in_order(figures: Iterable[str]) -> tuple[str, ...]:
    """Names of figures, each once, headlines first."""
    names = set(figures)
    return (*(name for name in HEADLINES if name in names), *sorted(names - set(HEADLINES)))


def write(report: Report, form: Format) -> str:
    """The report as the text of a file."""
    if form is Format.JSON:
        return json.dumps(report.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"
    return _render(report, form)


def shown(name: str, value: float, *, signed: bool = False) -> str:
    """A value as people read it: shares with three digits, the rest with three significant ones, or whole."""
    sign = "+" if signed else ""
    if not _figure(name).unit:
        return f"{value:{sign}.3f}"
    return f"{value:{sign},.0f}" if abs(value) >= _WHOLE else f"{value:{sign}.3g}"


def bounds(name: str, interval: Interval, *, signed: bool = False) -> str:
    """The interval as people read it; a dash where one question alone cannot tell."""
    if interval.clusters < 2 and interval.low == interval.high:
        return "–"
    return f"{shown(name, interval.low, signed=signed)} to {shown(name, interval.high, signed=signed)}"


def changed(comparison: Comparison) -> tuple[str, Paired] | None:
    """The figure that says whether answers are right, by the judge if there was one, and which questions changed."""
    name = next((each for each in ("judged", "correct") if each in comparison.figures), None)
    return (name, comparison.figures[name]) if name else None


def spending(summary: Summary) -> str:
    """What the answers took in all, and beside them the judge, if there was one."""
    answers = f"{_used(summary.spent)} by the answers"
    return f"{answers}, {_used(summary.judging)} by the judge" if summary.judging.model_calls else answers


def _used(usage: Usage) -> str:
    used = f"{usage.model_calls:,} calls, {usage.prompt_tokens + usage.completion_tokens:,} tokens"
    return f"{used}, cost {usage.cost:.4g}" if usage.cost else used


def _render(report: Report, form: Format) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("api.services.reports", "."),
        autoescape=form is Format.HTML,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": shown,
        "bounds": bounds,
        "changed": changed,
        "meaning": lambda name: _figure(name).description,
        "cell": _cell,
        "spending": spending,
    }
    template = environment.get_template(f"report.{form.value}.jinja")
    plots = {"figures": "", "places": "", "differences": []} if form is Format.MARKDOWN else _plots(report)
    return template.render(report=report, plots=plots, zip=zip)


def _plots(report: Report) -> dict[str, object]:
    headlines = [name for name in report.figures if name in HEADLINES]
    figures = {
        label: [summary.figures.get(name) for name in headlines]
        for label, summary in zip(report.labels, report.summaries, strict=True)
    }
    places = {label: summary.places for label, summary in zip(report.labels, report.summaries, strict=True)}
    return {
        "figures": plot_figures(headlines, figures) if headlines else "",
        "places": plot_places([place.value for place in Place], places) if any(places.values()) else "",
        "differences": [plot_differences(headlines, comparison) for comparison in report.comparisons],
    }


def _verdict(row: Row | None) -> str:
    if row is None:
        return "not asked"
    right = rightness(row.figures)
    return row.status if right is None else "right" if right > RIGHT else "wrong"


def _figure(name: str) -> Figure:
    return figures_of(discover().values()).get(name) or Figure(description="", better="neither")


def _cell(text: str) -> str:
    """For a cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())
