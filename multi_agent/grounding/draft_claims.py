"""The claims of an answer while a model writes it: each is read as soon as it is whole, checked, and told.

    hear = telling(task, self.card.name, shape, self._checked, self._kit.publish)
    completion = await self._kit.llm.complete(messages, shape, hear=hear)

What is told are drafts. The answer is what the call returns, made by the same check; it takes their place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import from_json

from multi_agent.bus import Publish
from multi_agent.context import Claim, Evidence
from multi_agent.events import ClaimDrafted, DraftWithdrawn
from multi_agent.llm.llm import Hear
from multi_agent.tasks import TaskData


class Checked(NamedTuple):
    """A claim with the quotes that hold, and the words of those that do not."""

    claim: Claim
    evidence: tuple[Evidence, ...]
    dropped: tuple[str, ...] = ()


Check = Callable[[Any], Checked]
"""Checks a claim of the response, as the finished answer will be."""


def telling(task: TaskData, agent: str, shape: type[BaseModel], check: Check, publish: Publish) -> Hear | None:
    """What is to hear a response of this shape; None where the claims of a task are not told before it is done."""
    return _Drafts(agent, _draft_of(shape), check, publish).hear if task.streams_claims else None


class _Drafts:
    """One answer on its way."""

    def __init__(self, agent: str, draft: type[BaseModel], check: Check, publish: Publish) -> None:
        self._agent, self._draft, self._check, self._publish = agent, draft, check, publish
        self._read = self._told = 0

    async def hear(self, text: str) -> None:
        if len(text) < self._read:
            await self._withdraw()
        since, self._read = self._read, len(text)
        for told in self._new(text, since):
            self._told += 1
            await self._publish(told)

    async def _withdraw(self) -> None:
        told, self._read, self._told = self._told, 0, 0
        if told:
            await self._publish(DraftWithdrawn(agent=self._agent, claims=told))

    def _new(self, text: str, since: int) -> list[ClaimDrafted]:
        """The claims that became whole after ``since``."""
        written = _to_the_last_whole(text, since)
        if written is None:
            return []
        try:
            draft: Any = self._draft.model_validate(written)
        except ValidationError:  # nor will the whole response be accepted; who judges that says why
            return []
        checked = (self._check(claim) for claim in draft.claims[self._told :])
        return [
            ClaimDrafted(agent=self._agent, layout=draft.layout, short=draft.short, **each._asdict())
            for each in checked
        ]


def _to_the_last_whole(text: str, since: int) -> Any:
    """The response up to the last claim that became whole after ``since``, if one did.

    A claim ends with a brace after which closing the list and the response is all that JSON lacks. No other brace is
    like that: one inside a claim, or inside a text, leaves more open.
    """
    end = text.rfind("}", since)
    while end >= 0:
        try:
            return from_json(text[: end + 1] + "]}")
        except ValueError:
            end = text.rfind("}", since, end)
    return None


@lru_cache(maxsize=128)  # a type takes milliseconds to make
def _draft_of(shape: type[BaseModel]) -> type[BaseModel]:
    """What is read of a response of this shape while it is written. What comes after the claims is not there yet."""
    defaults = {"claims": ..., "layout": "prose", "short": ""}
    fields: dict[str, Any] = {name: (shape.model_fields[name].annotation, each) for name, each in defaults.items()}
    return create_model(f"{shape.__name__}Draft", __config__=ConfigDict(extra="ignore"), **fields)
