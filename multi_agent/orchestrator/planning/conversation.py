"""Completes a follow-up question from the conversation. The planner and the agents then need no chat history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from multi_agent.model import LLM
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.values.bus import Publish
from multi_agent.values.events import QuestionCompleted
from multi_agent.values.remembered import Exchange


class CompletedQuestion(BaseModel):
    """The model's response."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] = Field(
        description="the full question"
    )


async def complete_question(question: str, conversation: Sequence[Exchange], llm: LLM, publish: Publish) -> str:
    """Return the question, completed with details from the conversation. Raises LLMError."""
    exchanges = [Exchange.in_short(each.question, each.answer) for each in conversation]
    said = bullets([f"Question: {each.question} Answer: {each.answer}" for each in exchanges])
    messages = Prompt.shipped("conversation").render(said=said, question=question)
    completed = (await llm.complete(messages, CompletedQuestion)).value.question
    await publish(QuestionCompleted(asked=question, question=completed))
    return completed
