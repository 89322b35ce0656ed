"""Measures of the service, for Prometheus."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from api.http.deps import CurrentCaller
from api.http.errors import problems
from api.http.middleware.metrics import CONTENT_TYPE, Metrics

router = APIRouter(tags=["health"])

_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "In Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


@router.get("/metrics", responses=_TEXT | problems(403, 503), response_class=Response)
def metrics(request: Request, caller: CurrentCaller) -> Response:
    """Runs by state, model calls and their time and tokens, agents' turns, requests, followers, documents, memory.

    They tell of all collections and their names: they are for who has the right 'admin' over all.
    """
    caller.require_admin()
    measured: Metrics = request.app.state.metrics
    return Response(measured.text(), media_type=CONTENT_TYPE)
