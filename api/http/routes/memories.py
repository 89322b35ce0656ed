"""What is remembered: the caller's own preferences and conversations, and how-to notes for all.

Plans that worked, or were saved, are under ``/v1/plans``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import Field

from api.auth.permissions import Caller
from api.http.deps import CurrentCaller, Served
from api.http.errors import problems
from multi_agent.memory.memories import Kind, MemoryEntry
from vectorstore.models import FrozenModel

router = APIRouter(prefix="/v1/memories", tags=["memories"])

MemoryId = Annotated[str, Path(description="The memory's id.", examples=["mem_0f3a5c7e9b1d"])]


class NewMemory(FrozenModel):
    """What is to be remembered."""

    kind: Literal["preference", "how_to"] = Field(
        default="preference", description="what you want of every answer; or how such questions are best worked on"
    )
    text: str = Field(description="short, in your words", examples=["Answer in German."])


class NewWords(FrozenModel):
    """What is to stand in its place."""

    text: str = Field(examples=["Answer in German, and in short sentences."])


_EXAMPLES = [
    {"text": "Answer in German."},
    {"kind": "how_to", "text": "Operating temperatures stand in the data sheets, not in the brochures."},
]


@router.get("", responses=problems(422, 503))
def memories(
    service: Served, caller: CurrentCaller, kind: Annotated[Kind | None, Query(description="Only of this kind.")] = None
) -> list[MemoryEntry]:
    """Your own preferences and conversations, and everybody's how-to notes; the latest last.

    The planner alone is told of them: no agent is, and none of it is evidence.
    """
    return list(service.candor.memories.entries(caller.key, kind))


@router.post("", status_code=201, responses=problems(403, 422, 503))
def add(
    service: Served, caller: CurrentCaller, memory: Annotated[NewMemory, Body(examples=_EXAMPLES)], response: Response
) -> MemoryEntry:
    """Remember a preference of your own; or, as an owner, a how-to note for all."""
    if memory.kind == "how_to":
        caller.require_admin()
    added = service.candor.memories.add(memory.kind, memory.text, caller.key)
    response.headers["Location"] = f"/v1/memories/{added.id}"
    return added


@router.put("/{memory_id}", responses=problems(403, 404, 422, 503))
def edit(service: Served, caller: CurrentCaller, memory_id: MemoryId, words: NewWords) -> MemoryEntry:
    """Put other words in its place."""
    _require(service, caller, memory_id)
    return service.candor.memories.edit(memory_id, words.text, caller.key)


@router.delete("/{memory_id}", status_code=204, responses=problems(403, 404, 503))
def forget(service: Served, caller: CurrentCaller, memory_id: MemoryId) -> None:
    """Forget it. What runs were told of it stays in their traces."""
    _require(service, caller, memory_id)
    service.candor.memories.delete(memory_id, caller.key)


def _require(service: Served, caller: Caller, memory_id: str) -> None:
    """Raises NotKept for another's, Forbidden for a how-to note if the caller is no owner."""
    if service.candor.memories.get(memory_id, caller.key).kind == "how_to":
        caller.require_admin()
