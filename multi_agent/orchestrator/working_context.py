"""The working context of a run: what its attempts found and where they failed.

Built from the shared context and the attempts. Prompts show it when a plan is revised, and when the model explains why
a run failed or could not begin.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from base.text import shorten
from multi_agent.agent import StepOutput, texts_in
from multi_agent.errors import LLMError, PlanError
from multi_agent.model import LLM, Message
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.values.answer import in_short
from multi_agent.values.context import ResearchContext, Synthesis
from multi_agent.values.plan import Attempt, Reference, Step

_QUOTE_CHARACTERS = 300  # a full sentence, but not the whole row of a wide table
_VERDICT_CHARACTERS = 1500  # why claims were rejected; an answer can have twenty
_FINDINGS_SHOWN = 20  # enough to see what is known, short enough for a small model


@dataclass(frozen=True)
class WorkingContext:
    """What is known so far, as text for a prompt."""

    text: str
    finished: tuple[Step, ...]
    """Steps to whose outputs a new plan can refer."""


def working_context(
    context: ResearchContext, attempts: Sequence[Attempt], read: str, finished: Sequence[tuple[Step, StepOutput]]
) -> WorkingContext:
    """Build the working context. ``read`` says how much of each document was read."""
    shown = [(step, line) for step, output in finished if (line := _show_output(step, output))]
    text = (
        "\n\n".join(_show(attempt) for attempt in attempts)
        + f"\n\nSearched for so far:\n{bullets(context.looked_for or ('nothing',))}"
        + f"\n\nRead so far:\n{read}"
        + f"\n\nKey findings so far:\n{bullets(key_findings(context) or ('none',))}"
        + (f"\n\nFinished steps and their outputs:\n{bullets([line for _, line in shown])}" if shown else "")
    )
    return WorkingContext(text, tuple(step for step, _ in shown))


def missing_parts(synthesis: Synthesis | None) -> tuple[str, ...]:
    """Return what the answer lacks according to its writer; empty if it suffices or there is none."""
    return synthesis.missing if synthesis and not synthesis.sufficient else ()


def key_findings(context: ResearchContext) -> tuple[str, ...]:
    """Return answers to intermediate questions, computed results and quotes, up to the number that a prompt shows."""
    answers = [f"{each.question} → {in_short(each.synthesis)}" for each in context.findings]
    results = [f"{each.purpose}: {each.rows[0] if each.rows else 'nothing'}" for each in context.computations]
    quotes = [f"{item.name}: “{shorten(item.quote, _QUOTE_CHARACTERS)}” {item.why}" for item in context.evidence]
    found = [*answers, *results, *quotes]
    rest = [f"and {len(found) - _FINDINGS_SHOWN} more"] if len(found) > _FINDINGS_SHOWN else []
    return (*found[:_FINDINGS_SHOWN], *rest)


def _show_output(step: Step, output: StepOutput) -> str:
    """Return references to the texts of the output, each with its text; empty if it gave none."""
    given = {name: getattr(output, name) for name in texts_in(type(output))}
    parts = (f"{Reference(step.id, name)} = {_quoted(value)}" for name, value in given.items() if value)
    return "; ".join(parts)


def _quoted(value: object) -> str:
    text = "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return f"“{shorten(text, _QUOTE_CHARACTERS)}”"


def _show(attempt: Attempt) -> str:
    steps = "\n".join(
        f"- {step.id} ({', '.join(step.agents)}): {step.instruction}"
        + (f" {json.dumps(step.settings, ensure_ascii=False)}" if step.settings else "")
        for step in attempt.plan.steps
    )
    failures = [f"Step {each.step!r} ({', '.join(each.agents)}) failed: {each.error}" for each in attempt.failed]
    lacks = [f"Missing: {item}" for item in attempt.missing]
    verdict = [f"Judged: {shorten(attempt.verdict, _VERDICT_CHARACTERS)}"] if attempt.verdict else []
    return f"Attempt {attempt.number}:\n{steps}\n" + "\n".join([*failures, *lacks, *verdict])


class Explanation(BaseModel):
    """Why a run failed, in the model's words."""

    model_config = ConfigDict(extra="forbid")

    explanation: str = Field(description="what was tried, what failed and why, and what the person can do")


async def explain_failure(llm: LLM, question: str, working: WorkingContext, errors: str) -> str:
    """Return the model's explanation followed by the errors, or only the errors if the model fails."""
    messages = Prompt.shipped("explainer").render(question=question, attempts=working.text)
    return await _explain(llm, messages, errors)


async def explain_missing_plan(llm: LLM, question: str, error: PlanError) -> str:
    """Return the model's explanation of why no plan could be made, with the errors like ``explain_failure``."""
    messages = Prompt.shipped("plan_explainer").render(
        question=question, plan=error.written, faults=bullets(error.faults)
    )
    return await _explain(llm, messages, str(error))


async def _explain(llm: LLM, messages: Sequence[Message], errors: str) -> str:
    try:
        explanation = (await llm.complete(messages, Explanation)).value.explanation
    except LLMError as error:
        return f"{errors} (The model could not explain this: {error})"
    return f"{explanation.rstrip()} The error itself: {errors}"
