"""The outlines of reports. A report itself is a run: ``POST /v1/research`` with ``report``."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Body, Path
from pydantic import Field

from api.auth.permissions import Right
from api.http.deps import CandorDep, CollectionsField, CurrentCaller, PartsDep
from api.http.errors import problem_responses
from api.http.router import make_router
from api.services.research.report import outline_of
from base.models import FrozenModel
from multi_agent.values.report import PlannedSection
from multi_agent.values.request import LONGEST

router = make_router(prefix="/v1/reports", tags=["research"])


class OutlineRequest(FrozenModel):
    """A report to plan."""

    question: str = Field(min_length=1, max_length=LONGEST, description="What the report is about.")
    collection: CollectionsField


_OUTLINE = [{"question": "How do the Borea pumps compare?", "collection": "papers"}]


@router.post("/outline", responses=problem_responses(404, 422, 429, 502, 503))
async def propose(
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    body: Annotated[OutlineRequest, Body(examples=_OUTLINE)],
) -> list[PlannedSection]:
    """Let the model propose an outline. Edit it, and send it with `POST /v1/research` as `report.sections`."""
    named = await asyncio.to_thread(candor.collections.resolve_for, caller, Right.READ, body.collection)
    library = await asyncio.to_thread(parts.pool.library, named)
    return list(await candor.outlines.propose(library, body.question, caller))


@router.get("/{run_id}/outline", responses=problem_responses(404, 422, 503))
def outline(
    candor: CandorDep,
    caller: CurrentCaller,
    run_id: Annotated[str, Path(description="Id of the report's run.", examples=["run_d65459f7e628"])],
) -> list[PlannedSection]:
    """Get the outline of a report. A new report with these sections reuses the runs of those that were researched."""
    return list(outline_of(candor.trace, run_id, caller))
