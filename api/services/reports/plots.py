"""The plots of a report, as SVG that stands in a page: figures with intervals, places of failure, differences."""

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
)  # fmt: skip
"""One for each place at which an answer goes wrong, the same in every report; none of them green."""
_WIDTH, _ROW, _MARGIN = 8.2, 0.34, 0.9  # inches
_SPREAD = 0.7  # of the room of a row


def plot_figures(names: Sequence[str], values: Mapping[str, Sequence[Interval | None]]) -> str:
    """Means with their intervals, a row for each figure, a colour for each evaluation."""
    figure, axes = _canvas(len(names), len(values))
    for index, (label, intervals) in enumerate(values.items()):
        rows = [(_height(row, index, len(values)), each) for row, each in enumerate(intervals) if each is not None]
        _draw(axes, rows, _COLOURS[index % len(_COLOURS)], label)
    _finish(axes, names)
    axes.set_xlim(-0.02, 1.02)
    if len(values) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.08), ncols=3, frameon=False)
    return _svg(figure)


def plot_places(places: Sequence[str], counts: Mapping[str, Mapping[str, int]]) -> str:
    """How many answers are right, the first of the places, or went wrong where; one bar for each evaluation."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = _canvas(len(counts), 1)
    left = [0] * len(counts)
    colours = dict(zip(places, (_RIGHT, *_WRONG), strict=True))
    for place in (place for place in places if any(place in each for each in counts.values())):
        widths = [each.get(place, 0) for each in counts.values()]
        bars = axes.barh(range(len(counts)), widths, left=left, color=colours[place], label=place, height=0.6)
        axes.bar_label(bars, [str(width) if width else "" for width in widths], label_type="center", color="white")
        left = [start + width for start, width in zip(left, widths, strict=True)]
    _finish(axes, list(counts))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.12), ncols=3, frameon=False)
    return _svg(figure)


def plot_differences(names: Sequence[str], comparison: Comparison) -> str:
    """Second minus first with intervals; what lies right of the line got higher."""
    kept = [name for name in names if name in comparison.figures]
    figure, axes = _canvas(len(kept), 1)
    rows = [(float(row), comparison.figures[name].difference) for row, name in enumerate(kept)]
    axes.axvline(0, color="#888", linewidth=1)
    _draw(axes, rows, _COLOURS[0], "difference")
    _finish(axes, kept)
    return _svg(figure)


def _canvas(rows: int, series: int) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, _MARGIN + rows * _ROW * (1 + 0.35 * (series - 1))), layout="constrained")
    return figure, figure.add_subplot()


def _height(row: int, index: int, series: int) -> float:
    """Where in its row a series is drawn."""
    return row + _SPREAD * ((index + 0.5) / series - 0.5)


def _draw(axes: Axes, rows: Sequence[tuple[float, Interval]], colour: str, label: str) -> None:
    for height, each in rows:
        axes.plot((each.low, each.high), (height, height), color=colour, linewidth=2.5, alpha=0.55)
    axes.plot([each.mean for _, each in rows], [height for height, _ in rows], "o", color=colour, label=label)


def _finish(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x", color="#8884")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def _svg(figure: Figure) -> str:
    """Text stays text, so that it can be read out and searched; no date in it, so that equal plots are equal files."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "candor", "font.family": "sans-serif"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    drawn = buffer.getvalue()
    return drawn[drawn.index("<svg") :]
