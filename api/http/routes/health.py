"""Liveness and readiness."""

import asyncio

from fastapi import Request, Response

from api.http.deps import CandorDep, OptionalCaller, PartsDep
from api.http.router import make_router
from base.models import FrozenModel
from multi_agent.llm.probe import Check

router = make_router(tags=["health"])

_LIMIT_S = 10
_SLOW = Check(
    name="parts", ok=False, detail=f"the database or the store did not answer within {_LIMIT_S} s",
    remedy="Check that Postgres and Qdrant run and are not frozen.",
)  # fmt: skip


class Health(FrozenModel):
    """The response of a live process."""

    ok: bool = True


class Readiness(FrozenModel):
    """The state of the database, the store, the embedding model, the search process and the research process."""

    ok: bool
    checks: tuple[Check, ...]


@router.get("/healthz")
async def healthz() -> Health:
    """Check whether the process responds."""
    return Health()


@router.get("/readyz", responses={503: {"model": Readiness, "description": "A check failed; see `checks`."}})
async def readyz(
    candor: CandorDep, parts: PartsDep, caller: OptionalCaller, request: Request, response: Response
) -> Readiness:
    """Check whether the service is ready. Responds with status 503 if a check fails. Does not use a language model.

    All clients get `ok`. Only owners get `checks`.
    """
    state = request.app.state
    running: asyncio.Future[tuple[Check, ...]] | None = getattr(state, "part_checks", None)
    if running is None or running.done():  # otherwise each request would block one more thread
        state.part_checks = running = asyncio.ensure_future(asyncio.to_thread(candor.doctor.check_parts))
    try:
        async with asyncio.timeout(_LIMIT_S):
            found = await asyncio.shield(running)
    except TimeoutError:
        found = (_SLOW,)
    search, worker = parts.searches, parts.worker
    own = (
        _check("search", search.failure, f"in process {search.pid}"),
        _check(
            "research", worker.failure if worker else "", f"in process {worker.pid}" if worker else "in the service"
        ),
    )
    checks = (*found, *own)
    ok = all(check.ok for check in checks)
    response.status_code = 200 if ok else 503
    return Readiness(ok=ok, checks=checks if caller and caller.is_admin else ())


def _check(name: str, failure: str, where: str) -> Check:
    """Check a process of the service, which is restarted if it ends."""
    if not failure:
        return Check(name=name, ok=True, detail=where)
    return Check(
        name=name, ok=False, detail=f"{failure} Another one is starting.",
        remedy="Wait a moment. If it does not start, read the service's log; the machine may be out of memory.",
    )  # fmt: skip
