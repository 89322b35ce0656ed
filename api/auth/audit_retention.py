"""Deletes old entries of the audit log while the service runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.exc import SQLAlchemyError

from api.auth.audit import Audit

log = logging.getLogger(__name__)

BY = "the service"
_DAY_S = 24 * 60 * 60


@asynccontextmanager
async def prune_daily(days: int, audit: Audit, every_s: float = _DAY_S) -> AsyncIterator[None]:
    """Delete entries older than ``days`` days now and once a day, in the background. With 0 days, keep all."""
    pruning = asyncio.create_task(_prune(days, audit, every_s)) if days else None
    try:
        yield
    finally:
        if pruning:
            pruning.cancel()
            await asyncio.wait({pruning})


async def _prune(days: int, audit: Audit, every_s: float) -> None:
    while True:
        try:
            await asyncio.to_thread(audit.prune, days, BY)
        except SQLAlchemyError as error:
            log.warning("Could not delete old audit entries, will retry later: %s", error)
        await asyncio.sleep(every_s)
