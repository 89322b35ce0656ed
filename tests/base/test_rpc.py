"""Messages between processes: what arrives, and what exceptions keep."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Iterator

import pytest

import api.problems  # noqa: F401 (imports the errors of all packages)
from api.errors import NotOurs, UsageError
from base.errors import Explained
from base.models import FrozenModel
from base.rpc import MAX_BYTES, Channel, Disconnected, Failure, MessageTooLong, encode, to_failure
from multi_agent.errors import AgentError, LLMRateLimited, PlanError
from vectorstore.errors import CollectionNotFound


class Question(FrozenModel):
    """A request."""

    text: str


async def test_messages_arrive_in_order() -> None:
    ours, theirs = [await Channel.over(end) for end in socket.socketpair()]
    sent = [(Question(text=f"line\n{number}"), f"{number}\n".encode() * 100) for number in range(1000)]

    async def send() -> None:
        for header, body in sent:
            ours.write(header, body)
            await ours.flush()

    sending = asyncio.create_task(send())
    received = [await theirs.read() for _ in sent]
    await sending
    assert [(Question.model_validate_json(header), body) for header, body in received] == sent
    ours.close()
    theirs.close()


async def test_the_end_of_the_other_process_is_an_error() -> None:
    ours, theirs = socket.socketpair()
    channel = await Channel.over(ours)
    theirs.close()
    with pytest.raises(Disconnected):
        await channel.read()
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
def test_an_exception_keeps_its_type_message_and_remedy(error: Exception) -> None:
    received = over_the_wire(error)
    assert type(received) is type(error)
    assert str(received) == str(error)
    assert getattr(received, "command", "") == getattr(error, "command", "")
    if isinstance(error, LLMRateLimited):
        assert received.retry_after == 3.5


def test_an_unexpected_exception_names_its_type_and_place() -> None:
    def divide() -> float:
        return 1 / 0

    with pytest.raises(ZeroDivisionError) as raised:
        divide()
    received = over_the_wire(raised.value)
    assert isinstance(received, RuntimeError)
    assert str(received) == "ZeroDivisionError: division by zero"
    [note] = received.__notes__
    assert "in divide" in note


def over_the_wire(error: Exception) -> Exception:
    """Return an exception as the other process raises it."""
    return Failure.model_validate_json(to_failure(error).model_dump_json()).to_exception()


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
