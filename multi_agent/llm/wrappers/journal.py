"""The journal of a run: its contract, its entries, and a journal in a file.

The journal records every answered model call. A resumed run takes finished responses from its journal instead of
calling the model. ``multi_agent/storage`` stores the journals of live runs in SQL. The file journal in this module is
for recordings, such as the recording of the demo.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Protocol, Self

from pydantic import AwareDatetime, BaseModel, Field, JsonValue, ValidationError

from base.models import FrozenModel
from multi_agent.errors import RecordingMissing
from multi_agent.llm.responses.schema import schema_of
from multi_agent.model import Completion, Exchange, LLMRequest, Message, ResponseT, Usage

CLAIM_CHECK = "ClaimCheck"
"""The response type of the check of claims, by which a replay knows whether the run had one."""


class JournalEntry(FrozenModel):
    """One answered request."""

    key: str = Field(description="hash of the request")
    occurrence: int = Field(ge=0, description="number among the equal requests of the run, from 0")
    caller: str = Field(default="", description="name of the agent or part that made the request")
    model: str
    messages: tuple[Message, ...]
    response_model: str = Field(description="name of the response type")
    value: JsonValue = Field(description="the accepted response")
    exchanges: tuple[Exchange, ...]
    usage: Usage
    recorded_at: AwareDatetime


class Journal(Protocol):
    """Storage for the entries of a run."""

    def find(self, key: str, occurrence: int) -> JournalEntry | None:
        """Return the entry of a request, or None if the request has not been answered."""
        ...

    def record(self, entry: JournalEntry) -> None:
        """Store the entry."""
        ...


def request_key(
    model: str, messages: Sequence[Message], response_model: type[BaseModel], *, varied: bool = False
) -> str:
    """Return a hash of everything that identifies a request: model, messages, response schema and ``varied``."""
    request: dict[str, Any] = {
        "model": model,
        "messages": [message.model_dump() for message in messages],
        "name": response_model.__name__,
        "schema": schema_of(response_model),
    }
    if varied:  # omitted otherwise, so that keys from before this field existed remain valid
        request["varied"] = True
    return hashlib.sha256(json.dumps(request, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class Occurrences:
    """Numbers the equal requests of one run from 0, over all its callers."""

    def __init__(self) -> None:
        self._claimed: defaultdict[str, set[int]] = defaultdict(set)

    def claim(self, key: str) -> int:
        """Return the lowest free number for ``key``.

        Requests call this before their first await, so concurrent equal requests get different numbers.
        """
        occurrence = next(number for number in count() if number not in self._claimed[key])
        self._claimed[key].add(occurrence)
        return occurrence

    def free(self, key: str, occurrence: int) -> None:
        """Make the number available again."""
        self._claimed[key].discard(occurrence)


def entry_of(completion: Completion[ResponseT], request: LLMRequest[ResponseT]) -> JournalEntry:
    """Return the entry of an answered request."""
    return JournalEntry(
        key=completion.key,
        occurrence=completion.occurrence,
        caller=request.caller,
        model=completion.model,
        messages=request.messages,
        response_model=type(completion.value).__name__,
        value=completion.value.model_dump(mode="json", by_alias=True),
        exchanges=completion.exchanges,
        usage=completion.usage,
        recorded_at=datetime.now(UTC),
    )


def completion_of(entry: JournalEntry, response_model: type[ResponseT]) -> Completion[ResponseT]:
    """Return the recorded response as a completion.

    Raises RecordingMissing if it is no longer valid for ``response_model``.
    """
    try:
        value = response_model.model_validate_json(json.dumps(entry.value))
    except ValidationError as error:
        caller = f" of {entry.caller!r}" if entry.caller else ""
        raise RecordingMissing(
            f"The recorded response {entry.key[:12]}{caller} is not a valid {response_model.__name__} "
            f"({error.error_count()} errors). The type changed after the recording. Record it again with a live model."
        ) from error
    return Completion(
        value=value,
        model=entry.model,
        usage=entry.usage,
        exchanges=entry.exchanges,
        key=entry.key,
        occurrence=entry.occurrence,
        replayed=True,
    )


class RecordedJournal:
    """A journal in memory that can be loaded from and saved to a file of JSON lines."""

    def __init__(self, entries: Iterable[JournalEntry] = ()) -> None:
        self._entries = {(entry.key, entry.occurrence): entry for entry in entries}

    @classmethod
    def load(cls, path: Path) -> Self:
        with path.open(encoding="utf-8") as lines:
            return cls(JournalEntry.model_validate_json(line) for line in lines if line.strip())

    def dump(self, path: Path) -> None:
        """Write all entries in the order in which they were recorded."""
        path.write_text("".join(f"{entry.model_dump_json()}\n" for entry in self.entries), encoding="utf-8")

    @property
    def entries(self) -> tuple[JournalEntry, ...]:
        return tuple(self._entries.values())

    def find(self, key: str, occurrence: int) -> JournalEntry | None:
        return self._entries.get((key, occurrence))

    def record(self, entry: JournalEntry) -> None:
        self._entries[entry.key, entry.occurrence] = entry
