"""Finds the first difference between the events of two runs, and the changes since a run that can explain it.

Parallel calls end in any order, so the events of a step are compared without their order. Times and usage are not
compared, nor are events that only a live run has: announcements of calls, drafts of an answer, and approvals.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import Field, JsonValue

from base.installation import own_version
from base.models import FrozenModel
from multi_agent.library import CatalogueEntry
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.llm.wrappers.replay import common_lines
from multi_agent.model import LLMRequest, Message
from multi_agent.orchestrator.planning.dependencies import RunDependencies
from multi_agent.storage.tables import DocumentVersion, Environment
from multi_agent.values.events import Event, RunFinished, RunStarted
from multi_agent.values.evidence_events import Searched


def observe_environment(dependencies: RunDependencies, catalogue: Sequence[CatalogueEntry]) -> Environment:
    """Return the present environment of a run over the documents of ``catalogue``."""
    own = {
        f"prompt of the agent {agent.card.name}": agent.prompt.hash for agent in dependencies.registry if agent.prompt
    }
    hashes = {path: hashlib.sha256(text.encode()).hexdigest()[:12] for path, text in prompt_texts().items()}
    documents = {entry.id: DocumentVersion(name=entry.name, version=entry.version) for entry in catalogue}
    return Environment(
        candor=own_version(),
        prompts={**hashes, **own},
        settings=dependencies.settings.model_dump(mode="json", exclude={"rerank"}),  # it may contain secrets
        index=dict(dependencies.library.index()),
        documents=documents,
    )


def prompt_texts() -> dict[str, str]:
    """Return the text of each of Candor's prompt files, by path."""
    package = cast(Path, files("multi_agent"))
    paths = sorted(package.glob("prompts/**/*.md"))
    return {f"multi_agent/{path.relative_to(package).as_posix()}": path.read_text(encoding="utf-8") for path in paths}


_LIVE_ONLY = {
    "run_resumed", "model_asked", "claim_drafted", "draft_withdrawn", "approval_requested", "approval_decided",
}  # fmt: skip
_NOT_COMPARED = ("seconds", "replayed", "usage")
_REASONS = ("words", "cosine")


class Difference(FrozenModel):
    """The first event that differs, and the first field in which it does."""

    number: int | None = Field(description="number of the event; null if the recorded run lacks it")
    repeated_number: int | None = Field(description="its number in the other run; null if that run lacks it")
    type: str
    step: str = Field(description="its step; empty for the run itself")
    field: str = Field(description="path of the field; empty if one of the runs lacks the event")
    recorded: JsonValue = Field(description="its value; null if the recorded run lacks the event")
    repeated: JsonValue = Field(description="its value in the other run; null if that run lacks the event")


def comparable(events: Sequence[Event]) -> list[Event]:
    """Return the events that a replay repeats."""
    return [event for event in events if event.body.type not in _LIVE_ONLY]


def without_end(events: Sequence[Event]) -> list[Event]:
    """Return the events without ``run_finished``."""
    return [event for event in events if not isinstance(event.body, RunFinished)]


def first_difference(recorded: Sequence[Event], repeated: Sequence[Event]) -> Difference | None:
    """Return the first recorded event without an equal one in the replay, or the first additional event."""
    theirs = Counter(map(_identity, comparable(repeated)))
    for event in comparable(recorded):
        if not theirs[_identity(event)]:
            return _difference(event, _counterpart(event, recorded, repeated))
        theirs[_identity(event)] -= 1
    ours = Counter(map(_identity, comparable(recorded)))
    for event in comparable(repeated):
        if not ours[_identity(event)]:
            return Difference(
                number=None, repeated_number=event.number, type=event.body.type, step=event.step, field="",
                recorded=None, repeated=_content(event),
            )  # fmt: skip
        ours[_identity(event)] -= 1
    return None


