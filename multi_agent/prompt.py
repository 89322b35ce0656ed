"""Prompts, which are Markdown files with strict placeholders, one per agent. The trace identifies them by a hash.

A file has the parts ``# System`` and ``# User``, and ``# Again`` if the agent can ask for corrections. Placeholders are
``$name``; write ``$$`` for a dollar sign. Text that is the same in all calls of a step comes first, so that endpoints
can cache the common prefix.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Set
from copy import copy
from importlib.resources import files
from string import Template
from typing import Self

from multi_agent.errors import AgentError
from multi_agent.model import Message

_PARTS = re.compile(r"\A# System\n(.+?)^# User\n(.+?)(?:^# Again\n(.+))?\Z", re.DOTALL | re.MULTILINE)


class Prompt:
    """A parsed prompt file."""

    def __init__(self, name: str, source: str) -> None:
        parts = _PARTS.match(source)
        if not parts:
            raise AgentError(f"Prompt {name!r} needs the part '# System' followed by the part '# User'.")
        self.name, self.source = name, source
        self._sections: tuple[str, ...] = ()
        self.hash = hashlib.sha256(source.encode()).hexdigest()[:12]
        self._system, self._user, self._again = (Template((part or "").strip()) for part in parts.groups())
        if not all(part.is_valid() for part in (self._system, self._user, self._again)):
            raise AgentError(f"Prompt {name!r} has a dollar sign without a placeholder. Write $$ for a dollar sign.")

    @classmethod
    def find(cls, package: str, stem: str) -> Prompt | None:
        """Return the prompt ``prompts/STEM.md`` next to the agents package ``package``, or None if there is no file."""
        path = files(package.rpartition(".")[0]).joinpath(f"prompts/{stem}.md")
        return cls(stem, path.read_text(encoding="utf-8")) if path.is_file() else None

    @classmethod
    def shipped(cls, stem: str) -> Prompt:
        """Return one of Candor's own prompts. Raises AgentError if its file is missing."""
        path = files("multi_agent").joinpath("prompts", f"{stem}.md")
        if not path.is_file():
            raise AgentError(f"The prompt multi_agent/prompts/{stem}.md is missing. Install Candor again.")
        return cls(stem, path.read_text(encoding="utf-8"))

    @staticmethod
    def part(stem: str, **values: object) -> str:
        """Render a shared or optional part of Candor's own prompts. Raises AgentError like ``render``."""
        path = files("multi_agent").joinpath("prompts", "parts", f"{stem}.md")
        text = Template(path.read_text(encoding="utf-8").strip())
        _require_match(stem, frozenset(text.get_identifiers()), values)
        return text.substitute(values)

    @property
    def placeholders(self) -> frozenset[str]:
        """The placeholders of the opening messages."""
        return frozenset((*self._system.get_identifiers(), *self._user.get_identifiers()))

    def with_sections(self, *sections: str) -> Self:
        """Return a copy with these literal texts at the end of its system message."""
        changed = copy(self)
        changed._sections = (*self._sections, *sections)
        literal = (section.replace("$", "$$") for section in sections)
        changed._system = Template("\n\n".join((self._system.template, *literal)))
        changed.hash = hashlib.sha256("\0".join((self.hash, *sections)).encode()).hexdigest()[:12]
        return changed

    def with_source(self, source: str) -> Self:
        """Return a prompt of another text with the same sections.

        Raises AgentError if the text is no prompt, or uses other placeholders.
        """
        changed = type(self)(self.name, source)
        changed._require_placeholders_of(self)
        return changed.with_sections(*self._sections) if self._sections else changed

    def _require_placeholders_of(self, other: Prompt) -> None:
        """Raise AgentError unless both prompts use the same placeholders."""
        ours, theirs = self._all_placeholders, other._all_placeholders
        if ours != theirs:
            raise AgentError(
                f"The prompt {self.name!r} must use the placeholders {_named(theirs)}. Missing: "
                f"{_named(theirs - ours)}. Unknown: {_named(ours - theirs)}."
            )

    @property
    def _all_placeholders(self) -> frozenset[str]:
        return self.placeholders | {*self._again.get_identifiers()}

    def with_material(self, material: str) -> Self:
        """Return a copy with this literal text at the beginning of its user message."""
        changed = copy(self)
        literal = material.replace("$", "$$")
        changed._user = Template(f"{literal}\n\n{self._user.template}")
        changed.hash = hashlib.sha256("\0".join((self.hash, material)).encode()).hexdigest()[:12]
        return changed

    def render(self, **values: object) -> list[Message]:
        """Return the opening messages. Raises AgentError unless the values match the placeholders exactly."""
        _require_match(self.name, self.placeholders, values)
        return [Message.system(self._system.substitute(values)), Message.user(self._user.substitute(values))]

    def again(self, response: str, **values: object) -> list[Message]:
        """Return the messages that ask for a correction of ``response``. Raises AgentError like ``render``."""
        _require_match(self.name, frozenset(self._again.get_identifiers()), values)
        return [Message(role="assistant", content=response), Message.user(self._again.substitute(values))]


class OpenPrompt(Prompt):
    """A prompt that may use only some of the values, for example one that a user wrote."""

    def _require_placeholders_of(self, other: Prompt) -> None:
        """Accept all placeholders. ``render`` rejects those without a value."""

    def render(self, **values: object) -> list[Message]:
        """Return the opening messages. Raises AgentError if a value is missing."""
        return super().render(**{name: value for name, value in values.items() if name in self.placeholders})


def _named(placeholders: Set[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(placeholders)) or "none"


def _require_match(prompt: str, placeholders: Set[str], values: dict[str, object]) -> None:
    if placeholders != values.keys():
        missing, unused = sorted(placeholders - values.keys()), sorted(values.keys() - placeholders)
        raise AgentError(f"Prompt {prompt!r}: missing values: {missing}; unknown values: {unused}.")
