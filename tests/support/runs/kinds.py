"""Kinds of runs over the small collection: plans, modes, failures and options."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from multi_agent.values.request import Request
from support import handyman, replies
from support.panel import (
    EXTRACTION,
    PLANNER,
    READING,
    REVISION,
    SYNTHESIS,
    TRIAGE,
    Role,
    fast,
    plan,
    planned,
    reading,
    revised,
    step,
    synthesis,
)
from support.replies import Reply
from support.replies import Request as Asked

QUESTION = "Down to which temperature does the Borea 12 work?"
TOOLS = ("calculator", "write_file")
_REQUEST = Request(question=QUESTION)


@dataclass(frozen=True)
class Kind:
    """A kind of run: its request, settings, and the replies of its model.

    ``parts`` has the questions of parallel Readers by step, in the order in which they end. A ``fork`` repeats a run of
    this kind from this step.
    """

    request: Request = _REQUEST
    roles: dict[str, Role] = field(default_factory=dict)
    model: Callable[[Asked], Reply | str] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    fork: str = ""


def _ask(**options: Any) -> Request:
    return Request.model_validate({"question": QUESTION, **options})


def _says(response: dict[str, Any]) -> Role:
    return replies.always(json.dumps(response))


PARTS = {"c": "Who met?", "a": "How cold?", "b": "How long?"}
_READERS = [reading(name, PARTS[name]) for name in sorted(PARTS)]
_PARALLEL = {PLANNER: _says(planned(*_READERS, step("s", "Synthesizer")))}
_AGAIN = revised(step("again", "Retriever", inputs={"queries": ["winter"]}), step("s", "Synthesizer"))
_INSUFFICIENT = _says(synthesis([], sufficient=False))
_NOTE = ("write_file", {"name": "note.txt", "text": "0.3"})
_SUM = ("calculator", {"expression": "0.1 + 0.2"})

KINDS: dict[str, Kind] = {
    "planned": Kind(),
    "fast": Kind(roles={TRIAGE: fast}),
    "direct": Kind(_ask(mode="direct", agent="Reader")),
    "vote": Kind(_ask(mode="direct", agents=("@all",))),
    "samples": Kind(_ask(samples=3)),
    "scan": Kind(roles={PLANNER: _says(plan(method="scan"))}),
    "parallel steps": Kind(roles=_PARALLEL, parts=PARTS),
    "fork": Kind(roles=_PARALLEL, parts=PARTS, fork="s"),
    "revised": Kind(roles={SYNTHESIS: _INSUFFICIENT, REVISION: _says(_AGAIN)}),
    "no quote": Kind(_ask(question="Why?"), roles={TRIAGE: fast, READING: _INSUFFICIENT}),
    "invalid plan": Kind(_ask(question="Why?"), roles={PLANNER: _says(plan(("find", "Retriever")))}),
    "nonsense": Kind(roles={EXTRACTION: replies.always(replies.nonsense())}),
    "server error": Kind(roles={EXTRACTION: replies.always(replies.server_error())}),
    "budget": Kind(_ask(budget={"model_calls": 4})),
    "conversation": Kind(
        _ask(question="And below that?", conversation=({"question": QUESTION, "answer": "-25 °C"},), session="monday")
    ),
    "given passages": Kind(_ask(rag_results=({"text": "The Borea 12 hums.", "source": "mail"},))),
    "filter": Kind(_ask(filter={"documents": ["manual.pdf"]})),
    "checked claims": Kind(settings={"check_claims": True}),
    "tools": Kind(
        handyman.TASK,
        model=handyman.rounds(handyman.calls(_NOTE, _SUM), last=handyman.report("It is 0.3.")),
    ),
}
