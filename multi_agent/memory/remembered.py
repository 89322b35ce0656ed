"""What the supervisor is told beside the question: what the person wants, what was said before, how to go about it.

Only the planner reads it. The agents are given their tasks and the shared context, never the chat: what of this bears
on the question, the planner says in what the question asks for and in their instructions. Nothing of it is evidence.
"""

from __future__ import annotations

from typing import Protocol

from pydantic import Field

from multi_agent.answer import Answer
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.request import Request
from vectorstore.models import FrozenModel


class Exchange(FrozenModel):
    """A question of the same conversation, and what came of it in short."""

    question: str
    answer: str


class Remembered(FrozenModel):
    """What is known for one question."""

    preferences: tuple[str, ...] = Field(default=(), description="what the person wants of every answer")
    conversation: tuple[Exchange, ...] = Field(default=(), description="the last questions of the session, in order")
    how_to: tuple[str, ...] = Field(default=(), description="notes of people on how such questions are worked on")

    def in_words(self) -> str:
        """For a prompt; nothing if there is nothing."""
        parts = []
        if self.how_to:
            parts.append(Prompt.part("how_to", notes=bullets(self.how_to)))
        if self.preferences:
            parts.append(Prompt.part("preferences", preferences=bullets(self.preferences)))
        if self.conversation:
            said = [f"Question: {each.question}\n  Answer: {each.answer}" for each in self.conversation]
            parts.append(Prompt.part("conversation", said=bullets(said)))
        told = "\n\n".join(parts)
        return f"\n{Prompt.part('remembered', parts=told)}\n" if parts else ""


class Memory(Protocol):
    """What is kept for whoever asks. Calls block."""

    def recall(self, request: Request) -> Remembered:
        """What the supervisor is to know for this question."""
        ...

    def keep(self, request: Request, answer: Answer) -> None:
        """Note what was asked and answered, if it is part of a conversation."""
        ...


class NoMemory:
    """For those of whom nothing is kept."""

    def recall(self, request: Request) -> Remembered:
        return Remembered()

    def keep(self, request: Request, answer: Answer) -> None: ...


NO_MEMORY = NoMemory()
