"""Ctrl-C during a transaction of the ledger."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from ingest.ledger.interrupts import INTERRUPTS
from ingest.ledger.schema import database


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    previous = signal.signal(signal.SIGINT, INTERRUPTS.interrupt)
    yield
    signal.signal(signal.SIGINT, previous)


def test_ctrl_c_is_raised_after_the_transaction() -> None:
    done = []

    def transactions() -> None:
        with database():
            with database():
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
                done.append("inner block")
            done.append("outer block")

    with pytest.raises(KeyboardInterrupt):
        transactions()
    with database():
        done.append("next block")
    assert done == ["inner block", "outer block", "next block"]


def test_ctrl_c_outside_a_transaction_is_raised_at_once() -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
