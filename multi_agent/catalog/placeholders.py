"""The placeholders that the prompt of a custom agent may name, and what replaces them."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from multi_agent.prompts.show_evidence import (
    select_evidence,
    show_computations,
    show_evidence,
    show_findings,
    show_records,
)
from multi_agent.prompts.show_passages import bullets, sample_passages, show_passages
from multi_agent.settings.research import ResearchSettings
from multi_agent.values.context import ResearchContext

ANSWER_PLACEHOLDERS = frozenset({"whole", "intent", "requirements", "question", "instruction", "searched", "passages"})
"""For an agent that answers: ``question`` is its own question, ``whole`` the person's."""

Render = Callable[[ResearchContext, str, ResearchSettings], str]


class Placeholder(NamedTuple):
    """What replaces a placeholder in the prompt of an agent that gives notes."""

    reads: frozenset[str]
    """Fields of the context."""
    render: Render
    """Returns the text from the context, the step's instruction and the settings."""


def _passages(context: ResearchContext, _: str, settings: ResearchSettings) -> str:
    """Show the best passages that fit into one call."""
    tokens = settings.tokens_per_call
    shown = sample_passages(context.chunks, context.ranking, settings.reader_passages, tokens)
    return show_passages(shown) or "None was found."


def _evidence(context: ResearchContext, _: str, settings: ResearchSettings) -> str:
    return show_evidence(context, select_evidence(context, settings.records_shown))


def _notes(context: ResearchContext, _: str, __: ResearchSettings) -> str:
    return bullets([f"{note.agent}: {note.text}" for note in context.notes])


PLACEHOLDERS: Mapping[str, Placeholder] = {
    "question": Placeholder(frozenset(), lambda context, _, __: context.question),
    "intent": Placeholder(frozenset(), lambda context, _, __: context.understanding.intent),
    "requirements": Placeholder(frozenset(), lambda context, _, __: bullets(context.understanding.requirements)),
    "instruction": Placeholder(frozenset(), lambda _, instruction, __: instruction),
    "passages": Placeholder(frozenset({"chunks", "ranking"}), _passages),
    "evidence": Placeholder(frozenset({"chunks", "evidence"}), _evidence),
    "computations": Placeholder(
        frozenset({"computations", "evidence"}), lambda context, _, __: show_computations(context)
    ),
    "records": Placeholder(
        frozenset({"chunks", "evidence", "records"}), lambda context, _, __: show_records(context, context.evidence)
    ),
    "findings": Placeholder(frozenset({"evidence", "findings"}), lambda context, _, __: show_findings(context)),
    "notes": Placeholder(frozenset({"notes"}), _notes),
}
"""For an agent that gives notes."""
