"""Numbers with nouns."""

from __future__ import annotations

from base.counts import count


def test_one_takes_the_singular_and_all_others_the_plural() -> None:
    assert [count(number, "passage") for number in (0, 1, 2000)] == ["0 passages", "1 passage", "2,000 passages"]
    assert count(2, "retry", "retries") == "2 retries"
