"""Suggested questions of a collection."""

import asyncio

from api.auth.permissions import Right
from api.http.deps import CandorDep, CurrentCaller, PartsDep
from api.http.errors import problem_responses
from api.http.router import make_router
from api.http.routes.documents.ingest import CollectionName
from api.services.documents.suggested_questions import SuggestedQuestions

router = make_router(prefix="/v1/collections/{collection}/suggestions", tags=["documents"])


@router.get("", responses=problem_responses(404, 422, 503))
def suggestions(candor: CandorDep, caller: CurrentCaller, collection: CollectionName) -> SuggestedQuestions:
    """Get the stored questions that a model suggested for a collection."""
    caller.require(Right.READ, collection)
    candor.collections.require(collection)
    return candor.suggester.find(collection)


@router.post("", responses=problem_responses(404, 422, 503))
async def suggest(
    parts: PartsDep, candor: CandorDep, caller: CurrentCaller, collection: CollectionName
) -> SuggestedQuestions:
    """Let the model read passages of the collection and suggest questions. Replaces earlier suggestions."""
    caller.require(Right.WRITE, collection)
    library = (await asyncio.to_thread(parts.pool.get, collection)).library
    return await candor.suggester.make(library, caller)
