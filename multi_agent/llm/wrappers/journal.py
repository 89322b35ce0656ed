"""The journal of a run, and the models of a run, whose calls it records.

The journal records every answered model call. A resumed run takes finished responses from its journal instead of
calling the model. ``multi_agent/storage`` stores the journals of live runs in SQL. The file journal in this module is
for recordings, such as the recording of the demo.

Every call of an agent, or of a part of the supervisor, passes through ``RunLLM``:

1. ``answer`` labels the request with its caller, and publishes how the call ended, also if the journal answered it. 2.
``_recorded_or_sent`` numbers the request among the equal ones of the run, and answers it from the journal. 3.
``_send`` checks the budget, which answers from the journal do not use, 4. publishes the expected duration, 5. and
calls the model. ``_recorded_or_sent`` then records its response.
"""

import asyncio
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Protocol, Self

from pydantic import AwareDatetime, BaseModel, Field, JsonValue, ValidationError

from base.models import FrozenModel
from multi_agent.errors import LLMError, RecordingMissing
from multi_agent.llm.responses.schema import schema_of
from multi_agent.llm.wrappers.requests import estimate_prompt
from multi_agent.llm.wrappers.usage import BudgetUsage, Pace
from multi_agent.model import LLM, Completion, LLMRequest, LLMWrapper, Message, ModelResponse, ResponseT, Usage
from multi_agent.settings.research import Budget
from multi_agent.values.bus import Publish
from multi_agent.values.events import Body, ModelCalled, ModelFailed, ResponseRepaired

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
    exchanges: tuple[ModelResponse, ...]
    usage: Usage
    recorded_at: AwareDatetime


class Journal(Protocol):
    """Storage for the entries of a run."""

    def find(self, key: str, occurrence: int) -> JournalEntry | None:
        """Return the entry of a request, or None if the request has not been answered."""
        ...

    def earlier(self, key: str) -> JournalEntry | None:
        """Return the entry of an earlier run over the same collection. None if there is none."""
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

    def earlier(self, key: str) -> JournalEntry | None:
        return None

    def record(self, entry: JournalEntry) -> None:
        self._entries[entry.key, entry.occurrence] = entry


@dataclass(frozen=True)
class RunCalls:
    """What the model calls of a run share. ``pace`` estimates their duration from earlier calls of the process."""

    journal: Journal = field(default_factory=RecordedJournal)
    budget: Budget = field(default_factory=Budget)
    spent: BudgetUsage = field(default_factory=BudgetUsage)
    pace: Pace = field(default_factory=Pace)
    occurrences: Occurrences = field(default_factory=Occurrences)


async def _unheard(_: Body) -> None:
    """Publish nothing."""


class RunLLM(LLMWrapper):
    """The model of one caller in a run, or of one step of an agent. ``varied`` makes every request a sample.

    A failed request frees its number, so the same request gets the same number when it is made again. Call ``release``
    before a whole step is repeated. Then the journal answers the requests that its first attempt completed.
    """

    def __init__(
        self, model: LLM, calls: RunCalls, caller: str = "", publish: Publish = _unheard, *, varied: bool = False
    ) -> None:
        super().__init__(model)
        self._calls, self._caller, self._publish, self._varied = calls, caller, publish, varied
        self._claimed: set[tuple[str, int]] = set()
        self.usage = Usage()
        """The usage of its calls, including failed ones and those that the journal answered."""

    def release(self) -> None:
        """Free the numbers of all requests made through this LLM. None of them may be in progress."""
        for key, occurrence in self._claimed:
            self._calls.occurrences.free(key, occurrence)
        self._claimed.clear()

    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        request = replace(request, caller=self._caller, varied=self._varied or request.varied)
        key = request_key(self.model, request.messages, request.response_model, varied=request.varied)
        try:
            completion = await self._recorded_or_sent(request, key)
        except LLMError as error:
            self.usage += error.usage
            await self._publish(_failure(error, request, self.model, key))
            raise
        self.usage += completion.usage
        if repairs := tuple(repair for exchange in completion.exchanges for repair in exchange.repairs):
            await self._publish(ResponseRepaired(caller=request.caller, repairs=repairs))
        await self._publish(_success(completion, request))
        return completion

    async def _recorded_or_sent(self, request: LLMRequest[ResponseT], key: str) -> Completion[ResponseT]:
        occurrence = self._calls.occurrences.claim(key)
        self._claimed.add((key, occurrence))
        try:
            if recorded := self._calls.journal.find(key, occurrence):
                return completion_of(recorded, request.response_model)
            if request.reuse and (earlier := await asyncio.to_thread(self._calls.journal.earlier, key)):
                entry = earlier.model_copy(update={"occurrence": occurrence, "usage": Usage()})
                with suppress(RecordingMissing):  # the type has changed since
                    completion = completion_of(entry, request.response_model)
                    self._calls.journal.record(entry)
                    return completion
            completion = await self._send(request, key)
        except BaseException:  # a cancelled request is unanswered, too
            self._free(key, occurrence)
            raise
        completion = completion.model_copy(update={"key": key, "occurrence": occurrence})
        self._calls.journal.record(entry_of(completion, request))
        return completion

    async def _send(self, request: LLMRequest[ResponseT], key: str) -> Completion[ResponseT]:
        calls, prompt_tokens = self._calls, estimate_prompt(request.messages)
        expected = Usage(model_calls=1, prompt_tokens=prompt_tokens)
        calls.spent.require(expected, calls.budget)
        with calls.spent.reserve(expected):
            asked = calls.pace.expect(self.model, request.caller, prompt_tokens)
            await self._publish(asked.model_copy(update={"key": key}))
            completion = await self._inner.answer(request)
        calls.spent.usage += completion.usage
        return completion

    def _free(self, key: str, occurrence: int) -> None:
        if (key, occurrence) in self._claimed:  # after ``release``, another caller may have claimed it
            self._claimed.discard((key, occurrence))
            self._calls.occurrences.free(key, occurrence)


def _failure(error: LLMError, request: LLMRequest[ResponseT], model: str, key: str) -> ModelFailed:
    return ModelFailed(
        caller=request.caller,
        model=model,
        error_type=type(error).__name__,
        error=str(error),
        usage=error.usage,
        faults=tuple(exchange.fault for exchange in error.exchanges),
        key=key,
    )


def _success(completion: Completion[ResponseT], request: LLMRequest[ResponseT]) -> ModelCalled:
    return ModelCalled(
        caller=request.caller,
        model=completion.model,
        key=completion.key,
        occurrence=completion.occurrence,
        replayed=completion.replayed,
        usage=completion.usage,
        faults=tuple(exchange.fault for exchange in completion.exchanges if exchange.fault),
        finish_reason=completion.exchanges[-1].finish_reason,
        response_model=completion.exchanges[-1].model,
    )
