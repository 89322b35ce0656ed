"""Describes the events of a run in words, for the command line, the page and clients that wait for an answer."""

import json
import re
import textwrap
from collections.abc import Callable
from typing import Any

from base.counts import count
from multi_agent.library import within
from multi_agent.model import Usage
from multi_agent.prompts.show_passages import show_pages
from multi_agent.values import events, evidence_events
from multi_agent.values.answer import Vote
from multi_agent.values.events import Event
from multi_agent.values.plan import Plan

_PASSAGE_LENGTH = 90  # characters of a passage in a list of passages
_NOT_STARTED = ("ReferenceFailed", "NothingFound")


def describe(event: Event) -> list[str]:
    """Return the lines of an event: what happened, then its details."""
    return list(filter(None, _EVENT_LINES[type(event.body)](event.body)))


def progress(event: Event) -> str:
    """Return the line of an event for clients that wait for the answer. Most events have none: an empty string."""
    match event.body:
        case events.QuestionCompleted(asked=asked, question=question) if asked != question:
            return f"Question: {question}"
        case events.PlanMade(plan=plan):
            return f"Plan ({plan.mode}): {_agents(plan)}"
        case events.PlanRevised(plan=plan, diagnosis=diagnosis):
            return f"Revised plan: {_agents(plan)}. {diagnosis}"
        case events.StepStarted() as body:
            return f"{body.agent}{_reaction(body)} …"
        case evidence_events.ItemRead():
            return describe(event)[0]
        case events.ReasoningShared(agent=agent, reasoning=reasoning):
            return f"{agent}: {' '.join(reasoning.split())}"
        case evidence_events.ClaimDrafted(claim=claim):
            return f"{f'{claim.remark.capitalize()} claim' if claim.remark else 'Claim'}: {claim.text}"
        case evidence_events.DraftWithdrawn():
            return " ".join(describe(event))
        case _:
            return ""


def _reaction(body: events.StepStarted) -> str:
    """Describe the event that started the step; return an empty string for a step of the plan."""
    woken_by = body.woken_by
    return f" reacts to {woken_by.agent} ({woken_by.event.replace('_', ' ')})" if woken_by else ""


def _agents(plan: Plan) -> str:
    return " → ".join(", ".join(step.agents) for step in plan.steps)


def _plan_made(body: events.PlanMade) -> list[str]:
    return [
        f"plan ({body.plan.mode}): {body.plan.goal}",
        *([f"intent: {body.understanding.intent}"] if body.understanding.intent != body.plan.goal else []),
        *([f"domain: {body.understanding.domain}"] if body.understanding.domain else []),
        *([f"mode: {body.mode_reason}"] if body.mode_reason else []),
        *_steps(body.plan),
    ]


def _steps(plan: Plan) -> list[str]:
    return [
        f"{step.id} → {', '.join(step.agents)}"
        + (f" after {', '.join(step.after)}" if step.after else "")
        + (f": {step.instruction}" if step.instruction else "")
        + (f" {json.dumps(step.settings, ensure_ascii=False)}" if step.settings else "")
        for step in plan.steps
    ]


def _attempt_ended(body: events.AttemptEnded) -> list[str]:
    attempt = body.attempt
    failed = [
        f"{each.step} {'not started' if each.error_type in _NOT_STARTED else 'failed'}: {_first_sentence(each.error)}"
        for each in attempt.failed
    ]
    missing = [f"missing: {item}" for item in attempt.missing]
    outcome = "incomplete" if failed or missing else "complete"
    return [f"attempt {attempt.number} finished: {outcome}", *failed, *missing]


def _model_asked(body: events.ModelAsked) -> list[str]:
    expected = "" if body.expected_seconds is None else f", about {duration(body.expected_seconds)} expected"
    return [f"{body.caller} asks {body.model}: about {count(body.prompt_tokens, 'prompt token')}{expected}"]


def _searched(body: evidence_events.Searched) -> list[str]:
    found = f"{count(body.chunks_found, 'passage')} in {count(body.documents_found, 'document')}"
    title = within(f"{body.method}: {found}", body.documents)
    return [title, "; ".join(body.queries), *map(passage_line, body.passages)]


