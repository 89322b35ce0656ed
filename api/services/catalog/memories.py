"""Memories of a caller, which are the caller's preferences and conversations and the shared how-to notes."""

from typing import Literal

from api.auth.permissions import Caller
from multi_agent.memory.memories import Memories, MemoryEntry


def add_memory(memories: Memories, caller: Caller, kind: Literal["preference", "how_to"], text: str) -> MemoryEntry:
    """Store a preference of the caller, or a how-to note if the caller is an owner. Raises Forbidden, AgentError."""
    if kind == "how_to":
        caller.require_admin()
    return memories.add(kind, text, caller.key)


def edit_memory(memories: Memories, caller: Caller, memory_id: str, text: str) -> MemoryEntry:
    """Replace the text of a memory. Raises NotKept, Forbidden, AgentError."""
    _require_change(memories, caller, memory_id)
    return memories.edit(memory_id, text, caller.key)


def delete_memory(memories: Memories, caller: Caller, memory_id: str) -> None:
    """Delete a memory. Raises NotKept, Forbidden."""
    _require_change(memories, caller, memory_id)
    memories.delete(memory_id, caller.key)


def _require_change(memories: Memories, caller: Caller, memory_id: str) -> None:
    """Raise NotKept for another caller's memory, Forbidden for a how-to note unless the caller is an owner."""
    if memories.get(memory_id, caller.key).kind == "how_to":
        caller.require_admin()
