"""What people see in a terminal. Text of documents and models is printed as it is, never as markup."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from api.services.doctor import Diagnosis, flatten
from api.services.exports.export import gaps_heading
from ingest.ledger.records import DocumentRecord
from multi_agent import events
from multi_agent.answer import Answer, Computed, Quote
from multi_agent.events import Event
from multi_agent.library import within
from multi_agent.llm.journal import JournalEntry
from multi_agent.plan import Plan
from multi_agent.prompts.show_passages import show_pages, whereabouts
from multi_agent.storage.tool_calls import ToolEntry
from vectorstore.models import Hit

INDENT = "    "
HIT_LENGTH = 300
ROWS = 20


def show_answer(console: Console, answer: Answer, home: Path | None = None) -> None:
    """The answer, its evidence, what was read for it, and where to see more; ``home`` is what ``--home`` named."""
    console.print(Text(f"{answer.status.value.capitalize()}", style=_STATUS_STYLE[answer.status.value]), end="")
    console.print(Text(f" · confidence {answer.confidence:.2f}" if answer.answer else "", style="dim"))
    _paragraph(console, answer.answer or answer.reasoning)
    for quote in answer.cited:
        console.print(Text(f"\n[{quote.number}] {_where(quote)}", style="bold"), soft_wrap=True)
        _paragraph(console, f"“{' '.join(quote.quote.split())}”")
    for computed in answer.computations:
        _show_computed(console, computed)
    if answer.on_the_way:
        lines = [
            f"{each.question} → {'' if each.sufficient else 'not found: '}{each.answer}" for each in answer.on_the_way
        ]
        _list(console, "On the way", lines)
    if answer.status.value == "insufficient":
        _list(console, "Looked for", answer.looked_for)
        _list(console, "Found", [answer.found])
    _list(console, gaps_heading(answer), answer.missing)
    if answer.answer:
        _list(console, "Why", [answer.reasoning])
    where = f" --home {shlex.quote(str(home))}" if home else ""
    console.print(
        Text(f"\n{_account(answer)}\nAll steps: candor trace {answer.run_id}{where}", style="dim"), soft_wrap=True
    )


def _show_computed(console: Console, computed: Computed) -> None:
    """The query, its result as a table, and the quotes that went into it."""
    console.print(Text(f"\n[C{computed.number}] {computed.purpose}", style="bold"), soft_wrap=True)
    _paragraph(console, computed.sql)
    show_table(console, [f"{INDENT}{computed.columns[0]}", *computed.columns[1:]], [
        (f"{INDENT}{_cell(row[0])}", *map(_cell, row[1:])) for row in computed.rows[:ROWS]
    ])  # fmt: skip
    if (rest := len(computed.rows) - ROWS) > 0 or computed.truncated:
        _paragraph(console, f"… and {max(rest, 0)} more rows" + (", cut off" if computed.truncated else ""))
    made_from = ", ".join(sorted({Path(quote.document).name for quote in computed.evidence}))
    _paragraph(console, f"from {len(computed.evidence)} quotes of {made_from}")
    for flaw in computed.flaws:
        _paragraph(console, f"! {flaw}")


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def _where(quote: Quote) -> str:
    return ", ".join(part for part in (quote.document, show_pages(quote.pages)) if part)


def _account(answer: Answer) -> str:
    read, usage = answer.coverage, answer.usage
    cost = f" · cost {usage.cost:.4f}" if usage.cost else ""
    return (
        f"Read {read.chunks_considered} of {read.chunks_total} passages in {read.documents_considered} of "
        f"{read.documents_total} documents · {usage.model_calls} model calls · "
        f"{usage.prompt_tokens + usage.completion_tokens:,} tokens · {usage.seconds:.1f} s{cost}"
    )


def _list(console: Console, heading: str, items: Sequence[str]) -> None:
    if items:
        console.print(Text(f"\n{heading}", style="bold"))
        for item in items:
            _paragraph(console, item)


def _paragraph(console: Console, text: str) -> None:
    width = max(20, console.width - 2 * len(INDENT))
    for line in text.splitlines():
        console.print(Text(textwrap.fill(line, width, initial_indent=INDENT, subsequent_indent=INDENT)), soft_wrap=True)


def show_event(console: Console, event: Event) -> None:
    """One event as a line or a few."""
    title, *details = _EVENT_TEXTS[type(event.body)](event.body)
    step = f"{event.step}: " if event.step else ""
    console.print(
        Text(f"{event.number:>4} {event.at:%H:%M:%S} ", style="dim") + Text(f"{step}{title}", style="bold"),
        soft_wrap=True,
    )
    for detail in details:
        _paragraph(console, detail)


def show_call(console: Console, entry: JournalEntry) -> None:
    """A model call in full: prompt, thinking, response, faults."""
    console.print(Text(f"\n═══ {entry.caller or 'call'} → {entry.response_model} ({entry.key[:12]})", style="bold"))
    for message in entry.messages:
        console.print(Text(f"─── {message.role}", style="bold"))
        console.print(Text(message.content), soft_wrap=True)
    for exchange in entry.exchanges:
        if exchange.thinking:
            console.print(Text("─── thinking", style="bold"))
            console.print(Text(exchange.thinking), soft_wrap=True)
        console.print(Text("─── response", style="bold"))
        console.print(Text(exchange.response), soft_wrap=True)
        if exchange.fault:
            console.print(Text(f"─── not accepted: {exchange.fault}", style="yellow"), soft_wrap=True)


def show_tool_call(console: Console, entry: ToolEntry) -> None:
    """A call of a tool in full: arguments, why, and what it gave."""
    console.print(Text(f"\n═══ {entry.agent} → {entry.tool} ({entry.key[:12]})", style="bold"))
    console.print(Text(f"{_arguments(entry.arguments)}\n{entry.why}"), soft_wrap=True)
    if entry.result:
        console.print(Text("─── result", style="bold"))
        console.print(Text(entry.result.text), soft_wrap=True)
        for chunk in entry.result.passages:
            console.print(Text(f"({whereabouts(chunk)})", style="dim"), soft_wrap=True)
    else:
        console.print(Text(f"─── {entry.error or 'not ended'}", style="yellow"), soft_wrap=True)


def show_table(console: Console, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Rows under their columns."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console.print(table)


def show_hits(console: Console, hits: Sequence[Hit]) -> None:
    """Found passages, best first."""
    for rank, hit in enumerate(hits, start=1):
        console.print(Text(f"{rank}. {whereabouts(hit.chunk)}", style="bold"), soft_wrap=True)
        _paragraph(console, textwrap.shorten(hit.chunk.reading_text, HIT_LENGTH, placeholder=" …"))
    if not hits:
        console.print("Nothing found.")


def show_documents(console: Console, documents: Sequence[DocumentRecord]) -> None:
    """A line per document, and why it failed."""
    rows = [(each.id[:8], each.state.value, each.pages or "", each.chunks, each.name) for each in documents]
    show_table(console, ("id", "state", "pages", "chunks", "document"), rows)
    for each in documents:
        if each.reason:
            console.print(Text(f"\n{each.name}: {each.state.value} while {each.stage.value}", style="bold"))
            _paragraph(console, each.reason)


def show_document(console: Console, document: DocumentRecord) -> None:
    """All that is known of a document."""
    for name, value in document.model_dump(mode="json").items():
        if value not in ("", {}, [], None):
            console.print(Text(f"{name:>12}  ", style="bold") + Text(str(value)), soft_wrap=True)


def show_diagnosis(console: Console, diagnosis: Diagnosis) -> None:
    """The settings in force, then the checks, each with what to do if it failed."""
    for name, value in flatten(diagnosis.settings):
        console.print(Text(f"{name} = ", style="dim") + Text(str(value)), soft_wrap=True)
    console.print()
    for check in diagnosis.checks:
        mark = Text("ok    ", style="green") if check.ok else Text("FAILED", style="bold red")
        console.print(mark + Text(f" {check.name}: {check.detail}", style=""), soft_wrap=True)
        if check.remedy:
            _paragraph(console, check.remedy)


def show_progress(console: Console, event: Event) -> None:
    """A line for what a person watches while waiting."""
    body = event.body
    if isinstance(body, events.StepStarted):
        console.print(Text(f"  {body.agent} …", style="dim"))
    elif isinstance(body, events.ReasoningShared):
        console.print(
            Text(f"  {body.agent}: {textwrap.shorten(body.reasoning, HIT_LENGTH, placeholder=' …')}", style="dim")
        )
    elif isinstance(body, events.PlanMade):
        agents = " → ".join(", ".join(step.agents) for step in body.plan.steps)
        console.print(Text(f"  Plan ({body.plan.mode}): {agents}", style="dim"))
    elif isinstance(body, events.PlanRevised):
        agents = " → ".join(", ".join(step.agents) for step in body.plan.steps)
        console.print(Text(f"  Revised plan: {agents}. {body.diagnosis}", style="dim"))
    elif isinstance(body, events.ClaimDrafted):
        console.print(Text(f"  {' '.join(_drafted(body))}", style="" if body.claim.supported else "yellow"))
    elif isinstance(body, events.PlanRejected | events.DraftWithdrawn | events.StepFailed | events.ModelFailed):
        console.print(Text("  " + " ".join(_EVENT_TEXTS[type(body)](body)), style="yellow"))


_STATUS_STYLE = {"answered": "bold green", "insufficient": "bold yellow", "failed": "bold red", "cancelled": "bold red"}


def _plan_lines(body: events.PlanMade) -> list[str]:
    return [
        f"plan ({body.plan.mode}): {body.plan.goal}",
        f"intent: {body.understanding.intent}",
        f"mode: {body.mode_reason}",
        *_steps(body.plan),
    ]


def _steps(plan: Plan) -> list[str]:
    return [
        f"{step.id} → {', '.join(step.agents)}"
        + (f" after {', '.join(step.after)}" if step.after else "")
        + f": {step.instruction}"
        + (f" {json.dumps(step.inputs, ensure_ascii=False)}" if step.inputs else "")
        for step in plan.steps
    ]


def _attempt_lines(body: events.AttemptEnded) -> list[str]:
    attempt = body.attempt
    failed = [f"failed: {each.step}: {each.error}" for each in attempt.failed]
    missing = [f"missing: {item}" for item in attempt.missing]
    outcome = "with something missing" if failed or missing else "with an answer"
    return [f"attempt {attempt.number} ended {outcome}", *failed, *missing]


def _called(body: events.ModelCalled) -> list[str]:
    tokens = f"{body.usage.prompt_tokens} + {body.usage.completion_tokens} tokens, {body.usage.seconds:.1f} s"
    origin = " (from the journal)" if body.replayed else ""
    return [f"{body.caller} asked {body.model}{origin}: {tokens}", *(f"not accepted: {fault}" for fault in body.faults)]


def _drafted(body: events.ClaimDrafted) -> list[str]:
    marks = [f"[{number}]" for number in body.claim.evidence] + [f"[C{number}]" for number in body.claim.computations]
    unsupported = [] if body.claim.supported else ["(unsupported)"]
    dropped = [f"dropped, as it does not stand in its passage: {quote}" for quote in body.dropped]
    return [" ".join(["·", body.claim.text, *marks, *unsupported]), *dropped]


def _vote_lines(body: events.Voted) -> list[str]:
    groups = [f"{group.weight:g}: {group.answer} ({', '.join(group.voters)})" for group in body.groups]
    tie = [f"tie broken by {body.tie}"] if body.tie else []
    return [f"{body.method} vote: {body.share:.0%} for {body.groups[0].answer}", *groups, *tie]


def _finished(body: events.StepFinished) -> list[str]:
    wrote = ", ".join(
        f"{name} ({len(value)})" if isinstance(value, list) else name for name, value in sorted(body.wrote.items())
    )
    return [f"{body.agent} wrote {wrote or 'nothing'} in {body.seconds:.1f} s"]


def _arguments(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _returned(body: events.ToolReturned) -> list[str]:
    origin = " (as it did before)" if body.replayed else ""
    gave = f"failed: {body.error}" if body.error else f"gave {body.passages} passages" if body.passages else "returned"
    return [f"{body.tool} {gave} in {body.seconds:.1f} s{origin}", *filter(None, (body.result,))]


def _decided(body: events.ApprovalDecided) -> list[str]:
    by = f" by {body.by}" if body.by else ""
    return [
        f"{body.decision.replace('_', ' ')}{by}",
        *([_arguments(body.arguments)] if body.decision == "edited" else []),
    ]


_EVENT_TEXTS: dict[type, Callable[[Any], list[str]]] = {
    events.RunStarted: lambda body: [
        f"question to {body.collection!r}, model {body.model}, mode {body.request.mode}", body.request.question
    ],
    events.RunResumed: lambda body: [
        f"the run goes on in another process (time {body.times}); its journal answers {body.answered} model calls"
    ],
    events.AttemptEnded: _attempt_lines,
    events.PlanRevised: lambda body: [f"revised plan: {body.plan.goal}", body.diagnosis, *_steps(body.plan)],
    events.RevisionDeclined: lambda body: ["no further plan", body.reason],
    events.StepRetried: lambda body: [f"{body.agent} tries again", body.error],
    events.PlanMade: _plan_lines,
    events.PlanRejected: lambda body: ["plan rejected", *body.faults],
    events.StepStarted: lambda body: [f"{body.agent} started", body.instruction],
    events.StepSkipped: lambda body: [f"{body.agent} skipped", body.reason],
    events.StepFinished: _finished,
    events.StepFailed: lambda body: [f"{body.agent} failed: {body.error_type}", body.error],
    events.ReasoningShared: lambda body: [f"{body.agent} says", body.reasoning],
    events.ModelCalled: _called,
    events.ModelFailed: lambda body: [f"{body.caller} got no answer: {body.error_type}", body.error],
    events.Searched: lambda body: [
        within(f"{body.method}: {body.chunks_found} passages of {body.documents_found} documents", body.documents),
        "; ".join(body.queries),
    ],
    events.EvidenceRejected: lambda body: [
        f"quote {'dropped' if body.final else 'rejected'} ({body.passage})", body.quote, body.reason
    ],
    events.ClaimDrafted: _drafted,
    events.DraftWithdrawn: lambda body: [f"{body.agent} writes its answer anew; claims withdrawn: {body.claims}"],
    events.ToolCalled: lambda body: [f"{body.agent} called {body.tool} {_arguments(body.arguments)}", body.why],
    events.ToolReturned: _returned,
    events.ApprovalRequested: lambda body: [
        f"{body.agent} waits for approval to call {body.tool} {_arguments(body.arguments)}",
        f"{body.reason} (candor approvals approve {body.approval_id})",
    ],
    events.ApprovalDecided: _decided,
    events.Voted: _vote_lines,
    events.Computed: lambda body: [
        f"computed {body.purpose}: {'refused' if body.error else f'{body.rows} rows'} in {body.seconds:.2f} s",
        *filter(None, (body.sql, body.error)),
    ],
    events.RunFinished: lambda body: [f"run ended: {body.status}", body.reason],
}  # fmt: skip
