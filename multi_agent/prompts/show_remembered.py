"""How the prompts of triage and planner show preferences, the conversation and how-to notes."""

from __future__ import annotations

from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.remembered import Remembered


def show_remembered(remembered: Remembered, fields: str) -> str:
    """Return a section for the prompt; empty when nothing is remembered.

    ``fields`` names the parts of the response that say what follows from it.
    """
    parts = []
    if remembered.how_to:
        parts.append(Prompt.part("how_to", notes=bullets(remembered.how_to)))
    if remembered.preferences:
        parts.append(Prompt.part("preferences", preferences=bullets(remembered.preferences)))
    if remembered.conversation:
        said = [f"Question: {each.question}\n  Answer: {each.answer}" for each in remembered.conversation]
        parts.append(Prompt.part("conversation", said=bullets(said)))
    joined = "\n\n".join(parts)
    return f"\n{Prompt.part('remembered', fields=fields, parts=joined)}\n" if parts else ""
