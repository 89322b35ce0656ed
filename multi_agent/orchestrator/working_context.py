"""The current working context of a run: what its attempts have found and where they failed, for planning the next one.

Values only. It is made from the shared context and the outcome of every attempt, and shown to the planner for a
revision, and to whoever explains a run that failed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from textwrap import shorten

from multi_agent.context import ResearchContext, Synthesis
from multi_agent.plan import Plan
from multi_agent.prompts.show_passages import bullets
from vectorstore.models import FrozenModel

_QUOTE = 300  # characters of a quote: a sentence in full, not the whole of a wide table's row
_SHOWN = 20  # findings: enough to see what is known, short enough for a small model


class FailedStep(FrozenModel):
    """A step that did not come to its end."""

    step: str
    agents: tuple[str, ...]
    error_type: str
    error: str


class Attempt(FrozenModel):
    """One plan that was run, and what became of it."""

    number: int
    plan: Plan
    failed: tuple[FailedStep, ...] = ()
    missing: tuple[str, ...] = ()
    verdict: str = ""
    """Why the answer did not suffice, in the words of whoever judged it."""


class WorkingContext(FrozenModel):
    """What is known so far."""

    key_findings: tuple[str, ...]
    errors: tuple[str, ...]
    queries: tuple[str, ...]
    read: tuple[str, ...]
    """How much of which documents."""
    attempts: tuple[Attempt, ...]

    def in_words(self) -> str:
        """For a prompt."""
        return (
            "\n\n".join(_show(attempt) for attempt in self.attempts)
            + f"\n\nSearched for so far:\n{bullets(self.queries)}"
            + f"\n\nRead so far:\n{bullets(self.read)}"
            + f"\n\nKey findings so far:\n{bullets(self.key_findings)}"
        )


def working_context(context: ResearchContext | None, attempts: Sequence[Attempt]) -> WorkingContext:
    """Read from the shared context, which is None as long as there is none."""
    return WorkingContext(
        key_findings=_key_findings(context) if context else (),
        errors=tuple(f"{failed.step}: {failed.error}" for attempt in attempts for failed in attempt.failed),
        queries=context.looked_for if context else (),
        read=_read(context) if context else (),
        attempts=tuple(attempts),
    )


def unmet(synthesis: Synthesis | None) -> tuple[str, ...]:
    """What the answer lacks, by its writer's own account; empty if nothing, or if there is no answer."""
    if synthesis is None or synthesis.sufficient:
        return ()
    return synthesis.missing or ("the answer",)


def _key_findings(context: ResearchContext) -> tuple[str, ...]:
    answers = [f"{each.question} → {_in_short(each.synthesis)}" for each in context.findings]
    results = [f"{each.purpose}: {each.rows[0] if each.rows else 'nothing'}" for each in context.computations]
    quotes = [f"{item.name}: “{shorten(item.quote, _QUOTE, placeholder=' …')}” {item.why}" for item in context.evidence]
    found = [*answers, *results, *quotes]
    rest = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return (*found[:_SHOWN], *rest)


def _read(context: ResearchContext) -> tuple[str, ...]:
    passages = Counter(chunk.name for chunk in context.chunks)
    return tuple(
        f"{name}: " + ("all passages" if name in context.scanned else f"{number} of its passages, found by search")
        for name, number in sorted(passages.items())
    )


def _in_short(synthesis: Synthesis) -> str:
    if not synthesis.sufficient:
        return f"not found: {synthesis.found}"
    return synthesis.short or synthesis.text


def _show(attempt: Attempt) -> str:
    steps = "\n".join(
        f"- {step.id} ({', '.join(step.agents)}): {step.instruction}"
        + (f" {json.dumps(step.inputs, ensure_ascii=False)}" if step.inputs else "")
        for step in attempt.plan.steps
    )
    failures = [f"Step {each.step!r} ({', '.join(each.agents)}) failed: {each.error}" for each in attempt.failed]
    lacks = [f"Missing: {item}" for item in attempt.missing]
    verdict = [f"Judged: {attempt.verdict}"] if attempt.verdict else []
    return f"Attempt {attempt.number}:\n{steps}\n" + "\n".join([*failures, *lacks, *verdict])
