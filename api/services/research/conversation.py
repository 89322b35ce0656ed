"""Conversations of runs. Adds the conversation of an earlier run to a request, and lists the turns of a conversation.

A run stores the id of the run that it continues, so a conversation is a chain of runs. Two questions that continue the
same run are two branches.
"""

from collections.abc import Iterator

from pydantic import Field

from api.auth.permissions import Caller
from api.services.research.runs import find_run
from base.models import FrozenModel
from multi_agent.errors import AgentError, RunNotFound
from multi_agent.memory.memories import exchange_of, in_few_words
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.request import EXCHANGES, Exchange, Request

MOST_TURNS = 100


class Turn(FrozenModel):
    """A question of a conversation with a short answer."""

    run_id: str = Field(description="Id of the run. Empty if the run is not known.")
    status: str = Field(description="Status of the run. Empty if the run is not known.")
    question: str = Field(description="The original question.")
    completed_question: str = Field(default="", description="The question as completed from the conversation.")
    answer: str = Field(description="The short answer. Empty if the run has not ended.")


class Conversation(FrozenModel):
    """The questions before and after a run."""

    earlier: tuple[Turn, ...] = Field(description="The last 100 questions before the run, oldest first.")
    later: tuple[Turn, ...] = Field(description="The questions that continue the run directly, oldest first.")


def collection_to_ask(trace: Trace, request: Request, collection: str | None, caller: Caller) -> str | None:
    """Return the named collection, or the collection of the run that the request continues. Raises RunNotFound."""
    if collection or not request.continues:
        return collection
    return find_run(trace, request.continues, caller).collection


def with_conversation(trace: Trace, request: Request, collection: str, caller: Caller) -> Request:
    """Return the request with the conversation of the run that it continues.

    A fork has the conversation of the original run, which the caller must be able to read. Raises RunNotFound,
    RunUnderWay, and AgentError if the run used another collection or the request already has a conversation.
    """
    if request.fork:
        _require_collection(find_run(trace, request.fork.run_id, caller), collection)
        return request
    if not request.continues:
        return request
    if (request.session and not request.complete) or request.conversation:
        raise AgentError("Use only one of `continues`, `session` and `conversation`.")
    run = find_run(trace, request.continues, caller)
    _require_collection(run, collection)
    conversation = () if request.session else _conversation_after(trace, run)
    return request.model_copy(update={"continues": run.run_id, "conversation": conversation})


def _require_collection(run: RunSummary, collection: str) -> None:
    if run.collection != collection:
        raise AgentError(
            f"Run {run.run_id!r} asked the collection {run.collection!r}, not {collection!r}. Ask that collection, or "
            "start a new conversation."
        )


def conversation_of(trace: Trace, run_id: str, caller: Caller) -> Conversation:
    """Return the questions before and after a run. Raises RunNotFound."""
    run = find_run(trace, run_id, caller)
    earlier = [*_before(trace, run, caller)][::-1]
    later = [_turn(trace, each) for each in trace.continued_by(run.run_id)]
    return Conversation(earlier=tuple(earlier[-MOST_TURNS:]), later=tuple(later))


def _conversation_after(trace: Trace, run: RunSummary) -> tuple[Exchange, ...]:
    """Return the conversation for the next question, which ends with the run's question and answer."""
    answer, started = trace.answer(run.run_id), trace.started(run.run_id)
    before = started.remembered.conversation if started else ()
    own = (exchange_of(answer),) if answer.status.is_result else ()
    return (*before, *own)[-EXCHANGES:]


def _before(trace: Trace, run: RunSummary, caller: Caller) -> Iterator[Turn]:
    """Yield the earlier questions, latest first. A session stores no run ids, so its questions come from the events."""
    for _ in range(MOST_TURNS):
        if not run.continues:
            break
        try:
            run = find_run(trace, run.continues, caller)
        except RunNotFound:  # it was deleted, but the events of this run contain the conversation
            break
        yield _turn(trace, run)
    else:
        return
    started = trace.started(run.run_id)
    for said in reversed(started.remembered.conversation if started else ()):
        yield Turn(run_id="", status="", question=said.question, answer=said.answer)


def _turn(trace: Trace, run: RunSummary) -> Turn:
    if not run.ended:
        return Turn(run_id=run.run_id, status=run.status, question=run.question, answer="")
    answer = trace.answer(run.run_id)
    return Turn(
        run_id=run.run_id,
        status=run.status,
        question=run.question,
        completed_question=answer.completed_question,
        answer=in_few_words(answer) if answer.status.is_result else answer.reasoning,
    )
