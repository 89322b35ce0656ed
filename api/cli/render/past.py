"""Prints model calls and tool calls in full, replays, and comparisons of runs."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.text import Text

from api.cli.render.text import excerpt, show_line, show_paragraph, show_table
from api.services.research.compare import (
    ComparedClaim,
    ComparedPassage,
    ComparedQuote,
    ComparedRun,
    Items,
    RunComparison,
)
from api.services.research.event_text import duration, format_arguments
from base.counts import count
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.orchestrator.rerun.difference import Cause, Difference
from multi_agent.orchestrator.rerun.replay import Replay
from multi_agent.prompts.show_passages import show_location, show_pages
from multi_agent.storage.tool_calls import ToolEntry
from multi_agent.values.plan import Plan


def show_call(console: Console, entry: JournalEntry) -> None:
    """Print a model call: prompt, thinking, responses, reasons for rejected responses, and repairs."""
    console.print(Text(f"\n═══ {entry.caller or 'call'} → {entry.response_model} ({entry.key[:12]})", style="bold"))
    for message in entry.messages:
        _show_part(console, message.role, message.content)
        for picture in message.pictures:
            show_line(console, f"─── a picture, not kept: {picture}", "dim")
    for exchange in entry.exchanges:
        if exchange.thinking:
            _show_part(console, "thinking", exchange.thinking)
        _show_part(console, "response", exchange.response)
        if exchange.fault:
            show_line(console, f"─── rejected: {exchange.fault}", "yellow")
        for repair in exchange.repairs:
            show_line(console, f"─── repaired: {repair}", "yellow")


def show_tool_call(console: Console, entry: ToolEntry) -> None:
    """Print a tool call: arguments, reason and result."""
    console.print(Text(f"\n═══ {entry.agent} → {entry.tool} ({entry.key[:12]})", style="bold"))
    show_line(console, f"{format_arguments(entry.arguments)}\n{entry.why}")
    if entry.result:
        _show_part(console, "result", entry.result.text)
        for chunk in entry.result.passages:
            show_line(console, f"({show_location(chunk)})", "dim")
    else:
        show_line(console, f"─── {entry.error or 'not finished'}", "yellow")


def _show_part(console: Console, name: str, text: str) -> None:
    console.print(Text(f"─── {name}", style="bold"))
    show_line(console, text)


def show_replay(console: Console, result: Replay) -> None:
    """Print whether the replay is the same, otherwise the first difference and its causes."""
    if result.same:
        show_line(console, f"{result.run_id}: the same {count(result.events, 'event')}.")
        return
    _show_lines(console, _lines(result))


def _show_lines(console: Console, lines: Iterable[tuple[str, str]]) -> None:
    for title, detail in lines:
        show_line(console, title, "bold")
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


T = TypeVar("T")


def show_comparison(console: Console, compared: RunComparison) -> None:
    """Print the answers of both runs, their figures and first difference, and the items that only one of them has."""
    runs = (compared.first, compared.second)
    for each in runs:
        show_line(console, f"{each.run.run_id}: {each.run.status}", "bold")
        show_paragraph(console, each.answer)
    console.print()
    show_table(console, ("run", "status", "model", "calls", "tokens", "cost", "time"), [_row(each) for each in runs])
    console.print()
    if compared.difference is None:
        show_line(console, "All events are the same.", "bold")
    else:
        _show_lines(console, difference_lines(compared.difference, "The runs differ first in"))
    _show_plans(console, compared)
    _show_items(console, "Queries", compared.queries, str)
    _show_items(console, "Passages", compared.passages, lambda each: _place(each.name, each, each.excerpt))
    _show_items(console, "Evidence", compared.evidence, lambda each: _place(each.document, each, each.quote))
    _show_claims(console, compared.claims)


def _show_plans(console: Console, compared: RunComparison) -> None:
    before, after = ([_plan(each) for each in run.plans] for run in (compared.first, compared.second))
    if compared.same_plan:
        show_line(console, "Plan: the same", "bold")
    elif before == after:
        show_line(console, "Plan: the same steps, with other instructions or inputs", "bold")
    else:
        show_line(console, "Plan", "bold")
        _show(console, "-", before)
        _show(console, "+", after)


def _row(compared: ComparedRun) -> tuple[str, ...]:
    run, usage = compared.run, compared.usage
    tokens = f"{usage.prompt_tokens + usage.completion_tokens:,}"
    cost = "" if usage.cost is None else f"{usage.cost:.4f}"
    return run.run_id, run.status, run.model, str(usage.model_calls), tokens, cost, duration(usage.seconds)


def _show_items(console: Console, name: str, items: Items[T], text: Callable[[T], str]) -> None:
    show_line(console, f"{name}: {len(items.both)} in both, {len(items.lost)} lost, {len(items.won)} won", "bold")
    _show(console, "-", map(text, items.lost))
    _show(console, "+", map(text, items.won))


def _show_claims(console: Console, claims: tuple[ComparedClaim, ...]) -> None:
    same = sum(each.same_text for each in claims)
    show_line(console, f"Claims: {same} of {len(claims)} the same", "bold")
    for each in claims:
        if not each.same_text:
            _show(console, "-", [each.first] if each.first else [])
            _show(console, "+", [each.second] if each.second else [])


def _show(console: Console, mark: str, lines: Iterable[str]) -> None:
    for line in lines:
        show_paragraph(console, f"{mark} {excerpt(line)}")


def _plan(plan: Plan) -> str:
    steps = [f"{step.id} ({', '.join(step.agents)})" for step in plan.steps]
    return f"{plan.mode}: {' → '.join(steps)}"


def _place(name: str, source: ComparedPassage | ComparedQuote, words: str) -> str:
    return f"{', '.join(filter(None, (name, show_pages(source.pages, source.printed_pages))))}: {words}"
