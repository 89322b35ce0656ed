"""Prints answers with their evidence."""

import shlex
from pathlib import Path

from rich.console import Console
from rich.text import Text

from api.cli.render.text import INDENT, excerpt, show_line, show_list, show_paragraph, show_table
from api.services.exports.export import OTHER_VALUES, Report, basis_of
from api.services.research.kept_text import KeptText
from base.counts import count
from multi_agent.prompts.show_passages import show_pages
from multi_agent.values.answer import Answer, Status
from multi_agent.values.sources import describe_origin
from multi_agent.values.versions import left_out
from vectorstore.models import WebPage

MAX_ROWS = 20
_IN_OUTCOME = ("In short", "Closest", "Asked back")
_IN_SHORT = ("Parts", "Looked for", "Missing", "Left open", OTHER_VALUES)
_AROUND = 1500  # characters shown before and after a quote
_MOVED = "The text of the source has changed since the answer; the quote is now at another place."
_STATUS_STYLE = {Status.ANSWERED: "bold green", Status.FAILED: "bold red", Status.CANCELLED: "bold red"}


def show_answer(console: Console, answer: Answer, home: Path | None = None, *, full: bool = True) -> None:
    """Print the answer and what it rests on, with all its evidence, or a line for each source.

    ``home`` is the value of ``--home``.
    """
    report = Report.of(None, answer)
    _show_outcome(console, answer)
    option = f" --home {shlex.quote(str(home))}" if home else ""
    footer = f"All steps: candor trace {answer.run_id}{option}"
    if full:
        show_sources(console, report)
        for part in report.parts:
            if part.heading not in _IN_OUTCOME:
                show_list(console, part.heading, part.lines)
        footer = "\n".join(["", *(f"{name}: {value}" for name, value in report.facts), footer])
    else:
        for source in report.sources:
            head, quote = f"[{source.mark}] {source.where}:", excerpt(source.shown)
            if console.is_terminal and len(head) > console.width // 2:  # the line would be cut before the quote
                _show_line(console, head)
                _show_line(console, f"{INDENT}{quote}")
            else:
                _show_line(console, f"{head} {quote}")
        for each in report.calculations:
            told = (part if part.endswith((".", "?", "!", "…")) else f"{part}." for part in (each.purpose, *each.notes))
            _show_line(console, f"[{each.mark}] {' '.join(told)}")
        for part in report.parts:
            if part.heading in _IN_SHORT:
                show_line(console, f"{part.heading}: {'; '.join(part.lines)}")
        if answer.searched and answer.searched.older:
            show_paragraph(console, left_out(answer.searched.older))
        if report.sources:
            footer = f"A quote on its page: candor show {answer.run_id} 1{option} · {footer}"
    show_line(console, footer, "dim")


def _show_outcome(console: Console, answer: Answer) -> None:
    """Print the status, what the answer rests on, and the answer or the reason why there is none."""
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


def _show_line(console: Console, text: str) -> None:
    """Print a line, which a terminal cuts at its width."""
    cut = console.is_terminal
    console.print(Text(text), no_wrap=True, overflow="ellipsis" if cut else "ignore", soft_wrap=not cut)


def show_sources(console: Console, report: Report) -> None:
    """Print the quotes that the answer cites, and its computations."""
    for source in report.sources:
        show_line(console, f"\n[{source.mark}] {source.where}", "bold")
        show_paragraph(console, source.shown)
    for each in report.calculations:
        show_line(console, f"\n[{each.mark}] {each.purpose}", "bold")
        show_paragraph(console, each.sql)
        show_table(console, [f"{INDENT}{each.columns[0]}", *each.columns[1:]], [
            (f"{INDENT}{row[0]}", *row[1:]) for row in each.rows[:MAX_ROWS]
        ])  # fmt: skip
        more = [f"… and {count(len(each.rows) - MAX_ROWS, 'more row')}"] if len(each.rows) > MAX_ROWS else []
        for note in (*more, *each.notes):
            show_paragraph(console, note)


def show_kept(console: Console, kept: KeptText) -> None:
    """Print the source of the evidence, the text around it, and a link. In a pipe, the quote is between >>> and <<<."""
    origin = describe_origin(kept.origin) if kept.origin else ""
    source = origin[:1].upper() + origin[1:] or kept.name
    where = ", ".join(part for part in (source, show_pages(kept.pages, kept.printed_pages)) if part)
    show_line(console, f"[{kept.number}] {where}", "bold")
    if kept.moved:
        show_line(console, _MOVED, "dim")
    start, end = max(0, kept.start - _AROUND), min(len(kept.text), kept.end + _AROUND)
    shown = Text("… " if start else "")
    quote = kept.text[kept.start : kept.end]
    marked = quote if console.is_terminal and not console.no_color else f">>>{quote}<<<"
    shown.append(kept.text[start : kept.start]).append(marked, style="bold reverse")
    console.print(shown.append(kept.text[kept.end : end]).append(" …" if end < len(kept.text) else ""))
    if link := _link(kept):
        show_line(console, f"\nOpen: {link}", "dim")


def _link(kept: KeptText) -> str:
    """Return the address that the source came from, or the URL of the file and its page. Empty if there is none."""
    if isinstance(kept.origin, WebPage):
        return kept.origin.url
    if kept.url:
        return kept.url
    if not kept.path or not Path(kept.path).is_file():
        return ""
    return Path(kept.path).as_uri() + (f"#page={kept.pages[0]}" if kept.pages else "")
