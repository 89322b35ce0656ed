"""Plots of a report as inline SVG: figures with intervals, outcomes, and differences."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from multi_agent.evaluation.statistics import Interval
from multi_agent.evaluation.summary import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#2a6fb0", "#c8641b", "#3b8f5c", "#8a4fb0", "#8c8c2d", "#a33a4a")
_RIGHT = "#4f8f63"
_WRONG = (
    "#c8641b", "#2a6fb0", "#8a4fb0", "#8c8c2d", "#a33a4a", "#5d6670", "#1f8a8a", "#b5558f", "#6b4f2a",
    "#3d3d8f", "#9a7fd1",
)  # fmt: skip
"""One colour for each failure stage, the same in every report. None is green."""
_WIDTH, _ROW, _MARGIN = 8.2, 0.34, 0.9  # inches
_SPREAD = 0.7  # share of the row's height


def plot_figures(names: Sequence[str], values: Mapping[str, Sequence[Interval | None]]) -> str:
    """Plot means with intervals: a row per figure, a colour per evaluation."""
    figure, axes = _make_axes(len(names), len(values))
    for index, (label, intervals) in enumerate(values.items()):
        rows = [(_offset(row, index, len(values)), each) for row, each in enumerate(intervals) if each is not None]
        _plot_intervals(axes, rows, _COLOURS[index % len(_COLOURS)], label)
    _style_axes(axes, names)
    axes.set_xlim(-0.02, 1.02)
    if len(values) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.08), ncols=3, frameon=False)
    return _to_svg(figure)


def plot_places(places: Sequence[str], counts: Mapping[str, Mapping[str, int]]) -> str:
    """Plot the number of answers by outcome, one bar per evaluation. The first of ``places`` is 'right'."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = _make_axes(len(counts), 1)
    left = [0] * len(counts)
    colours = dict(zip(places, (_RIGHT, *_WRONG), strict=True))
    for place in (place for place in places if any(place in each for each in counts.values())):
        widths = [each.get(place, 0) for each in counts.values()]
        bars = axes.barh(range(len(counts)), widths, left=left, color=colours[place], label=place, height=0.6)
        axes.bar_label(bars, [str(width) if width else "" for width in widths], label_type="center", color="white")
        left = [start + width for start, width in zip(left, widths, strict=True)]
    _style_axes(axes, list(counts))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.12), ncols=3, frameon=False)
    return _to_svg(figure)


def plot_differences(names: Sequence[str], comparison: Comparison) -> str:
    """Plot second minus first with intervals. Figures right of the line increased."""
    kept = [name for name in names if name in comparison.figures]
    figure, axes = _make_axes(len(kept), 1)
    rows = [(float(row), comparison.figures[name].difference) for row, name in enumerate(kept)]
    axes.axvline(0, color="#888", linewidth=1)
    _plot_intervals(axes, rows, _COLOURS[0], "difference")
    _style_axes(axes, kept)
    return _to_svg(figure)


def _make_axes(rows: int, series: int) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, _MARGIN + rows * _ROW * (1 + 0.35 * (series - 1))), layout="constrained")
    return figure, figure.add_subplot()


def _offset(row: int, index: int, series: int) -> float:
    """Return the vertical position of a series in its row."""
    return row + _SPREAD * ((index + 0.5) / series - 0.5)


def _plot_intervals(axes: Axes, rows: Sequence[tuple[float, Interval]], colour: str, label: str) -> None:
    for height, each in rows:
        axes.plot((each.low, each.high), (height, height), color=colour, linewidth=2.5, alpha=0.55)
    axes.plot([each.mean for _, each in rows], [height for height, _ in rows], "o", color=colour, label=label)


def _style_axes(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x", color="#8884")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def _to_svg(figure: Figure) -> str:
    """Return the SVG element. Text stays searchable text; without a date, equal plots give equal files."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "candor", "font.family": "sans-serif"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    svg = buffer.getvalue()
    return svg[svg.index("<svg") :]
