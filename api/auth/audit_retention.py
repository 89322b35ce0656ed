"""What is kept for a time only: entries of the audit, taken out when they are too old while the service is up."""

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
async def keeping_so_long(days: int, audit: Audit, every_s: float = _DAY_S) -> AsyncIterator[None]:
    """Within this, what is older than so many days is taken out of the audit, now and once a day; 0 keeps all."""
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
            log.warning("Old entries could not be taken out of the audit; that is tried again later: %s", error)
        await asyncio.sleep(every_s)
