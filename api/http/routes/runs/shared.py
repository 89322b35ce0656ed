"""Shared answers: pages for whoever has the link."""

from typing import Annotated

from fastapi import Path, Response

from api.http.deps import CandorDep, CurrentCaller
from api.http.errors import problem_responses
from api.http.router import make_router
from api.services.exports.export import Format
from api.services.research.runs import export_run

router = make_router(tags=["runs"])

Secret = Annotated[str, Path(description="Secret of the key.", examples=["candor_3f9a1c07be52_kZ8…"])]
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


@router.get("/shared/{key}", responses=problem_responses(404, 409, 503), response_class=Response)
async def shared(candor: CandorDep, caller: CurrentCaller, key: Secret) -> Response:
    """Get a shared answer as a page, with pictures of the pages that it cites.

    `POST /v1/keys` with `run_id` creates the key.
    """
    file = await export_run(candor.trace, caller.run, caller, Format.HTML, candor.documents, candor.pages)
    return Response(file.content, media_type=file.media_type, headers=_HEADERS)
