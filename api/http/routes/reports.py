"""The outlines of reports. A report itself is a run: ``POST /v1/research`` with ``report``."""

from api.http.deps import CandorDep, CurrentCaller
from api.http.errors import problem_responses
from api.http.router import make_router
from api.http.routes.runs.runs import RunId
from api.services.research.report import outline_of
from multi_agent.values.report import PlannedSection

router = make_router(prefix="/v1/reports", tags=["research"])


@router.get("/{run_id}/outline", responses=problem_responses(404, 422, 503))
def outline(candor: CandorDep, caller: CurrentCaller, run_id: RunId) -> list[PlannedSection]:
    """Get the outline of a report. A new report with these sections reuses the runs of those that were researched."""
    return list(outline_of(candor.trace, run_id, caller))
