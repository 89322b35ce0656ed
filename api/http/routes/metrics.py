"""Metrics of the service, for Prometheus."""

from typing import Any

from fastapi import Request, Response

from api.http.deps import Owner
from api.http.errors import problem_responses
from api.http.middleware.metrics import CONTENT_TYPE, Metrics
from api.http.router import make_router

router = make_router(tags=["health"])

_TEXT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Metrics in Prometheus text format.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


@router.get("/metrics", responses=_TEXT | problem_responses(403, 503), response_class=Response)
def metrics(request: Request, caller: Owner) -> Response:
    """Get metrics of runs, model calls, steps, requests, open streams, documents, memory and processor time.

    They name all collections, so they require the right 'admin' over all collections.
    """
    metrics: Metrics = request.app.state.metrics
    return Response(metrics.text(), media_type=CONTENT_TYPE)
