"""Prints answers with their evidence."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.console import Console
from rich.text import Text

from api.cli.render.text import INDENT, show_list, show_paragraph, show_table
from api.services.exports.export import OTHER_VALUES, basis_of, checks_of, contradictions_of, gaps_heading
from api.services.research.event_text import vote_lines
from api.services.research.execution_summary import describe_place, execution_facts
from api.services.research.kept_text import KeptText
from base.counts import count
from multi_agent.prompts.show_passages import show_pages
from multi_agent.values.answer import Answer, Computed, Quote, Status
from multi_agent.values.context import PictureSource
from multi_agent.values.sources import describe_origin
from vectorstore.models import GivenPassage, WebPage

MAX_ROWS = 20
_AROUND = 1500  # characters shown before and after a quote
_MOVED = "The text of the source has changed since the answer; the quote is now at another place."
_STATUS_STYLE = {Status.ANSWERED: "bold green", Status.FAILED: "bold red", Status.CANCELLED: "bold red"}


def show_answer(console: Console, answer: Answer, home: Path | None = None) -> None:
    """Print the answer, its evidence and a summary of the run. ``home`` is the value of ``--home``."""
    console.print(Text(answer.outcome, style=_STATUS_STYLE.get(answer.status, "bold yellow")), end="")
    console.print(
        Text(basis_of(answer), style="yellow" if answer.imported or answer.basis.startswith("Weak") else "dim")
    )
    if answer.completed_question not in ("", answer.question):
        added = f" (added: {', '.join(answer.added)})" if answer.added else ""
        show_paragraph(console, f"Question: {answer.completed_question}{added}")
    if answer.nearest:
        show_paragraph(console, f"Closest: {answer.nearest.answer}")
    if answer.clarification:
        show_paragraph(console, answer.clarification.question)
    show_paragraph(console, answer.answer or answer.reasoning)
    show_sources(console, answer)
    if answer.on_the_way:
        lines = [
            f"{each.question} → {'' if each.sufficient else 'not found: '}{each.answer}" for each in answer.on_the_way
        ]
        show_list(console, "Intermediate questions", lines)
    if answer.status.value == "insufficient" or not answer.claims:
        show_list(console, "Looked for", answer.looked_for)
        show_list(console, "Found", [answer.found] if answer.found else [])
    show_list(console, "Parts", [str(each) for each in answer.parts])
    show_list(console, gaps_heading(answer), answer.missing)
    for vote in answer.votes:
        show_list(console, "Vote", vote_lines(vote))
    show_list(console, OTHER_VALUES, contradictions_of(answer))
    show_list(console, "Checks of the claims", checks_of(answer))
    if answer.answer and not answer.clarification:
        show_list(console, "Reasoning", answer.reasoning.splitlines())
    option = f" --home {shlex.quote(str(home))}" if home else ""
    facts = [f"{subject}: {fact}" for subject, fact in execution_facts(answer).items()]
    footer = "\n".join(["", *facts, f"All steps: candor trace {answer.run_id}{option}"])
    console.print(Text(footer, style="dim"), soft_wrap=True)


def show_sources(console: Console, answer: Answer) -> None:
    """Print the quotes that the answer cites, and its computations."""
    for quote in answer.cited:
        console.print(Text(f"\n[{quote.number}] {_source(quote)}", style="bold"), soft_wrap=True)
        words = " ".join(quote.quote.split())
        show_paragraph(console, f"{_from_picture(quote.picture)}: {words}" if quote.picture else f"“{words}”")
    for computed in answer.computations:
        _show_computed(console, computed)


def _show_computed(console: Console, computed: Computed) -> None:
    """Print the query, its result as a table, and its sources."""
    console.print(Text(f"\n[C{computed.number}] {computed.purpose}", style="bold"), soft_wrap=True)
    show_paragraph(console, computed.sql)
    show_table(console, [f"{INDENT}{computed.columns[0]}", *computed.columns[1:]], [
        (f"{INDENT}{_cell(row[0])}", *map(_cell, row[1:])) for row in computed.rows[:MAX_ROWS]
    ])  # fmt: skip
    if (rest := len(computed.rows) - MAX_ROWS) > 0 or computed.truncated:
        more = count(max(rest, 0), "more row")
        show_paragraph(console, f"… and {more}" + (" (truncated)" if computed.truncated else ""))
    names = ", ".join(sorted({quote.name for quote in computed.evidence}))
    quotes = f"{count(len(computed.evidence), 'quote')} in {names}"
    show_paragraph(console, f"from {computed.source or quotes}")
    for flaw in computed.flaws:
        show_paragraph(console, f"! {flaw}")


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def _source(quote: Quote) -> str:
    from_outside = quote.origin and not isinstance(quote.origin, GivenPassage)
    place = capitalized(describe_place(quote)) if from_outside else describe_place(quote)
    return f"{place}, {quote.dated}" if quote.dated else place


def _from_picture(picture: PictureSource) -> str:
    """Return the source of a picture reading, with its region in percent of the page."""
    if not picture.region:
        return str(picture).capitalize()
    left, top, right, bottom = (round(100 * share) for share in picture.region)
    return f"{str(picture).capitalize()} ({left}-{right} % from the left, {top}-{bottom} % from the top)"


def show_kept(console: Console, kept: KeptText) -> None:
    """Print the source of the evidence, the text around it with the quote highlighted, and a link to the source."""
    source = capitalized(describe_origin(kept.origin)) if kept.origin else kept.name
    where = ", ".join(part for part in (source, show_pages(kept.pages, kept.printed_pages)) if part)
    console.print(Text(f"[{kept.number}] {where}", style="bold"), soft_wrap=True)
    if kept.moved:
        console.print(Text(_MOVED, style="dim"), soft_wrap=True)
    start, end = max(0, kept.start - _AROUND), min(len(kept.text), kept.end + _AROUND)
    shown = Text("… " if start else "")
    shown.append(kept.text[start : kept.start]).append(kept.text[kept.start : kept.end], style="bold reverse")
    console.print(shown.append(kept.text[kept.end : end]).append(" …" if end < len(kept.text) else ""))
    if link := _link(kept):
        console.print(Text(f"\nOpen: {link}", style="dim"), soft_wrap=True)


def _link(kept: KeptText) -> str:
    """Return the address that the source came from, or the URL of the file and its page. Empty if there is none."""
    if isinstance(kept.origin, WebPage):
        return kept.origin.url
    if kept.url:
        return kept.url
    if not kept.path or not Path(kept.path).is_file():
        return ""
    return Path(kept.path).as_uri() + (f"#page={kept.pages[0]}" if kept.pages else "")


def capitalized(text: str) -> str:
    """Return the text with a capital first letter. The other letters stay as they are."""
    return text[:1].upper() + text[1:]
