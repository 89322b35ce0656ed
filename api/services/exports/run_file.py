"""Exports a whole run as one file and reads such files, for example to share a run or report a bug."""

import gzip
import re
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from pydantic import Field, ValidationError

from api.errors import UsageError, fault_list
from base.models import FrozenModel
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.orchestrator.rerun.replay import settings_of
from multi_agent.storage.recording import Recording
from multi_agent.storage.tool_calls import ToolEntry
from multi_agent.values import events
from multi_agent.values.answer import Answer
from multi_agent.values.events import Event
from multi_agent.values.evidence_events import Searched
from multi_agent.values.request import LONGEST, Remembered
from vectorstore.models import NAME, names_in

LARGEST_FILE = 16_000_000
"""Maximum bytes of a run file."""
LARGEST = 64_000_000
"""Maximum bytes of its content."""
MOST_VALUES = 1_000_000
"""Maximum values of its content, because each value takes memory."""
MOST_QUOTES = 10_000
"""Maximum quotes of an answer, because an import looks for each of them."""

_RUN_ID = re.compile(r"run_[0-9a-z]{1,40}")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NOT_FINITE = re.compile(rb"NaN|Infinity|[eE]\+?[0-9]{3}")
_LARGEST_NUMBER = 2**31 - 1
_KEPT = (
    events.RunStarted, events.RunResumed, events.PlanMade, events.PlanRevised, events.StepStarted, events.StepFinished,
    events.ModelAsked, events.ModelCalled, events.RunFinished, Searched,
)  # fmt: skip


class RunFile(FrozenModel):
    """The content of the file, as compressed JSON."""

    format: Literal["candor-run/1"] = "candor-run/1"
    has_texts: bool = Field(description="whether it has prompts, responses, quotes and results of tools")
    recording: Recording


def write_run(recording: Recording, *, texts: bool) -> bytes:
    """Return the content of the file. Without texts, it has the question, plans, queries, models and figures.

    Raises UsageError if the file would be too large to import.
    """
    recording = recording.model_copy(update={"run": recording.run.model_copy(update={"key": "", "note": ""})})
    content = RunFile(has_texts=texts, recording=recording if texts else without_texts(recording))
    text = content.model_dump_json().encode()
    file = gzip.compress(text)
    if fault := _too_large(file) or _text_fault(text):
        raise UsageError(f"Run {recording.run.run_id!r} cannot be exported: {fault}. Export it without texts.")
    return file


def read_run(content: bytes) -> RunFile:
    """Parse a file, which may be hostile. Raises UsageError if it is no exported run, damaged, too large or newer."""
    if fault := _too_large(content):
        raise UsageError(f"The file is too large: {fault}.")
    try:
        decoder = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        text = decoder.decompress(content, LARGEST)
    except zlib.error as error:
        raise UsageError(f"The file is no exported run, or it is damaged: {error}.") from error
    if decoder.unconsumed_tail or not decoder.eof:
        raise UsageError(f"The file is incomplete, or it unpacks to more than {LARGEST // 10**6} MB.")
    if fault := _text_fault(text):
        raise UsageError(f"The file is no run that can be read: {fault}.")
    try:
        file = RunFile.model_validate_json(text)
        settings_of(file.recording.environment)  # a replay uses them
    except ValidationError as error:
        raise UsageError(
            f"The file is no run that this version of Candor can read ({fault_list(error)}). Upgrade Candor, or export "
            "the run again."
        ) from error
    if fault := _contradiction(file.recording):
        raise UsageError(f"The file is no run that Candor exported: {fault}.")
    run = file.recording.run.model_copy(update={"key": "", "note": ""})
    return file.model_copy(update={"recording": file.recording.model_copy(update={"run": run})})


def _too_large(file: bytes) -> str:
    return f"it has more than {LARGEST_FILE // 10**6} MB" if len(file) > LARGEST_FILE else ""


def _text_fault(text: bytes) -> str:
    """Return why the content must not be parsed, or an empty string. Parsing takes many times the memory."""
    too_many = f"it has more than {MOST_VALUES:,} values"
    if len(text) > LARGEST:
        return f"its content has more than {LARGEST // 10**6} MB"
    if text.count(b'"') > 4 * MOST_VALUES:  # two for each string; a value has at most one key
        return too_many
    outline = _STRING.sub(b"", text)
    if outline.count(b",") + outline.count(b"[") + outline.count(b"{") > MOST_VALUES:
        return too_many
    return "it has a number that is infinite or undefined" if _NOT_FINITE.search(outline) else ""


def _contradiction(recording: Recording) -> str:
    """Return what no exported run has, or an empty string. Ids become paths of files and keys of tables."""
    run, answer, events = recording.run, recording.answer, recording.events
    faults = {
        "its id is invalid": not _RUN_ID.fullmatch(run.run_id),
        "its collection is invalid": not all(map(NAME.fullmatch, names_in(run.collection))),
        "the run before it is invalid": not all(
            _RUN_ID.fullmatch(each) for each in (run.continues, run.forked_from) if each
        ),
        "its parts belong to different runs": {run.run_id} != {answer.run_id, *(event.run_id for event in events)},
        "its status is not that of its answer": run.status != answer.status.value,
        "its events are not in order": any(not a.number < b.number for a, b in pairwise(events)),
        "it has too many quotes": len(answer.evidence) > MOST_QUOTES,
        "it has a call twice": _doubled(recording.calls) or _doubled(recording.tool_calls),
        "a text is too long": len(run.question) > LONGEST or len(run.model) > 200 or len(run.forked_at) > 64,
        "a text contains the character U+0000": "\0" in run.question + run.model + run.forked_at,
        "a number is too large": any(event.number > _LARGEST_NUMBER for event in events)
        or not all(
            0 <= tokens <= _LARGEST_NUMBER
            for usage in (answer.usage, *(call.usage for call in recording.calls))
            for tokens in (usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens + usage.completion_tokens)
        ),
    }
    return next((fault for fault, found in faults.items() if found), "")


def _doubled(calls: Sequence[JournalEntry] | Sequence[ToolEntry]) -> bool:
    keys = {(call.key, call.occurrence) for call in calls}
    return len(keys) < len(calls) or any(len(call.key) > 64 for call in calls)


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
        case events.RunStarted(request=request):
            fork = request.fork and request.fork.model_copy(update={"prompts": {}, "inputs": {}})
            bare = request.model_copy(update={"conversation": (), "rag_results": (), "inputs": {}, "fork": fork})
            changes: dict[str, object] = {"request": bare, "remembered": Remembered(), "examples": ()}
        case events.PlanRevised():
            changes = {"diagnosis": ""}
        case events.StepStarted():
            changes = {"instruction": "", "inputs": {}, "heard": ()}
        case events.StepFinished():
            changes = {"wrote": {}}
        case events.ModelCalled():
            changes = {"faults": ()}
        case Searched():
            changes = {"passages": ()}
        case events.RunFinished():
            changes = {"reason": ""}
        case _:
            return event
    return event.model_copy(update={"body": event.body.model_copy(update=changes)})
