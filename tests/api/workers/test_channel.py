"""Exceptions keep their type, message and state on the way to another process."""

from __future__ import annotations

import pickle
import threading

import pytest
import sqlalchemy as sql

from api.errors import ServiceEnding, error_message
from api.workers.channel import RemoteError
from multi_agent.errors import AgentError, ApprovalNotFound, LLMRateLimited
from vectorstore.errors import CollectionNotFound


def transfer(error: BaseException) -> BaseException:
    """Return the exception as the other process raises it."""
    received: RemoteError = pickle.loads(pickle.dumps(RemoteError.from_exception(error)))
    return received.to_exception()


@pytest.mark.parametrize(
    "error",
    [
        AgentError("The question is empty."),
        CollectionNotFound("papers", ["notes"]),
        ApprovalNotFound("run_1-2"),
        LLMRateLimited("Too many.", retry_after=3.5),
        ServiceEnding(),
        KeyError("papers"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_exception_keeps_its_type_message_and_state(error: Exception) -> None:
    received = transfer(error)
    assert (type(received), str(received)) == (type(error), str(error))
    assert vars(error).items() <= vars(received).items()


def test_a_note_holds_the_original_traceback() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no") as raised:
        fail()
    [note] = transfer(raised.value).__notes__
    assert "in fail" in note


def test_the_message_of_a_database_error_is_kept() -> None:
    with pytest.raises(sql.exc.OperationalError) as raised, sql.create_engine("sqlite://").connect() as connection:
        connection.execute(sql.text("SELECT * FROM nothing"))
    received = transfer(raised.value)
    assert isinstance(received, sql.exc.OperationalError)
    assert error_message(received) == error_message(raised.value)


def test_an_unpicklable_exception_becomes_a_runtime_error() -> None:
    class LocalError(Exception):
        """Cannot be imported by another process."""

    for error in (LocalError("broken"), RuntimeError("broken", threading.Lock())):
        received = transfer(error)
        assert isinstance(received, RuntimeError)
        assert "broken" in str(received)
