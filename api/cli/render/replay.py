"""Prints the result of a replay."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from api.cli.render.text import excerpt, show_paragraph
from base.counts import count
from multi_agent.orchestrator.rerun.difference import Cause, Difference
from multi_agent.orchestrator.rerun.replay import Replay


def show_replay(console: Console, result: Replay) -> None:
    """Print whether the replay is the same, otherwise the first difference and its causes."""
    if result.same:
        console.print(Text(f"{result.run_id}: the same {count(result.events, 'event')}."), soft_wrap=True)
        return
    for title, detail in _lines(result):
        console.print(Text(title, style="bold"), soft_wrap=True)
        if detail:
            show_paragraph(console, detail)


def _lines(result: Replay) -> Iterator[tuple[str, str]]:
    if result.error:
        yield f"{result.run_id} cannot be repeated as it was.", result.error
    if result.difference:
        yield from difference_lines(result.difference, f"{result.run_id} differs first in")
    for each in result.causes[:1]:
        yield f"Cause: {_cause(each)}", ""
    if result.not_compared:
        yield (
            "The cause cannot be found: an earlier version of Candor stored the run without these.",
            (f"Not compared: {', '.join(result.not_compared)}."),
        )
    if result.line:
        yield f"The first differing line in the prompt of {result.line.caller} was:", excerpt(result.line.recorded)
        yield "and is now:", excerpt(result.line.repeated)
    for each in result.causes[1:]:
        yield f"Also changed: {_cause(each)}", ""


def difference_lines(difference: Difference, title: str) -> Iterator[tuple[str, str]]:
    """Yield the lines about the first event that differs between two runs, each with its detail."""
    number = f"event {difference.number}" if difference.number else "an additional event"
    step = f" of step {difference.step}" if difference.step else ""
    yield f"{title} {number}: {difference.type}{step}.", ""
    if difference.repeated_number is None:
        yield "The other run has no such event.", ""
    elif difference.number is None:
        yield "Only the other run has it:", excerpt(_text(difference.repeated))
    else:
        yield f"{difference.field} was:", excerpt(_text(difference.recorded))
        yield "and is now:", excerpt(_text(difference.repeated))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cause(cause: Cause) -> str:
    return f"{cause.kind}: {cause.name} {cause.change}."