def passage_line(passage: evidence_events.FoundPassage) -> str:
    """Return the document, the pages and the first words of a passage that a search found."""
    place = ", ".join(filter(None, (passage.name, show_pages(passage.pages, passage.printed_pages))))
    return f"{place}: {textwrap.shorten(passage.excerpt, _PASSAGE_LENGTH, placeholder=' …')}"


def _item_read(body: evidence_events.ItemRead) -> list[str]:
    found = "; ".join(f"{name} = {value}" for name, value in body.found.items())
    outcome = found or ("failed" if body.failed else "no answer")
    return [f"{body.number}/{body.of} {body.item}: {outcome}", body.reason]


def _call(body: events.ModelCalled) -> str:
    usage = body.usage
    cached = f" ({usage.cached_tokens} from cache)" if usage.cached_tokens else ""
    tokens = f"{usage.prompt_tokens}{cached} + {count(usage.completion_tokens, 'token')}"
    times = ["from the journal"] if body.replayed else [f"{usage.seconds:.1f} s", speed(usage)]
    return ", ".join(filter(None, (f"{body.caller} called {body.model}: {tokens}", *times)))


def _claim_drafted(body: evidence_events.ClaimDrafted) -> list[str]:
    marks = [f"[{number}]" for number in body.claim.evidence] + [f"[C{number}]" for number in body.claim.computations]
    remark = [f"({body.claim.remark})"] if body.claim.remark else []
    dropped = [f"sentence not found: {number}" for number in body.dropped]
    return [" ".join(["·", body.claim.text, *marks, *remark]), *dropped]


def _verdict(body: evidence_events.ClaimChecked) -> str:
    if body.method == "picture":
        return "claim not verified"
    return f"claim {'confirmed' if body.supported else 'rejected'} by a {body.method}"


def vote_lines(body: Vote) -> list[str]:
    """Return the result of a vote, then the groups of equal answers with their voters."""
    groups = [f"{group.weight:g}: {group.answer} ({', '.join(group.voters)})" for group in body.groups]
    tie = [f"tie broken by {body.tie}"] if body.tie else []
    return [f"{body.method} vote: {body.share:.0%} for {body.groups[0].answer}", *groups, *tie]


def _step_started(body: events.StepStarted) -> list[str]:
    inputs = {name: value for name, value in body.inputs.items() if value not in ("", [], None, body.instruction)}
    return [
        f"{body.agent}{_reaction(body) or ' started'}{f' ({body.task})' if body.task else ''}",
        body.instruction,
        *([f"inputs: {format_arguments(inputs)}"] if inputs else []),
        *([f"tools: {', '.join(body.tools)}"] if body.tools else []),
        *(f"heard: {each.sender} ({each.step}): {each.content}" for each in body.heard),
    ]


def _step_finished(body: events.StepFinished) -> list[str]:
    wrote = ", ".join(
        f"{name} ({len(value)})" if isinstance(value, list) else name for name, value in sorted(body.wrote.items())
    )
    return [f"{body.agent} wrote {wrote or 'nothing'} in {body.seconds:.1f} s"]


def _tool_returned(body: events.ToolReturned) -> list[str]:
    origin = " (from the journal)" if body.replayed else ""
    outcome = "returned"
    if body.error:
        outcome = f"failed: {body.error}"
    elif body.passages:
        outcome = f"returned {count(body.passages, 'passage')}"
    return [f"{body.tool} {outcome} in {body.seconds:.1f} s{origin}", body.result]


def _approval_decided(body: events.ApprovalDecided) -> list[str]:
    by = f" by {body.by}" if body.by else ""
    return [
        f"{body.decision.replace('_', ' ')}{by}",
        *([format_arguments(body.arguments)] if body.decision == "edited" else []),
    ]


