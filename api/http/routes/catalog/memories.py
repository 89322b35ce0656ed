"""Memories: the caller's preferences, conversations and tool use, and how-to notes for all.

Saved plans are under ``/v1/plans``.
"""

from typing import Annotated, Literal

from fastapi import Body, Path, Query, Response
from pydantic import Field

from api.http.deps import CandorDep, CurrentCaller
from api.http.errors import problem_responses
from api.http.router import make_router
from api.services.catalog.memories import add_memory, delete_memory, edit_memory
from base.models import FrozenModel
from multi_agent.memory.memories import Kind, MemoryEntry

router = make_router(prefix="/v1/memories", tags=["memories"])

MemoryId = Annotated[str, Path(description="Id of the memory.", examples=["mem_0f3a5c7e9b1d"])]


class NewMemory(FrozenModel):
    """A memory to store."""

    kind: Literal["preference", "how_to"] = Field(
        default="preference",
        description="`preference`: a wish for every answer. `how_to`: a note on how to work on certain questions.",
    )
    text: str = Field(description="A short text in your own words.", examples=["Answer in German."])


class NewWords(FrozenModel):
    """The new text of a memory."""

    text: str = Field(examples=["Answer in German, and in short sentences."])


_EXAMPLES = [
    {"text": "Answer in German."},
    {"kind": "how_to", "text": "Operating temperatures are in the data sheets, not in the brochures."},
]


@router.get("", responses=problem_responses(422, 503))
def memories(
    candor: CandorDep,
    caller: CurrentCaller,
    kind: Annotated[Kind | None, Query(description="Return only memories of this kind.")] = None,
) -> list[MemoryEntry]:
    """List your preferences, conversations and tool use, and the how-to notes of all callers, latest last.

    Only the supervisor reads preferences and conversations. Agents with `reads_memory` also read how-to notes and tool
    use. Memories are never evidence.
    """
    return list(candor.memories.entries(caller.key, kind))


@router.post("", status_code=201, responses=problem_responses(403, 422, 503))
def add(
    candor: CandorDep, caller: CurrentCaller, memory: Annotated[NewMemory, Body(examples=_EXAMPLES)], response: Response
) -> MemoryEntry:
    """Store a preference of your own. Owners can also store how-to notes for all."""
    added = add_memory(candor.memories, caller, memory.kind, memory.text)
    response.headers["Location"] = f"/v1/memories/{added.id}"
    return added


@router.put("/{memory_id}", responses=problem_responses(403, 404, 422, 503))
def edit(candor: CandorDep, caller: CurrentCaller, memory_id: MemoryId, words: NewWords) -> MemoryEntry:
    """Replace the text of a memory."""
    return edit_memory(candor.memories, caller, memory_id, words.text)


@router.delete("/{memory_id}", status_code=204, responses=problem_responses(403, 404, 503))
def forget(candor: CandorDep, caller: CurrentCaller, memory_id: MemoryId) -> None:
    """Delete a memory. It stays in the traces of runs that used it."""
    delete_memory(candor.memories, caller, memory_id)
