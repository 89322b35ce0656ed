"""The audit log."""

from typing import Annotated

from fastapi import Query, Request, Response

from api.auth.audit import AuditEntry, AuditQuery
from api.http.deps import CandorDep, Owner
from api.http.errors import problem_responses
from api.http.paging import link_next
from api.http.router import make_router

router = make_router(prefix="/v1/audit", tags=["keys"])


@router.get("", responses=problem_responses(422, 503))
def audit(
    candor: CandorDep,
    caller: Owner,
    request: Request,
    response: Response,
    query: Annotated[AuditQuery, Query()],
) -> list[AuditEntry]:
    """List who read or changed what, when, and from where, newest first. The `Link` header names the next page."""
    found = candor.audit.list(query)
    if len(found) == query.limit:
        link_next(request, response, before=found[-1].id)
    return found