def _counterpart(event: Event, recorded: Sequence[Event], repeated: Sequence[Event]) -> Event | None:
    """Return the event of the same type and step that replaces this event in the replay."""
    known = {_identity(each) for each in recorded}
    alike = (each for each in repeated if (each.body.type, each.step) == (event.body.type, event.step))
    return next((each for each in alike if _identity(each) not in known), None)


def _difference(event: Event, other: Event | None) -> Difference:
    content = _content(event)
    if other is None:
        field, ours, theirs = "", content, None
    else:
        field, ours, theirs = next(_fields(content, _content(other), ""))
    return Difference(
        number=event.number,
        repeated_number=other.number if other else None,
        type=event.body.type,
        step=event.step,
        field=field,
        recorded=ours,
        repeated=theirs,
    )


def _identity(event: Event) -> str:
    return json.dumps([event.step, _content(event)], sort_keys=True, ensure_ascii=False)


def _content(event: Event) -> dict[str, Any]:
    """Return the body without the fields that differ in every run."""
    body = event.body.model_dump(mode="json")
    for name in _NOT_COMPARED:
        body.pop(name, None)
    if isinstance(event.body, RunStarted):
        body["request"].pop("fork")  # the change of a fork shows in its plan and its calls
    for passage in (
        body["passages"] if isinstance(event.body, Searched) else ()
    ):  # older runs lack the reasons, and cosines differ between machines
        for name in _REASONS:
            passage.pop(name)
    if "task" in body:
        body["task"] = body["task"].removeprefix(f"{event.run_id}_")
    return body


def _fields(ours: Any, theirs: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path and both values of each field that differs."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for name in dict.fromkeys((*ours, *theirs)):
            yield from _fields(ours.get(name), theirs.get(name), f"{path}.{name}" if path else str(name))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _fields(mine, other, f"{path}[{at}]")
    elif ours != theirs:
        yield path, ours, theirs


_PLACEHOLDER = re.compile(r"\\\$\w+")
_RETRIEVAL = ("searched", "run_finished")  # no prompt changes these alone: the response to it would differ before

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
            recorded = max(alike, key=lambda each: common_lines(each.messages, request.messages))
            for ours, theirs in zip_longest(_in_order(recorded.messages), _in_order(request.messages), fillvalue=""):
                if ours != theirs:
                    return ChangedLine(caller=request.caller, recorded=ours, repeated=theirs)
    return None


def find_causes(
    then: Environment, now: Environment, difference: Difference | None, line: ChangedLine | None
) -> tuple[Cause, ...]:
    """Return all changes, the most probable cause first. If nothing else can explain it, the code is the cause."""
    searched = [*_index(then, now), *_documents(then, now)]
    found = [*searched, *_prompts(then, now, line)]
    can_explain = searched if difference and difference.type in _RETRIEVAL else found
    if then.candor != now.candor or not can_explain:
        same = "is the same version, but other code or packages may have changed"
        change = f"was {then.candor}" if then.candor != now.candor else same
        found.append(Cause(kind="code", name=f"Candor {now.candor}", change=change))
    gone = {name: value for name, value in then.settings.items() if name not in now.settings}
    found += [Cause(kind="code", name=f"setting {name}", change=f"was {gone[name]!r}, is gone") for name in gone]
    return tuple(sorted(found, key=lambda each: _rank(each, difference, line)))


def _rank(cause: Cause, difference: Difference | None, line: ChangedLine | None) -> int:
    """Return the sort key of a cause. A prompt comes before a document unless the differing line names the document."""
    if line and difference and difference.type not in _RETRIEVAL:
        name = rf"(?<![\w./-]){re.escape(cause.name)}(?![\w-]|\.\w)"  # "1.md", and not "11.md"
        if cause.kind == "document" and re.search(name, f"{line.recorded}\n{line.repeated}"):
            return 0
        order: tuple[Kind, ...] = ("prompt", "index", "document", "code")
    else:
        order = ("index", "document", "code", "prompt")
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


def _in_order(messages: Iterable[Message]) -> list[str]:
    return [line for message in messages for line in message.content.splitlines()]
