"""Prompts: Markdown files with strict placeholders, one per agent, identified in the trace by a hash.

A file has the parts ``# System`` and ``# User``, and ``# Again`` if the agent may have to ask for a correction;
placeholders are ``$name`` (a literal dollar is ``$$``). What does not change between the calls of a step comes first,
so that endpoints can reuse their work on the common prefix.
"""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from string import Template

from multi_agent.errors import AgentError
from multi_agent.llm.llm import Message

_PARTS = re.compile(r"\A# System\n(.+?)^# User\n(.+?)(?:^# Again\n(.+))?\Z", re.DOTALL | re.MULTILINE)


class Prompt:
    """A parsed prompt file."""

    def __init__(self, name: str, source: str) -> None:
        parts = _PARTS.match(source)
        if not parts:
            raise AgentError(f"Prompt {name!r} needs a part '# System', then a part '# User'.")
        self.name = name
        self.hash = hashlib.sha256(source.encode()).hexdigest()[:12]
        self._system, self._user, self._again = (Template((part or "").strip()) for part in parts.groups())

    @classmethod
    def find(cls, package: str, stem: str) -> Prompt | None:
        """The prompt ``prompts/STEM.md`` beside the agents package ``package``, or None if there is no such file."""
        path = files(package.rpartition(".")[0]).joinpath(f"prompts/{stem}.md")
        return cls(stem, path.read_text(encoding="utf-8")) if path.is_file() else None

    @classmethod
    def shipped(cls, stem: str) -> Prompt:
        """One of Candor's own prompts. Raises AgentError if its file is missing."""
        path = files("multi_agent").joinpath("prompts", f"{stem}.md")
        if not path.is_file():
            raise AgentError(f"The prompt multi_agent/prompts/{stem}.md is missing; install Candor again.")
        return cls(stem, path.read_text(encoding="utf-8"))

    @staticmethod
    def part(stem: str) -> str:
        """A text that several of Candor's own prompts have in common."""
        return files("multi_agent").joinpath("prompts", f"{stem}.md").read_text(encoding="utf-8").strip()

    def render(self, **values: object) -> list[Message]:
        """The opening messages. Raises AgentError if the values are not exactly those of the placeholders."""
        self._check({*self._system.get_identifiers(), *self._user.get_identifiers()}, values)
        return [Message.system(self._system.substitute(values)), Message.user(self._user.substitute(values))]

    def again(self, response: str, **values: object) -> list[Message]:
        """The messages that follow ``response`` to have it corrected. Raises AgentError as ``render`` does."""
        self._check(set(self._again.get_identifiers()), values)
        return [Message(role="assistant", content=response), Message.user(self._again.substitute(values))]

    def _check(self, placeholders: set[str], values: dict[str, object]) -> None:
        if placeholders != values.keys():
            missing, unused = sorted(placeholders - values.keys()), sorted(values.keys() - placeholders)
            raise AgentError(f"Prompt {self.name!r}: values missing for {missing}; values without a place: {unused}.")
