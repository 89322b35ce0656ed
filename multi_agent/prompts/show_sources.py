"""Renders the sources that the person allows for the answer, for the prompts of triage and planner."""

from collections.abc import Sequence

from multi_agent.prompt import Prompt
from multi_agent.settings.research import Source

_KINDS: dict[Source, str] = {"documents": "the person's documents", "web": "web pages", "tools": "results of tools"}


def show_sources(sources: Sequence[Source]) -> str:
    """Return a paragraph that names the sources. Empty for documents alone, the default of the prompts."""
    if set(sources) == {"documents"}:
        return ""
    *others, last = (_KINDS[source] for source in sources)
    allowed = f"{', '.join(others)} and {last}" if others else last
    return f"\n{Prompt.part('sources', allowed=allowed)}\n"
