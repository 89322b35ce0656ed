"""Asks the model to explain why a run failed or could not begin."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.errors import LLMError, PlanError
from multi_agent.model import LLM, Message
from multi_agent.orchestrator.working_context import WorkingContext
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets


class Explanation(BaseModel):
    """Why a run failed, in the model's words."""

    model_config = ConfigDict(extra="forbid")

    explanation: str = Field(description="what was tried, what failed and why, and what the person can do")


async def explain_failure(llm: LLM, question: str, working: WorkingContext, errors: str) -> str:
    """Return the model's explanation followed by the errors, or only the errors if the model fails."""
    messages = Prompt.shipped("explainer").render(question=question, attempts=working.render())
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
