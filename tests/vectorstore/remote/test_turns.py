"""Urgent requests go first in the search process."""

from __future__ import annotations

import threading

import pytest

from support.waiting import LIMIT_S
from vectorstore.remote import server
from vectorstore.remote.server import Turns


def test_others_wait_until_no_urgent_request_is_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_WAIT_S", LIMIT_S)
    turns, order = Turns(), list[str]()

    def other() -> None:
        with turns.other():
            order.append("other")

    waiting = threading.Thread(target=other)
    with turns.urgent():
        waiting.start()
        waiting.join(0.05)
        with turns.urgent():
            order.append("urgent")
    waiting.join()
    assert order == ["urgent", "other"]


def test_others_wait_only_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_WAIT_S", 0.01)
    turns = Turns()
    with turns.urgent(), turns.other():
        pass


def test_a_failed_request_ends_its_turn() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="broken"), turns.urgent():
        raise ValueError("broken")
    with turns.other():
        pass
