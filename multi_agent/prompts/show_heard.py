"""Renders the messages of other agents for an agent's prompt."""

from collections.abc import Sequence

from base.text import shorten
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.values.context import AgentMessage

_SHOWN = 6  # number of latest messages
_CHARACTERS = 400  # maximum characters of a message


def show_heard(messages: Sequence[AgentMessage]) -> str:
    """Return a section with the messages, their senders and steps. Empty if there are none."""
    if not messages:
        return ""
    shown = messages[-_SHOWN:]
    lines = [f"{each.sender} (step {each.step}): {shorten(each.content, _CHARACTERS)}" for each in shown]
    return Prompt.part("heard", reports=bullets(lines))
