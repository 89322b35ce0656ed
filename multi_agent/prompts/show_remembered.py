"""Renders memory entries for prompts. The supervisor gets preferences and notes, agents get what worked before."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.values.plan import PlanExample
from multi_agent.values.request import Remembered


def show_remembered(remembered: Remembered, fields: str) -> str:
    """Return a section for the prompt. Empty without preferences and notes.

    ``fields`` names the response fields in which the model states the consequences of the entries.
    """
    parts = []
    if remembered.how_to:
        parts.append(Prompt.part("how_to", notes=bullets(remembered.how_to)))
    if remembered.preferences:
        parts.append(Prompt.part("preferences", preferences=bullets(remembered.preferences)))
    joined = "\n\n".join(parts)
    return f"\n{Prompt.part('remembered', fields=fields, parts=joined)}\n" if parts else ""


def show_practice(remembered: Remembered, examples: Sequence[PlanExample], tools: Sequence[str]) -> str:
    """Return a section for an agent with these tools on what worked for similar questions, with sources.

    The section contains no conversation and no preferences. It is empty without entries.
    """
    entries = [
        *(f"{note} (note of a person)" for note in remembered.how_to),
        *(
            f"{use.call}: {use.purpose} (tool use in {use.run_id})"
            for use in remembered.tool_uses
            if any(fnmatchcase(use.tool, granted) for granted in tools)
        ),
        *(f"{_agents_of(each)}, for “{each.question}” (plan that worked)" for each in examples),
    ]
    return Prompt.part("practice", entries=bullets(entries)) if entries else ""


def _agents_of(example: PlanExample) -> str:
    return " → ".join(", ".join(step.agents) for step in example.plan.steps)
