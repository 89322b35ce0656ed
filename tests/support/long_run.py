"""A finished run with many events, written directly into the trace."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from api.bootstrap import Candor
from multi_agent.model import Usage
from multi_agent.storage.tables import EVENTS, event_row
from multi_agent.values.answer import Answer, Status
from multi_agent.values.events import Event, RunFinished, RunStarted
from multi_agent.values.evidence_events import EvidenceRejected
from multi_agent.values.request import Request

_QUESTION = "Down to which temperature does the pump work?"


def long_run(candor: Candor, collection: str, count: int) -> str:
    """Add a run with ``count`` events, and return its id."""
    run_id, started_at = "run_long", datetime.now(UTC)
    candor.trace.start(run_id, Request(question=_QUESTION), collection, "scripted")
    rejected = [
        EvidenceRejected(quote=f"quote {number}", passage="pump.md, page 1", reason="It is not there.", final=True)
        for number in range(2, count)
    ]
    bodies = [
        RunStarted(request=Request(question=_QUESTION), collection=collection, model="scripted"),
        *rejected,
        RunFinished(status="failed", reason="It was too much.", usage=Usage()),
    ]
    events = [
        Event(run_id=run_id, number=number, at=started_at + timedelta(milliseconds=number), body=body)
        for number, body in enumerate(bodies, 1)
    ]
    with candor.engine.begin() as connection:
        connection.execute(EVENTS.insert(), [event_row(each) for each in events[:-1]])
    candor.trace.finish(Answer(run_id=run_id, status=Status.FAILED, mode="", question=_QUESTION), events[-1])
    return run_id
