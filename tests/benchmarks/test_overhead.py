"""The part of benchmarks/overhead.py that computes the time of waiting."""

from __future__ import annotations

import pytest

from benchmarks.overhead import DELAY_S, Call, waiting


@pytest.mark.parametrize(
    ("starts", "delays"),
    [
        ([], 0),
        ([0], 1),
        ([0, 10], 2),  # one after another
        ([0, 0, 0], 1),  # all at once
        ([0, 0.5], 1.5),  # the second starts while the first waits
        ([0.5, 0], 1.5),  # in any order
        ([0, 0.2, 0.8, 5], 2.8),
    ],
)
def test_waiting_counts_time_with_several_calls_once(starts: list[float], delays: float) -> None:
    calls = [Call(start * DELAY_S, (start + 1) * DELAY_S, {}) for start in starts]
    assert waiting(calls) == pytest.approx(delays * DELAY_S)
