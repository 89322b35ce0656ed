"""Old audit entries are deleted, and each deletion is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from api.auth import audit as api_audit
from api.auth.audit import BY, AuditEntry, AuditQuery, every_day
from api.bootstrap import Candor
from api.settings import ServiceSettings
from support.service import RunningService
from support.waiting import LIMIT_S, until, wait_for


def add_entries(candor: Candor, *ages: int) -> None:
    """Record requests of so many days ago."""
    now = datetime.now(UTC)
    entry = AuditEntry(
        at=now, key="k", name="Ada", address="::1", action="GET /v1/runs", target="", collections=(), status=200
    )
    changes = [{"at": now - timedelta(days=age), "target": f"{age} days ago"} for age in ages]
    candor.audit.write([entry.model_copy(update=each) for each in changes])


def entries(candor: Candor) -> list[tuple[str, str, str]]:
    """Return name, action and target of all entries, oldest first."""
    return [(each.name, each.action, each.target) for each in reversed(candor.audit.list(AuditQuery()))]


KEPT = ("Ada", "GET /v1/runs", "1 days ago")


def test_the_service_deletes_old_entries(make_candor: Callable[..., Candor]) -> None:
    candor = make_candor(service=ServiceSettings(audit_days=30))
    add_entries(candor, 400, 31, 1)
    with RunningService(candor):
        until(lambda: len(entries(candor)) == 2)
    assert entries(candor) == [KEPT, (BY, "prune audit", "2 entries older than 30 days")]


def test_the_service_deletes_old_entries_daily(make_candor: Callable[..., Candor]) -> None:
    candor = make_candor()

    async def run_for_days() -> None:
        pruning = asyncio.create_task(every_day(lambda: candor.audit.prune(30, BY), every_s=0.01))
        for age in (40, 50):
            add_entries(candor, age)
            await wait_for(lambda: "GET /v1/runs" not in {action for _, action, _ in entries(candor)})
        pruning.cancel()

    asyncio.run(run_for_days())
    assert entries(candor) == [(BY, "prune audit", "1 entries older than 30 days")] * 2


def test_zero_days_keeps_all_entries(make_candor: Callable[..., Candor]) -> None:
    assert ServiceSettings().audit_days == 365
    candor = make_candor(service=ServiceSettings(audit_days=0))
    add_entries(candor, 4000)
    with RunningService(candor) as service:
        httpx.get(f"{service.url}/v1/collections", timeout=LIMIT_S)
    assert [target for _, _, target in entries(candor)] == ["4000 days ago", "/v1/collections"]


def test_entries_are_pruned_in_batches(make_candor: Callable[..., Candor], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_audit, "_DELETE_BATCH", 2)
    candor = make_candor()
    add_entries(candor, 8, 9, 10, 11, 12, 1)
    assert [candor.audit.prune(7, BY) for _ in range(2)] == [5, 0]
    assert entries(candor) == [KEPT, (BY, "prune audit", "5 entries older than 7 days")]
