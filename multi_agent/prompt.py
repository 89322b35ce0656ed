"""Prompts: Markdown files with strict placeholders, one per agent, identified in the trace by a hash.

A file has two parts, ``# System`` and ``# User``; placeholders are ``$name`` (a literal dollar is ``$$``). The parts
that do not change between the calls of a step come first, so that endpoints can reuse their prefix.
"""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template

from multi_agent.errors import AgentError
from multi_agent.llm.llm import Message

_PARTS = re.compile(r"\A# System\n(?P<system>.+?)^# User\n(?P<user>.+)\Z", re.DOTALL | re.MULTILINE)


class Prompt:
    """A parsed prompt file."""

    def __init__(self, name: str, source: str) -> None:
        parts = _PARTS.match(source)
        if not parts:
            raise AgentError(f"Prompt {name!r} needs a part '# System' followed by a part '# User'.")
        self.name = name
        self.hash = hashlib.sha256(source.encode()).hexdigest()[:12]
        self._system, self._user = (Template(parts[part].strip()) for part in ("system", "user"))
        self.placeholders = frozenset(self._system.get_identifiers() + self._user.get_identifiers())

    @classmethod
    def find(cls, package: str, stem: str) -> Prompt | None:
        """The prompt ``prompts/STEM.md`` beside the agents package ``package``, or None if there is no such file."""
        path: Traversable = files(package.rpartition(".")[0]).joinpath("prompts", f"{stem}.md")
        return cls(stem, path.read_text(encoding="utf-8")) if path.is_file() else None

    def render(self, **values: object) -> list[Message]:
        """The messages, every placeholder filled. Raises AgentError naming what is missing or not used."""
        if self.placeholders != values.keys():
            missing, unused = sorted(self.placeholders - values.keys()), sorted(values.keys() - self.placeholders)
            raise AgentError(f"Prompt {self.name!r}: values missing for {missing}; values without a place: {unused}.")
        return [Message.system(self._system.substitute(values)), Message.user(self._user.substitute(values))]
