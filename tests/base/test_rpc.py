"""Calls between processes: what arrives, how they end, and how they are cancelled."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

import api.problems  # noqa: F401 (imports the errors of all packages)
from api.errors import NotOurs, UsageError
from base.errors import Explained
from base.models import FrozenModel
from base.rpc import MAX_BYTES, Call, Cancel, Channel, Disconnected, MessageTooLong, answer, call, encode, to_failure
from multi_agent.errors import AgentError, LLMRateLimited, PlanError
from support.waiting import wait_for
from vectorstore.errors import CollectionNotFound

Work = Callable[[Call], Awaitable[bytes]]


class Question(FrozenModel):
    """A request."""

    text: str


@asynccontextmanager
async def answered_by(work: Work) -> AsyncIterator[Channel]:
    """Yield the channel of a caller whose call ``work`` answers."""
    ours, theirs = socket.socketpair()
    channel, answering = await Channel.over(ours), asyncio.create_task(answer(theirs, work))
    yield channel
    channel.close()
    await answering


async def ignore(_: bytes) -> None:
    """Do nothing with an item."""


async def test_items_and_the_result_arrive_in_order() -> None:
    heard: list[bytes] = []

    async def hear(item: bytes) -> None:
        heard.append(item)

    async def count(call: Call) -> bytes:
        for number in range(1000):
            call.publish(f"{number}\n".encode() * 100)
            await call.flush()
        return call.request

    async with answered_by(count) as channel:
        assert await call(channel, Question(text="how many?"), hear) == b'{"text":"how many?"}'
    assert heard == [f"{number}\n".encode() * 100 for number in range(1000)]


@pytest.mark.parametrize("pausing", [True, False])
async def test_a_call_is_cancelled_and_says_when_it_has_ended(pausing: bool) -> None:
    told: list[bool] = []

    async def work(call: Call) -> bytes:
        call.publish(b"started")
        try:
            await asyncio.Event().wait()
        finally:
            told.append(call.pausing)
        return b""

    async with answered_by(work) as channel:

        async def cancel(_: bytes) -> None:
            channel.write(Cancel(pausing=pausing))

        assert await call(channel, Question(text="?"), cancel) == b""
    assert told == [pausing]


async def test_the_work_goes_on_if_the_caller_ends() -> None:
    """Only the process knows what that means: a research process exits, and leaves its runs as they are."""
    started, ending, told = asyncio.Event(), asyncio.Event(), list[str]()

    async def work(call: Call) -> bytes:
        started.set()
        try:
            await ending.wait()
        except asyncio.CancelledError:
            told.append("cancelled")
            raise
        told.append("ended")
        return b""

    async with answered_by(work) as channel:
        channel.write(Question(text="?"))
        await wait_for(started.is_set)
        channel.close()
        with pytest.raises(Disconnected):
            await channel.read()
        for _ in range(100):  # turns of the event loop, in which the other end notices
            await asyncio.sleep(0)
        ending.set()
    assert told == ["ended"]


async def test_an_error_of_the_caller_is_raised_after_the_work_has_ended() -> None:
    ended: list[str] = []

    async def work(call: Call) -> bytes:
        call.publish(b"one")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("work")
        return b""

    async def fail(_: bytes) -> None:
        raise OSError("no space left")

    async with answered_by(work) as channel:
        with pytest.raises(OSError, match="no space left"):
            await call(channel, Question(text="?"), fail)
        assert ended == ["work"]


async def test_the_end_of_the_other_process_is_an_error() -> None:
    ours, theirs = socket.socketpair()
    channel = await Channel.over(ours)
    theirs.close()
    with pytest.raises(Disconnected):
        await call(channel, Question(text="?"), ignore)
    channel.close()


@pytest.mark.parametrize(
    "error",
    [
        AgentError("The question is empty."),
        CollectionNotFound("papers", ["notes"]),
        LLMRateLimited("Too many.", retry_after=3.5),
        PlanError("No plan.", written="{}", faults=["no step"]),
        UsageError("Wrong.").with_command("Right."),
        ValueError("no collection is open"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_exception_keeps_its_type_message_and_remedy(error: Exception) -> None:
    async def work(call: Call) -> bytes:
        raise error

    async with answered_by(work) as channel:
        with pytest.raises(type(error)) as received:
            await call(channel, Question(text="?"), ignore)
    assert str(received.value) == str(error)
    assert getattr(received.value, "command", "") == getattr(error, "command", "")
    if isinstance(error, LLMRateLimited):
        assert received.value.retry_after == 3.5


async def test_an_unexpected_exception_names_its_type_and_place() -> None:
    async def divide(call: Call) -> bytes:
        return bytes(1 // 0)

    async with answered_by(divide) as channel:
        with pytest.raises(RuntimeError, match="ZeroDivisionError: integer division") as received:
            await call(channel, Question(text="?"), ignore)
    [note] = received.value.__notes__
    assert "in divide" in note


def test_the_names_of_the_errors_tell_them_apart() -> None:
    def kinds(base: type) -> Iterator[type]:
        for kind in base.__subclasses__():
            yield kind
            yield from kinds(kind)

    ours = {kind for kind in kinds(Explained) if kind.__module__.split(".")[0] not in ("tests", "test_rpc")}
    assert NotOurs in ours
    assert [name for name, times in Counter(kind.__name__ for kind in ours).items() if times > 1] == []


def test_a_message_that_is_too_long_is_refused() -> None:
    with pytest.raises(MessageTooLong, match="takes 64 MiB"):
        encode(Question(text="?"), bytes(MAX_BYTES))
    assert to_failure(ValueError("x")).trace == ""
