"""What was asked and answered: the contract of a journal, the wrapper that keeps one, and a journal in a file.

A run asked again with its journal gets its finished answers from there, without the model. The journal of live runs
is kept in SQL, by ``multi_agent/tracing``; the one here holds recordings, as for the demo.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from copy import copy
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Protocol, Self

from pydantic import AwareDatetime, BaseModel, Field, JsonValue, ValidationError

from multi_agent.errors import RecordingMissing
from multi_agent.llm.llm import LLM, Completion, Exchange, Hear, Message, ResponseT, Usage
from multi_agent.llm.schema import schema_of
from vectorstore.models import FrozenModel


class JournalEntry(FrozenModel):
    """One answered request."""

    key: str = Field(description="hash of the request")
    occurrence: int = Field(ge=0, description="how many equal requests the run had made before it")
    caller: str = Field(default="", description="who asked, for people")
    model: str
    messages: tuple[Message, ...]
    response_model: str = Field(description="name of the type that was asked for")
    value: JsonValue = Field(description="the accepted response")
    exchanges: tuple[Exchange, ...]
    usage: Usage
    recorded_at: AwareDatetime


class Journal(Protocol):
    """Where a run's entries are kept."""

    def find(self, key: str, occurrence: int) -> JournalEntry | None:
        """The entry of that request, or None if it has not been answered yet."""
        ...

    def record(self, entry: JournalEntry) -> None:
        """Keep the entry, durably if the journal is durable at all."""
        ...


def request_key(
    model: str, messages: Sequence[Message], response_model: type[BaseModel], *, varied: bool = False
) -> str:
    """Hash of all that makes two requests the same: model, messages, the schema of the response, and whether it is one
    of several answers.
    """
    request: dict[str, Any] = {
        "model": model,
        "messages": [message.model_dump() for message in messages],
        "name": response_model.__name__,
        "schema": schema_of(response_model),
    }
    if varied:  # left out otherwise, so that keys from before there was such a thing still hold
        request["varied"] = True
    return hashlib.sha256(json.dumps(request, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class JournalingLLM:
    """An LLM that asks only what its journal has no answer to. Make one per run, and of it one for each caller:

        run_llm = JournalingLLM(llm, journal)
        agent_llm = run_llm.called_by("Extractor")

    It numbers equal requests from 0, over all callers. A request that failed gives its number back, so that the same
    request made again is the same occurrence. A step that is repeated as a whole begins with ``release()``: what its
    first try was answered, the journal answers then.
    """

    def __init__(self, inner: LLM, journal: Journal) -> None:
        self._inner = inner
        self._journal = journal
        self._caller = ""
        self._taken: defaultdict[str, set[int]] = defaultdict(set)
        self._mine: set[tuple[str, int]] = set()

    @property
    def model(self) -> str:
        return self._inner.model

    def called_by(self, caller: str, inner: LLM | None = None) -> JournalingLLM:
        """The same LLM, or another, with the same numbering; what it records is labelled with the caller."""
        labelled = copy(self)
        labelled._caller = caller
        labelled._inner = inner or self._inner
        labelled._mine = set()
        return labelled

    def release(self) -> None:
        """Give back the numbers of all that this caller asked, so that the same requests, made again, are the same
        occurrences. Call it when none of them is under way any more.
        """
        for key, occurrence in self._mine:
            self._taken[key].discard(occurrence)
        self._mine.clear()

    async def complete(
        self,
        messages: Sequence[Message],
        response_model: type[ResponseT],
        *,
        varied: bool = False,
        hear: Hear | None = None,
    ) -> Completion[ResponseT]:
        key = request_key(self.model, messages, response_model, varied=varied)
        occurrence = self._take(key)
        if known := self._journal.find(key, occurrence):
            return _restore(known, response_model)
        try:
            completion = await self._inner.complete(messages, response_model, varied=varied, hear=hear)
        except BaseException:  # cancellation, too, leaves the request unanswered
            self._give_back(key, occurrence)
            raise
        completion = completion.model_copy(update={"key": key, "occurrence": occurrence})
        self._journal.record(self._entry(messages, completion))
        return completion

    def _take(self, key: str) -> int:
        """The lowest number that is free. Call it before the first await, so that equal requests side by side get
        numbers of their own.
        """
        occurrence = next(number for number in count() if number not in self._taken[key])
        self._taken[key].add(occurrence)
        self._mine.add((key, occurrence))
        return occurrence

    def _give_back(self, key: str, occurrence: int) -> None:
        if (key, occurrence) in self._mine:  # after a release it may be someone else's
            self._mine.discard((key, occurrence))
            self._taken[key].discard(occurrence)

    def _entry(self, messages: Sequence[Message], completion: Completion[ResponseT]) -> JournalEntry:
        return JournalEntry(
            key=completion.key,
            occurrence=completion.occurrence,
            caller=self._caller,
            model=completion.model,
            messages=tuple(messages),
            response_model=type(completion.value).__name__,
            value=completion.value.model_dump(mode="json", by_alias=True),
            exchanges=completion.exchanges,
            usage=completion.usage,
            recorded_at=datetime.now(UTC),
        )


def _restore(entry: JournalEntry, response_model: type[ResponseT]) -> Completion[ResponseT]:
    try:
        value = response_model.model_validate_json(json.dumps(entry.value))
    except ValidationError as error:
        raise RecordingMissing(
            f"The recorded response {entry.key[:12]} is no valid {entry.response_model} any more: the rules of that "
            f"type changed after it was recorded ({error.error_count()} faults). Ask anew, with a live model."
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
    """A journal in memory, read from and written to a file of JSON lines."""

    def __init__(self, entries: Iterable[JournalEntry] = ()) -> None:
        self._entries = {(entry.key, entry.occurrence): entry for entry in entries}

    @classmethod
    def load(cls, path: Path) -> Self:
        with path.open(encoding="utf-8") as lines:
            return cls(JournalEntry.model_validate_json(line) for line in lines if line.strip())

    def dump(self, path: Path) -> None:
        """Write all entries, in the order in which they were recorded."""
        path.write_text("".join(f"{entry.model_dump_json()}\n" for entry in self.entries), encoding="utf-8")

    @property
    def entries(self) -> tuple[JournalEntry, ...]:
        return tuple(self._entries.values())

    def find(self, key: str, occurrence: int) -> JournalEntry | None:
        return self._entries.get((key, occurrence))

    def record(self, entry: JournalEntry) -> None:
        self._entries[entry.key, entry.occurrence] = entry
