"""Exports a whole run as one file and reads such files, for example to share a run or report a bug."""

from __future__ import annotations

import gzip
import zlib
from typing import Literal

from pydantic import Field, ValidationError

from api.errors import UsageError, fault_list
from multi_agent.answer import Answer
from multi_agent.events import (
    Event,
    ModelAsked,
    ModelCalled,
    PlanMade,
    PlanRevised,
    RunFinished,
    RunResumed,
    RunStarted,
    StepFinished,
    StepStarted,
)
from multi_agent.evidence_events import Searched
from multi_agent.remembered import Remembered
from multi_agent.storage.recording import Recording
from vectorstore.models import FrozenModel

LARGEST = 500_000_000
"""Maximum bytes of the content of a run file."""

_KEPT = (RunStarted, RunResumed, PlanMade, PlanRevised, StepStarted, StepFinished, ModelAsked, ModelCalled, Searched,
         RunFinished)  # fmt: skip


class RunFile(FrozenModel):
    """The content of the file, as compressed JSON."""

    format: Literal["candor-run/1"] = "candor-run/1"
    has_texts: bool = Field(description="whether it has prompts, responses, quotes and results of tools")
    recording: Recording


def write_run(recording: Recording, *, texts: bool) -> bytes:
    """Return the content of the file. Without texts, it has the question, plans, queries, models and figures."""
    recording = recording.model_copy(update={"run": recording.run.model_copy(update={"key": "", "note": ""})})
    content = RunFile(has_texts=texts, recording=recording if texts else without_texts(recording))
    return gzip.compress(content.model_dump_json().encode())


def read_run(content: bytes) -> RunFile:
    """Parse a file. Raises UsageError for another kind of file, and for a damaged, too large or newer one."""
    try:
        decoder = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        text = decoder.decompress(content, LARGEST)
    except zlib.error as error:
        raise UsageError(f"The file is no exported run, or it is damaged: {error}.") from error
    if decoder.unconsumed_tail or not decoder.eof:
        raise UsageError("The file is incomplete, or its content is larger than 500 MB.")
    try:
        return RunFile.model_validate_json(text)
    except ValidationError as error:
        raise UsageError(
            f"The file is no run that this version of Candor can read ({fault_list(error)}). Upgrade Candor, or export "
            "the run again."
        ) from error


def without_texts(recording: Recording) -> Recording:
    """Return the run without texts of documents, web pages, tools, models and memories."""
    answer = recording.answer
    return recording.model_copy(
        update={
            "answer": Answer(
                run_id=answer.run_id, status=answer.status, mode=answer.mode, question=answer.question,
                confidence=answer.confidence, summary=answer.summary, usage=answer.usage,
            ),
            "events": tuple(_bare(event) for event in recording.events if isinstance(event.body, _KEPT)),
            "calls": (),
            "tool_calls": (),
        }
    )  # fmt: skip


def _bare(event: Event) -> Event:
    """Return the event without fields that may contain texts."""
    match event.body:
        case RunStarted(request=request):
            bare = request.model_copy(update={"conversation": (), "rag_results": (), "inputs": {}})
            changes: dict[str, object] = {"request": bare, "remembered": Remembered(), "examples": ()}
        case PlanRevised():
            changes = {"diagnosis": ""}
        case StepStarted():
            changes = {"instruction": "", "inputs": {}, "heard": ()}
        case StepFinished():
            changes = {"wrote": {}}
        case ModelCalled():
            changes = {"faults": ()}
        case Searched():
            changes = {"passages": ()}
        case RunFinished():
            changes = {"reason": ""}
        case _:
            return event
    return event.model_copy(update={"body": event.body.model_copy(update=changes)})
