"""Asks a model what the changes between two documents mean. The model reads only the sentences that differ.

A point is kept only if the changes that it cites contain its figures and names.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from api.auth.limits import require_tokens
from api.auth.permissions import Caller
from api.services.documents.differences import Change, Differences, Meaning
from api.services.research.research import PanelFactory
from base.tokens import estimate_tokens
from multi_agent.grounding.judged import Statement
from multi_agent.grounding.support import SupportRules
from multi_agent.llm.wrappers.journal import RunCalls, RunLLM
from multi_agent.llm.wrappers.usage import BudgetUsage
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_changes import show_change
from multi_agent.prompts.show_outside import defuse
from multi_agent.storage.tables import OtherCalls
from multi_agent.values.context import Evidence


class MeaningPoint(BaseModel):
    # The numbers come before the text, so the model cites first. A docstring would become part of the schema.
    model_config = ConfigDict(extra="forbid")

    changes: list[int]
    text: str = Field(min_length=1)


class MeaningPoints(BaseModel):
    model_config = ConfigDict(extra="forbid")

    points: list[MeaningPoint]


class _Numbered(NamedTuple):
    number: int
    heading: str
    change: Change

    @property
    def shown(self) -> str:
        sides = ("old", self.change.old), ("new", self.change.new)
        return show_change(self.number, self.change.kind, self.heading, sides)


@dataclass(frozen=True, eq=False)
class Meanings:
    """Explains the changes of comparisons."""

    panel: PanelFactory
    calls: OtherCalls

    async def add(self, found: Differences, caller: Caller, model: str = "") -> Differences:
        """Return the comparison with what its changes mean. The tokens count towards the limit of the caller's key.

        Does not call the model if nothing has changed. Raises LimitReached, UnknownModel, LLMError.
        """
        changes = [(section.heading, change) for section in found.sections for change in section.changes]
        numbered = [_Numbered(number, *each) for number, each in enumerate(changes, start=1)]
        spent = BudgetUsage()
        llm = RunLLM(self.panel.models().get(model), RunCalls(spent=spent))
        points: list[MeaningPoint] = []
        names = {"old": defuse(found.old), "new": defuse(found.new)}
        try:
            for batch in _batches(numbered, self.panel.settings.research.tokens_per_call):
                await asyncio.to_thread(require_tokens, self.panel.trace, caller)
                shown = "\n".join(each.shown for each in batch)
                prompt = Prompt.shipped("changed_meaning").render(**names, changes=shown)
                points += (await llm.complete(prompt, MeaningPoints)).value.points
        finally:
            await asyncio.to_thread(self.calls.add, caller.key, spent.usage)
        return _with_meanings(found, numbered, points)


def _batches(numbered: Sequence[_Numbered], tokens: int) -> Iterator[list[_Numbered]]:
    """Yield the changes in batches of at most ``tokens`` tokens. A longer change is a batch of its own."""
    batch: list[_Numbered] = []
    room = tokens
    for each in numbered:
        size = estimate_tokens(each.shown)
        if batch and size > room:
            yield batch
            batch, room = [], tokens
        batch.append(each)
        room -= size
    if batch:
        yield batch


def _with_meanings(found: Differences, numbered: Sequence[_Numbered], points: Sequence[MeaningPoint]) -> Differences:
    kept, dropped = [], []
    for point in points:
        named = [numbered[number - 1] for number in dict.fromkeys(point.changes) if 1 <= number <= len(numbered)]
        evidence = tuple(item for each in named for item in _sides(each, found))
        judged = SupportRules("", evidence, ()).judge(Statement(point.text, evidence))
        if evidence and judged.stands:
            changes = tuple(each.change for each in named)
            kept.append(Meaning(text=point.text, checked=judged.checked, heading=named[0].heading, changes=changes))
        else:
            dropped.append(f"{point.text} ({judged.reason if evidence else 'It names no change.'})")
    return found.model_copy(update={"meanings": tuple(kept), "not_kept": tuple(dropped)})


def _sides(each: _Numbered, found: Differences) -> Iterator[Evidence]:
    """Yield the words of both sides of a change as evidence."""
    change = each.change
    old, new = (found.old, found.old_id, change.old), (found.new, found.new_id, change.new)
    for (name, key, words), span in ((old, change.old_span), (new, change.new_span)):
        if span:
            about = {"document": name, "name": f"{name}: {each.heading}", "document_id": key, "chunk_id": ""}
            yield Evidence(number=1, start=span[0], end=span[1], quote=words, **about)
