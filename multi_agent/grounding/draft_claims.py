"""Draft claims: publishes each claim of an answer, checked, while the model still writes the answer.

    on_text = draft_callback(task, self.card.name, response_model, self._check_claim, self._kit.publish)
    completion = await self._kit.llm.complete(messages, response_model, on_text=on_text)

Drafts are provisional. The completion replaces them and is checked in the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import from_json

from multi_agent.model import OnText
from multi_agent.values.bus import Publish
from multi_agent.values.context import Claim, Evidence
from multi_agent.values.evidence_events import ClaimDrafted, DraftWithdrawn
from multi_agent.values.tasks import TaskData


class CheckedClaim(NamedTuple):
    """A claim with the evidence of its verified quotes, and the texts of the rejected quotes."""

    claim: Claim
    evidence: tuple[Evidence, ...]
    dropped: tuple[str, ...] = ()


CheckClaim = Callable[[Any], CheckedClaim]
"""Checks a claim of the response in the same way as a claim of the finished answer."""


def draft_callback(
    task: TaskData, agent: str, response_model: type[BaseModel], check: CheckClaim, publish: Publish
) -> OnText | None:
    """Return the ``on_text`` callback that publishes draft claims, or None if the task does not publish drafts."""
    return _DraftReader(agent, _draft_model(response_model), check, publish).on_text if task.streams_claims else None


class _DraftReader:
    """Parses one response while it is written and publishes its claims."""

    def __init__(self, agent: str, draft_model: type[BaseModel], check: CheckClaim, publish: Publish) -> None:
        self._agent, self._draft_model, self._check, self._publish = agent, draft_model, check, publish
        self._length = self._published = 0

    async def on_text(self, text: str) -> None:
        if len(text) < self._length:  # the response started over
            await self._withdraw()
        start, self._length = self._length, len(text)
        for drafted in await asyncio.to_thread(self._parse_new, text, start) if "}" in text[start:] else ():
            self._published += 1
            await self._publish(drafted)

    async def _withdraw(self) -> None:
        published, self._length, self._published = self._published, 0, 0
        if published:
            await self._publish(DraftWithdrawn(agent=self._agent, claims=published))

    def _parse_new(self, text: str, start: int) -> list[ClaimDrafted]:
        """Return the claims that became complete after ``start``."""
        response = _parse_complete_claims(text, start)
        if response is None:
            return []
        try:
            draft: Any = self._draft_model.model_validate(response)
        except ValidationError:  # the complete response will be rejected with an error message
            return []
        checked = (self._check(claim) for claim in draft.claims[self._published :])
        return [
            ClaimDrafted(agent=self._agent, layout=draft.layout, short=draft.short, **each._asdict())
            for each in checked
        ]


def _parse_complete_claims(text: str, start: int) -> Any:
    """Return the response up to the last claim that became complete after ``start``, or None.

    The brace that ends a claim is the only one after which ``]}`` completes the JSON. Braces inside a claim or inside
    a string leave more brackets open.
    """
    end = text.rfind("}", start)
    while end >= 0:
        try:
            return from_json(text[: end + 1] + "]}")
        except ValueError:
            end = text.rfind("}", start, end)
    return None


@lru_cache(maxsize=128)  # creating a type takes milliseconds
def _draft_model(response_model: type[BaseModel]) -> type[BaseModel]:
    """Return a type for a partial response. It has no fields after the claims, which are written last."""
    defaults = {"claims": ..., "layout": "prose", "short": ""}
    fields: dict[str, Any] = {
        name: (response_model.model_fields[name].annotation, default) for name, default in defaults.items()
    }
    return create_model(f"{response_model.__name__}Draft", __config__=ConfigDict(extra="ignore"), **fields)
