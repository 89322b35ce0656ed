"""Finds the changes since a run that can explain a difference. The most probable cause comes first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Literal

from pydantic import Field

from base.models import FrozenModel
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.model import LLMRequest, Message
from multi_agent.orchestrator.rerun.difference import Difference
from multi_agent.orchestrator.rerun.environment import prompt_texts
from multi_agent.storage.environments import Environment

_PLACEHOLDER = re.compile(r"\\\$\w+")
_RETRIEVAL = ("searched", "run_finished")

Kind = Literal["prompt", "document", "index", "code"]


class ChangedLine(FrozenModel):
    """The first line in which a prompt of the replay differs from the recorded one."""

    caller: str = Field(description="the agent, or part of the supervisor, that sent it")
    recorded: str
    repeated: str


class Cause(FrozenModel):
    """A change since the run."""

    kind: Kind
    name: str = Field(description="the prompt's file, the document, the setting of the index, or Candor's version")
    change: str = Field(description="description of the change")


def changed_line(unknown: Sequence[tuple[str, LLMRequest[Any]]], entries: Sequence[JournalEntry]) -> ChangedLine | None:
    """Compare the first new request with the most similar recorded one. Return the first line that differs."""
    for _, request in unknown:
        name = request.response_model.__name__
        alike = [each for each in entries if (each.caller, each.response_model) == (request.caller, name)]
        if alike:
            recorded = max(alike, key=lambda each: len(_lines(each.messages) & _lines(request.messages)))
            for ours, theirs in zip_longest(_in_order(recorded.messages), _in_order(request.messages), fillvalue=""):
                if ours != theirs:
                    return ChangedLine(caller=request.caller, recorded=ours, repeated=theirs)
    return None


def find_causes(
    then: Environment, now: Environment, difference: Difference | None, line: ChangedLine | None
) -> tuple[Cause, ...]:
    """Return all changes, the most probable cause first. If nothing else has changed, the code is the cause."""
    found = [*_index(then, now), *_documents(then, now), *_prompts(then, now, line)]
    if then.candor != now.candor or not found:
        same = "is the same version, but other code or packages may have changed"
        change = f"was {then.candor}" if then.candor != now.candor else same
        found.append(Cause(kind="code", name=f"Candor {now.candor}", change=change))
    return tuple(sorted(found, key=lambda each: _rank(each, difference, line)))


def _rank(cause: Cause, difference: Difference | None, line: ChangedLine | None) -> int:
    """Return the sort key of a cause. A prompt comes before a document unless the differing line names the document."""
    if line and difference and difference.type not in _RETRIEVAL:
        if cause.kind == "document" and (cause.name in line.recorded or cause.name in line.repeated):
            return 0
        order: tuple[Kind, ...] = ("prompt", "index", "document", "code")
    else:
        order = ("index", "document", "prompt", "code")
    return 1 + order.index(cause.kind)


def _index(then: Environment, now: Environment) -> Iterator[Cause]:
    for name, value in then.index.items():
        if (new := now.index.get(name, "")) != value:
            yield Cause(kind="index", name=name, change=f"was {value!r}, is {new!r}")


def _documents(then: Environment, now: Environment) -> Iterator[Cause]:
    for key, document in then.documents.items():
        if key not in now.documents:
            yield Cause(kind="document", name=document.name, change="was deleted")
        elif now.documents[key].version != document.version:
            yield Cause(kind="document", name=document.name, change="has a new version")
        elif now.documents[key].name != document.name:
            yield Cause(kind="document", name=document.name, change=f"is now named {now.documents[key].name!r}")
    for key in now.documents.keys() - then.documents.keys():
        yield Cause(kind="document", name=now.documents[key].name, change="was added")


def _prompts(then: Environment, now: Environment, line: ChangedLine | None) -> list[Cause]:
    """Return the changed prompts. The prompt with the differing line comes first."""
    changed = [name for name in dict.fromkeys((*then.prompts, *now.prompts))
               if then.prompts.get(name) != now.prompts.get(name)]  # fmt: skip
    texts = prompt_texts()
    changed.sort(key=lambda name: not (line and _has_line(texts.get(name, ""), line.repeated)))
    return [Cause(kind="prompt", name=name, change=_change(name, then, now)) for name in changed]


def _change(name: str, then: Environment, now: Environment) -> str:
    if name not in now.prompts:
        return "is gone"
    return "has another text" if name in then.prompts else "is new"


def _has_line(text: str, line: str) -> bool:
    """Return whether this line can come from a line of the prompt file."""
    patterns = (_PLACEHOLDER.sub(".*", re.escape(each)) for each in text.splitlines() if each.strip())
    return any(re.fullmatch(pattern, line) for pattern in patterns if pattern.strip(".*"))


def _lines(messages: Iterable[Message]) -> set[str]:
    return set(_in_order(messages))


def _in_order(messages: Iterable[Message]) -> list[str]:
    return [line for message in messages for line in message.content.splitlines()]
