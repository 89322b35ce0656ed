"""How long the audit keeps what it knows: as long as is set, and no secret is made of what was taken out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from api.auth import audit as api_audit
from api.auth.audit import AuditEntry, AuditQuery
from api.auth.audit_retention import BY, prune_daily
from api.auth.permissions import LOCAL_CALLER
from api.bootstrap import Candor
from api.settings import ServiceSettings
from support.service import RunningService


def remember(candor: Candor, *ages: int) -> None:
    """Requests that were made so many days ago."""
    now = datetime.now(UTC)
    some = AuditEntry(
        at=now, key="k", name="Ada", address="::1", action="GET /v1/runs", target="", collections=(), status=200
    )
    changes = [{"at": now - timedelta(days=age), "target": f"{age} days ago"} for age in ages]
    candor.audit.write([some.model_copy(update=each) for each in changes])


def told(candor: Candor) -> list[tuple[str, str, str]]:
    """Who, what and of what, the oldest first."""
    return [(each.name, each.action, each.target) for each in reversed(candor.audit.list(AuditQuery()))]


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not what():
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.02)


KEPT = ("Ada", "GET /v1/runs", "1 days ago")


def test_the_service_takes_out_what_is_too_old_and_records_that(make_candor: Callable[..., Candor]) -> None:
    candor = make_candor(service=ServiceSettings(audit_days=30))
    remember(candor, 400, 31, 1)
    with RunningService(candor):
        wait_for(lambda: len(told(candor)) == 2)
    assert told(candor) == [KEPT, (BY, "prune audit", "2 entries older than 30 days")]


def test_it_does_so_again_and_again(make_candor: Callable[..., Candor]) -> None:
    candor = make_candor()

    async def days_go_by() -> None:
        async with prune_daily(30, candor.audit, every_s=0.01):
            for age in (40, 50):
                remember(candor, age)
                await asyncio.to_thread(
                    wait_for, lambda: "GET /v1/runs" not in {action for _, action, _ in told(candor)}
                )

    asyncio.run(asyncio.wait_for(days_go_by(), 30))
    assert told(candor) == [(BY, "prune audit", "1 entries older than 30 days")] * 2


def test_a_year_is_kept_by_default_and_0_keeps_all(make_candor: Callable[..., Candor]) -> None:
    assert ServiceSettings().audit_days == 365
    candor = make_candor(service=ServiceSettings(audit_days=0))
    remember(candor, 4000)
    with RunningService(candor) as service:
        httpx.get(f"{service.url}/v1/collections")
    assert [target for _, _, target in told(candor)] == ["4000 days ago", "/v1/collections"]


def test_a_person_prunes_on_the_command_line(
    make_candor: Callable[..., Candor], run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_audit, "_DELETE_BATCH", 2)
    candor = make_candor()
    remember(candor, 8, 9, 10, 11, 12, 1)
    at = ("--home", candor.settings.home)
    assert run("audit", "prune", "--older-than", "7", "--json", *at).json == {"pruned": 5}
    assert run("audit", "prune", "--older-than", "7", *at).err == "Took out 0 entries.\n"
    assert told(candor) == [KEPT, (LOCAL_CALLER.name, "prune audit", "5 entries older than 7 days")]
    assert run("audit", "prune", *at).code == 2
