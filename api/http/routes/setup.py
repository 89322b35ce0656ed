"""The setup of the service: its default model, a trial of that model, and the number of collections."""

from __future__ import annotations

from api.http.deps import CandorDep, CurrentCaller, Owner
from api.http.errors import problem_responses
from api.http.router import make_router
from api.services.doctor import Setup, Trial
from base.models import FrozenModel
from multi_agent.llm.probe import Check

router = make_router(prefix="/v1/setup", tags=["setup"])


class ModelState(FrozenModel):
    """Whether the default model can be asked. Only owners get `checks`, because they name the endpoint."""

    model: str
    reachable: bool
    checks: tuple[Check, ...]


@router.get("/model", responses=problem_responses(503))
async def model(candor: CandorDep, caller: CurrentCaller) -> ModelState:
    """Check whether the endpoint of the default model responds and offers it. Sends no request to the model."""
    checks = await candor.doctor.check_model()
    shown = checks if caller.is_admin else ()
    return ModelState(model=candor.settings.llm.model, reachable=all(check.ok for check in checks), checks=shown)


@router.get("", responses=problem_responses(503))
async def setup(candor: CandorDep, caller: Owner) -> Setup:
    """Get the default model, whether its endpoint offers it, and the number of collections.

    Sends no request to the model. Only owners may call this.
    """
    return await candor.doctor.setup()


@router.post("/trial", responses=problem_responses(503))
async def trial(candor: CandorDep, caller: Owner) -> Trial:
    """Send test requests to the default model, as `candor doctor` does. Takes seconds to minutes.

    Checks the endpoint, the context window, structured output, speed and pictures. Only owners may call this.
    """
    return await candor.doctor.try_model()
