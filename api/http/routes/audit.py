"""Who did what."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.auth.audit import AuditEntry, AuditQuery
from api.http.deps import CurrentCaller, Served
from api.http.errors import problems

router = APIRouter(prefix="/v1/audit", tags=["keys"])


@router.get("", responses=problems(422, 503))
def audit(
    service: Served, caller: CurrentCaller, request: Request, response: Response, query: Annotated[AuditQuery, Query()]
) -> list[AuditEntry]:
    """Who read or changed what, when, and from where, the newest first. The `Link` header names the next page."""
    caller.require_admin()
    found = service.candor.audit.list(query)
    if len(found) == query.limit:
        following = request.url.include_query_params(before=found[-1].id)
        response.headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
    return found
