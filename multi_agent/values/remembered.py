"""The memory entries of a run. ``memory`` stores them, and ``prompts/show_remembered.py`` renders them."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import Self

from pydantic import Field

from base.models import FrozenModel

EXCHANGES = 6
"""Number of earlier exchanges of a conversation that a run reads."""
_QUESTION = 400  # characters of a question in a conversation
_ANSWER = 2_000  # characters of an answer


class Exchange(FrozenModel):
    """An earlier question of the same conversation with its short answer."""

    question: str
    answer: str

    @classmethod
    def in_short(cls, question: str, answer: str) -> Self:
        """Return the exchange with both texts shortened at a word. Nearly all answers fit uncut."""
        return cls(
            question=shorten(question, _QUESTION, placeholder=" …"), answer=shorten(answer, _ANSWER, placeholder=" …")
        )


class ToolUse(FrozenModel):
    """A tool call of a run that ended with an answer, without the values of its arguments."""

    call: str = Field(description="the tool and the names of the arguments: `web_search(limit, query)`")
    purpose: str = Field(description="reason for the call, in the model's words")
    run_id: str

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return self.call.partition("(")[0]


class Remembered(FrozenModel):
    """Preferences, conversation, notes and tool use that apply to one question. They are never evidence.

    Only the supervisor reads ``preferences`` and ``conversation``. Agents get their tasks and the shared context.
    Agents with ``reads_memory`` on their card also read ``how_to`` and ``tool_uses``.
    """

    preferences: tuple[str, ...] = Field(default=(), description="wishes of the person for every answer")
    conversation: tuple[Exchange, ...] = Field(
        default=(), description="the last questions of the conversation, in order"
    )
    how_to: tuple[str, ...] = Field(default=(), description="notes of people on how to research such questions")
    tool_uses: tuple[ToolUse, ...] = Field(default=(), description="tool use that led to answers to similar questions")


def words_to_look_up(question: str, conversation: Sequence[Exchange]) -> str:
    """Return the last question and this one, because a question such as "And his time?" has no subject."""
    return " ".join((*(each.question for each in conversation[-1:]), question))
