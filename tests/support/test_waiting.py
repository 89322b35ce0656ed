"""Tests wait long enough on a busy machine, and say what did not happen."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from api.bootstrap import Candor
from support import service
from support.service import RunningService
from support.waiting import LIMIT_S

TESTS = Path(__file__).parents[1]
BOUND = re.compile(r"(?:timeout=|\.wait\(|wait_for\(.*, |communicate\(|settimeout\()(\d[\d_]*)(?![\d.])")


def test_no_bound_is_a_short_literal() -> None:
    """A limit of one or two seconds is the subject of its test; the others are ``LIMIT_S``."""
    short = [
        f"{path.relative_to(TESTS)}: {line.strip()}"
        for path in TESTS.rglob("*.py")
        for line in path.read_text().splitlines()
        for found in BOUND.findall(line)
        if 2 < int(found) < LIMIT_S
    ]
    assert not short


def test_a_test_may_take_longer_than_one_wait(pytestconfig: pytest.Config) -> None:
    assert float(pytestconfig.getini("timeout")) > 2 * LIMIT_S


def test_a_service_that_does_not_stop_is_reported(
    make_candor: Callable[..., Candor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LIMIT_S", 0.1)
    leave = threading.Event()

    def hold_on() -> None:
        leave.wait()

    running = RunningService(make_candor())
    running._thread = threading.Thread(target=hold_on, daemon=True)
    running._thread.start()
    try:
        with pytest.raises(AssertionError, match=r"(?s)did not stop within 0\.1 s.*in hold_on"):
            running.__exit__()
    finally:
        leave.set()
        running._thread.join()
