"""Errors travel from one process to another as what they are."""

from __future__ import annotations

import pickle
import threading

import pytest
import sqlalchemy as sql

from api.errors import ServiceEnding, in_words
from api.workers.channel import RemoteError
from multi_agent.errors import AgentError, ApprovalNotFound, LLMRateLimited
from vectorstore.errors import CollectionNotFound


def travelled(error: BaseException) -> BaseException:
    """The error as the other process raises it."""
    sent: RemoteError = pickle.loads(pickle.dumps(RemoteError.of(error)))
    return sent.error()


@pytest.mark.parametrize(
    "error",
    [
        AgentError("The question is empty; ask something."),
        CollectionNotFound("papers", ["notes"]),
        ApprovalNotFound("run_1-2"),
        LLMRateLimited("Too many.", retry_after=3.5),
        ServiceEnding(),
        KeyError("papers"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_the_same_there_whatever_it_is_made_of(error: Exception) -> None:
    there = travelled(error)
    assert (type(there), str(there)) == (type(error), str(error))
    assert vars(error).items() <= vars(there).items()


def test_where_it_came_up_is_told_with_it() -> None:
    def faulty() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no") as raised:
        faulty()
    [note] = travelled(raised.value).__notes__
    assert "in faulty" in note


def test_the_databases_own_words_come_along() -> None:
    with pytest.raises(sql.exc.OperationalError) as raised, sql.create_engine("sqlite://").connect() as connection:
        connection.execute(sql.text("SELECT * FROM nothing"))
    there = travelled(raised.value)
    assert isinstance(there, sql.exc.OperationalError)
    assert in_words(there) == in_words(raised.value)


def test_what_cannot_travel_is_told_in_words() -> None:
    class Here(Exception):
        """Which is not to be found anywhere else."""

    for error in (Here("broken"), RuntimeError("broken", threading.Lock())):
        there = travelled(error)
        assert isinstance(there, RuntimeError)
        assert "broken" in str(there)
