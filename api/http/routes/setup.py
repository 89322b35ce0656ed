"""The setup of the service: its default model, a trial of that model, and the number of collections."""

from __future__ import annotations

from api.http.deps import CandorDep, Owner
from api.http.errors import problem_responses
from api.http.router import make_router
from api.services.doctor import Setup, Trial

router = make_router(prefix="/v1/setup", tags=["setup"])


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
