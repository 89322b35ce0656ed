"""Completes a follow-up question from the conversation. The planner and the agents then need no chat history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from multi_agent.grounding.asking_back import UNCLEAR, AskBack
from multi_agent.grounding.terms import TermIndex, find_terms
from multi_agent.library import CatalogueEntry
from multi_agent.model import LLM
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets, titled
from multi_agent.values.bus import Publish
from multi_agent.values.events import QuestionCompleted
from multi_agent.values.remembered import Exchange

_TITLES = 20  # titles of cited documents in the prompt


class CompletedQuestion(BaseModel):
    """The model's response."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] = Field(
        description="the full question; as it is, if it stays unclear"
    )
    ask_back: AskBack | None = Field(default=None, description=UNCLEAR)


async def complete_question(
    question: str, conversation: Sequence[Exchange], catalogue: Sequence[CatalogueEntry], llm: LLM, publish: Publish
) -> CompletedQuestion:
    """Return the question, completed with details from the conversation, or what to ask back. Raises LLMError."""
    exchanges = [Exchange.in_short(each.question, each.answer) for each in conversation]
    said = bullets([f"Question: {each.question} Answer: {each.answer}" for each in exchanges])
    messages = Prompt.shipped("conversation").render(said=said + _show_titles(said, catalogue), question=question)
    response = (await llm.complete(messages, CompletedQuestion)).value
    completed, known = response.question, TermIndex(question)
    added = dict.fromkeys(term.text for term in find_terms(completed, 1) if term not in known)
    await publish(
        QuestionCompleted(
            asked=question, question=completed, added=tuple(added), unresolved=response.ask_back is not None
        )
    )
    return response


def _show_titles(said: str, catalogue: Sequence[CatalogueEntry]) -> str:
    """Return the names and titles of the documents that the answers name as their sources."""
    cited = [titled(entry.name, entry.title) for entry in catalogue if entry.name in said]
    return f"\n\nThe answers are from:\n{bullets(cited[:_TITLES])}" if cited else ""
