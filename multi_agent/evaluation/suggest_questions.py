"""Suggests questions about a collection, which a model writes from passages of several documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from multi_agent.model import LLM
from multi_agent.prompt import Prompt
from vectorstore.models import Chunk

QUESTIONS = 5
_Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]


class Suggested(BaseModel):
    """The model's response."""

    model_config = ConfigDict(extra="forbid")

    questions: tuple[_Question, ...] = Field(min_length=1, max_length=QUESTIONS)


async def suggest_questions(llm: LLM, passages: Sequence[Chunk]) -> tuple[str, ...]:
    """Return questions that the passages answer, without duplicates. Raises LLMError."""
    shown = "\n\n".join(f'From "{chunk.name}":\n{chunk.reading_text}' for chunk in passages)
    messages = Prompt.shipped("suggester").render(count=QUESTIONS, passages=shown)
    return tuple(dict.fromkeys((await llm.complete(messages, Suggested)).value.questions))
