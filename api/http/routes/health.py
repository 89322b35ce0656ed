"""Is it alive, and can it work?"""

from __future__ import annotations

from fastapi import APIRouter, Response

from api.http.deps import OptionalCaller, Served
from api.services.doctor import check_parts
from api.workers.contract import Researcher
from multi_agent.llm.probe import Check
from vectorstore.models import FrozenModel

router = APIRouter(tags=["health"])


class Health(FrozenModel):
    """The service answers."""

    ok: bool = True


class Readiness(FrozenModel):
    """Whether database, store, embedding model and research work. Nothing is asked of the language model here."""

    ok: bool
    checks: tuple[Check, ...]


@router.get("/healthz")
async def healthz() -> Health:
    """Whether the process answers at all."""
    return Health()


@router.get("/readyz", responses={503: {"model": Readiness, "description": "A part does not work; it says which."}})
def readyz(service: Served, caller: OptionalCaller, response: Response) -> Readiness:
    """Whether it can work; 503 with what is missing and what to do. `candor doctor` asks the language model, too.

    Anybody is told whether it can; what works and what does not, only who may do everything.
    """
    checks = (*check_parts(service.candor), _research(service.researcher))
    ok = all(check.ok for check in checks)
    response.status_code = 200 if ok else 503
    return Readiness(ok=ok, checks=checks if caller and caller.is_admin else ())


def _research(researcher: Researcher) -> Check:
    if researcher.unavailable_reason:
        remedy = (
            "The service's log may tell why, such as that memory ran out. The next question tries to start another."
        )
        return Check(
            name="research",
            ok=False,
            detail=f"{researcher.unavailable_reason} It had not begun to work.",
            remedy=remedy,
        )
    where = f"in process {researcher.pid}" if researcher.pid else "in no process of its own now"
    return Check(name="research", ok=True, detail=where)