_EVENT_LINES: dict[type, Callable[[Any], list[str]]] = {
    events.RunStarted: lambda body: [
        f"question to {body.collection!r}, model {body.model}, mode {body.request.mode}", body.request.question,
        *([f"reads only documents with {body.request.filter}"] if body.request.filter else []),
        *([f"forked from {fork.run_id} at {fork.step}: {fork.summary}"] if (fork := body.request.fork) else []),
    ],
    events.RunResumed: lambda body: [
        f"run resumed in another process (time {body.times}); the journal has {count(body.answered, 'model call')}"
    ],
    events.QuestionCompleted: lambda body: [
        f"question {'not ' if body.unresolved else ''}completed from the conversation",
        body.asked,
        body.question,
        f"added: {', '.join(body.added)}" if body.added else "",
    ],
    events.AttemptEnded: _attempt_ended,
    events.PlanRevised: lambda body: [f"revised plan: {body.plan.goal}", body.diagnosis, *_steps(body.plan)],
    events.RevisionDeclined: lambda body: ["no further plan", body.reason],
    events.StepRetried: lambda body: [f"{body.agent} retries", body.error],
    events.PlanMade: _plan_made,
    events.PromptShortened: lambda body: [f"prompt of {body.caller} shortened", *body.left_out],
    events.PlanRejected: lambda body: ["plan rejected", *body.faults],
    events.StepStarted: _step_started,
    events.StepSkipped: lambda body: [f"{body.agent} skipped", body.reason],
    events.StepFinished: _step_finished,
    events.StepFailed: lambda body: [f"{body.agent} failed", body.error],
    events.ReasoningShared: lambda body: [f"{body.agent} explains", body.reasoning],
    events.ModelAsked: _model_asked,
    events.ModelCalled: lambda body: [_call(body), *(f"rejected: {fault}" for fault in body.faults)],
    events.ModelFailed: lambda body: [f"model call of {body.caller} failed", body.error],
    events.ResponseRepaired: lambda body: [f"response to {body.caller} repaired", *body.repairs],
    evidence_events.Searched: _searched,
    evidence_events.ItemRead: _item_read,
    evidence_events.MissingReported: lambda body: [f"{body.agent} reports as missing", *body.missing],
    evidence_events.ContradictionFound: lambda body: ["possible contradiction", " / ".join(body.sides)],
    evidence_events.EvidenceRejected: lambda body: [
        f"quote {'dropped' if body.final else 'rejected'}{f' ({body.passage})' if body.passage else ''}",
        body.quote,
        body.reason,
    ],
    evidence_events.ClaimDrafted: _claim_drafted,
    evidence_events.ClaimChecked: lambda body: [_verdict(body), body.claim, body.reason],
    evidence_events.DraftWithdrawn: lambda body: [
        f"{body.agent} restarts its answer; {count(body.claims, 'claim')} withdrawn"
    ],
    events.ToolCalled: lambda body: [f"{body.agent} called {body.tool} {format_arguments(body.arguments)}", body.why],
    events.ToolReturned: _tool_returned,
    events.ApprovalRequested: lambda body: [
        f"{body.agent} waits for approval to call {body.tool} {format_arguments(body.arguments)}",
        f"{body.reason} (candor approvals approve {body.approval_id})",
    ],
    events.ApprovalDecided: _approval_decided,
    events.Voted: vote_lines,
    events.QueryRan: lambda body: [
        f"computed {body.purpose}: {'refused' if body.error else count(body.rows, 'row')} in {body.seconds:.2f} s",
        body.sql,
        body.error,
    ],
    events.RunFinished: lambda body: [f"run finished: {body.status}", body.reason],
}  # fmt: skip


def _first_sentence(text: str) -> str:
    """Return the first sentence of a message, which states the problem. The rest explains how to solve it."""
    return re.split(r"(?<=[.!?])\s+(?=[A-Z0-9`(])", text, maxsplit=1)[0]


def duration(seconds: float) -> str:
    """Return a duration for people: '8 s' or '2:05 min'."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60}:{whole % 60:02} min"


def speed(usage: Usage) -> str:
    """Return completion tokens per second, including the time to read the prompt. '' for calls that took no time."""
    return f"{usage.completion_tokens / usage.seconds:.1f} tokens/s" if usage.seconds else ""


def format_arguments(arguments: dict[str, Any]) -> str:
    """Return the arguments of a tool call as JSON."""
    return json.dumps(arguments, ensure_ascii=False)
