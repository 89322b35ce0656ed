"""Asks the model to explain why a run failed."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.errors import LLMError
from multi_agent.llm.llm import LLM
from multi_agent.orchestrator.working_context import WorkingContext
from multi_agent.prompt import Prompt


class Explanation(BaseModel):
    """Why a run failed, in the model's words."""

    model_config = ConfigDict(extra="forbid")

    explanation: str = Field(description="what was tried, what failed and why, and what the person can do")


async def explain_failure(llm: LLM, question: str, working: WorkingContext, errors: str) -> str:
    """Return the model's explanation followed by the errors; the errors alone if the model fails."""
    messages = Prompt.shipped("explainer").render(question=question, attempts=working.render())
    try:
        explanation = (await llm.complete(messages, Explanation)).value.explanation
    except LLMError as error:
        return f"{errors} (The model could not explain this: {error})"
    return f"{explanation.rstrip()} The error itself: {errors}"
