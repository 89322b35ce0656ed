"""Renders an agent's task for prompts: the question, and only what adds to it."""

from __future__ import annotations

from base.text import shorten
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.values.context import ResearchContext

_SHOWN = 600  # characters of the last answer of a conversation


def show_task(context: ResearchContext, question: str = "", instruction: str = "") -> str:
    """Return the task as lines that end with the question.

    ``question`` is the agent's own one, if it is only a part of the whole. Left out is what repeats the question.
    """
    asked = question or context.question
    known = {_words(asked), _words(context.question), ""}
    requirements = [each for each in context.understanding.requirements if _words(each) not in known]
    is_part = _words(context.question) != _words(asked)
    lines = [f"The whole question: {context.question}"] if is_part else []
    lines += [f"Asked for: {context.understanding.intent}"] if _words(context.understanding.intent) not in known else []
    lines += [f"A complete answer contains:\n{bullets(requirements)}"] if requirements else []
    lines += [f"Task: {instruction}"] if _words(instruction) not in known else []
    return "\n".join([*lines, f"Your question, a part of it: {asked}" if is_part else f"Question: {asked}"])


def show_said(context: ResearchContext) -> str:
    """Return what was said before a follow-up question; empty for any other question."""
    if not (said := context.follows):
        return ""
    answer = shorten(said.before.answer, _SHOWN)
    added = f" Words added: {', '.join(said.added)}." if said.added else ""
    return Prompt.part("said_before", question=said.before.question, answer=answer, asked=said.asked, added=added)


def show_today(context: ResearchContext) -> str:
    """Return the line that names the day of the run, for the beginning of a prompt.

    Next to the question, a model of 1.5 billion parameters gave the day as the answer.
    """
    return f"Today is {context.today}.\n\n" if context.today else ""


def _words(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
