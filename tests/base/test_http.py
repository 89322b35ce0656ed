"""What endpoints of models say, and which of them are on this machine."""

from __future__ import annotations

import pytest

from base.http import excerpt, is_loopback, retry_after


@pytest.mark.parametrize(
    "host", ["localhost", "models.localhost", "127.0.0.1", "127.8.0.1", "[::1]", "0.0.0.0", "[::]"]
)
def test_an_address_of_this_machine_is_not_reached_through_a_proxy(host: str) -> None:
    assert is_loopback(f"http://{host}:11434/v1")


@pytest.mark.parametrize("host", ["example.com", "localhost.example.com", "10.0.0.1", "[2001:db8::1]"])
def test_other_addresses_are_elsewhere(host: str) -> None:
    assert not is_loopback(f"http://{host}/v1")


def test_only_a_text_that_is_too_long_is_cut() -> None:
    assert (excerpt(" no\n such  model ", 13), excerpt("no such model", 12)) == ("no such model", "no such mode…")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2.5", 2.5),
        ("-1", 0.0),
        ("inf", None),
        ("nan", None),
        ("soon", None),
        ("1 Jan 2026 10:00:00 +" + "9" * 17, None),
    ],
)
def test_the_pause_that_a_server_asks_for_is_a_number_or_unknown(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}) == seconds
