"""What the planner knows besides the question. ``memory`` stores it; ``prompts/show_remembered.py`` renders it."""

from __future__ import annotations

from pydantic import Field

from vectorstore.models import FrozenModel


class Exchange(FrozenModel):
    """An earlier question of the same conversation with its answer in short."""

    question: str
    answer: str


class Remembered(FrozenModel):
    """Preferences, conversation and notes that apply to one question.

    Only the planner reads it. Agents get their tasks and the shared context, never the conversation. Nothing in it is
    evidence.
    """

    preferences: tuple[str, ...] = Field(default=(), description="what the person wants of every answer")
    conversation: tuple[Exchange, ...] = Field(default=(), description="the last questions of the session, in order")
    how_to: tuple[str, ...] = Field(default=(), description="notes of people on how such questions are worked on")
