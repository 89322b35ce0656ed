"""Prints the comparison of two runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from rich.console import Console
from rich.text import Text

from api.cli.render.replay import difference_lines
from api.cli.render.text import excerpt, show_paragraph, show_table
from api.services.research.compare import (
    ComparedClaim,
    ComparedPassage,
    ComparedQuote,
    ComparedRun,
    Items,
    RunComparison,
)
from api.services.research.event_text import duration
from multi_agent.prompts.show_passages import show_pages
from multi_agent.values.plan import Plan

T = TypeVar("T")


def show_comparison(console: Console, compared: RunComparison) -> None:
    """Print both runs, their first difference, and the items that only one of them has."""
    runs = (compared.first, compared.second)
    show_table(console, ("run", "status", "model", "calls", "tokens", "cost", "time"), [_row(each) for each in runs])
    console.print()
    if compared.difference is None:
        _title(console, "All events are the same.")
    else:
        for title, detail in difference_lines(compared.difference, "The runs differ first in"):
            _title(console, title)
            if detail:
                show_paragraph(console, detail)
    _show_plans(console, compared)
    _show_items(console, "Queries", compared.queries, str)
    _show_items(console, "Passages", compared.passages, lambda each: _place(each.name, each, each.excerpt))
    _show_items(console, "Evidence", compared.evidence, lambda each: _place(each.document, each, each.quote))
    _show_claims(console, compared.claims)


def _show_plans(console: Console, compared: RunComparison) -> None:
    before, after = ([_plan(each) for each in run.plans] for run in (compared.first, compared.second))
    if compared.same_plan:
        _title(console, "Plan: the same")
    elif before == after:
        _title(console, "Plan: the same steps, with other instructions or inputs")
    else:
        _title(console, "Plan")
        _show(console, "-", before)
        _show(console, "+", after)


def _row(compared: ComparedRun) -> tuple[str, ...]:
    run, usage = compared.run, compared.usage
    tokens = f"{usage.prompt_tokens + usage.completion_tokens:,}"
    cost = "" if usage.cost is None else f"{usage.cost:.4f}"
    return run.run_id, run.status, run.model, str(usage.model_calls), tokens, cost, duration(usage.seconds)


def _show_items(console: Console, name: str, items: Items[T], text: Callable[[T], str]) -> None:
    _title(console, f"{name}: {len(items.both)} in both, {len(items.lost)} lost, {len(items.won)} won")
    _show(console, "-", map(text, items.lost))
    _show(console, "+", map(text, items.won))


def _show_claims(console: Console, claims: tuple[ComparedClaim, ...]) -> None:
    same = sum(each.same_text for each in claims)
    _title(console, f"Claims: {same} of {len(claims)} the same")
    for each in claims:
        if not each.same_text:
            _show(console, "-", [each.first] if each.first else [])
            _show(console, "+", [each.second] if each.second else [])


def _show(console: Console, mark: str, lines: Iterable[str]) -> None:
    for line in lines:
        show_paragraph(console, f"{mark} {excerpt(line)}")


def _title(console: Console, text: str) -> None:
    console.print(Text(text, style="bold"), soft_wrap=True)


def _plan(plan: Plan) -> str:
    steps = [f"{step.id} ({', '.join(step.agents)})" for step in plan.steps]
    return f"{plan.mode}: {' → '.join(steps)}"


def _place(name: str, source: ComparedPassage | ComparedQuote, words: str) -> str:
    return f"{', '.join(filter(None, (name, show_pages(source.pages, source.printed_pages))))}: {words}"
