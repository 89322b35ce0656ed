"""A scripted model that responds for every role of the panel, so that a run ends with a cited answer.

Triage chooses mode ``high`` if the request allows it. The readers cite every sentence that contains one of ``quotes``
and write a claim for each. A test can replace single roles with its own responders. These may answer with ``{passage,
quote}``, which the panel replaces with the sentence numbers from the prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from support.pictures import number_in
from support.replies import Reply, Request

Role = Callable[[Request], "Reply | str"]

PLANNER, QUERIES, INSPECTION = "PlannerResponse", "Queries", "InspectionResponse"
PATTERNS, EXTRACTION, SYNTHESIS = "Patterns", "Extraction", "WrittenAnswer"
READING, REVISION, EXPLANATION = "ReaderAnswer", "RevisionResponse", "Explanation"
UNDERSTANDING, CHECK, TRIAGE = "UnderstandingResponse", "ClaimCheck", "Triage"
COMPLETION, SUGGESTION, NOTES, ROWS = "CompletedQuestion", "Suggested", "DocumentNotes", "RowAnswers"

FULL_PLAN = (
    ("queries", "QueryPlanner"),
    ("find", "Retriever"),
    ("look", "DataInspector"),
    ("patterns", "PatternGenerator"),
    ("extract", "Extractor"),
    ("answer", "Synthesizer"),
)
_PASSAGE = re.compile(r"^=== (.*)\n((?:\[\d+\] .*(?:\n|\Z))+)", re.MULTILINE)
_UNIT = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_CLAIM = re.compile(r"^Claim \d+: ", re.MULTILINE)
_EVIDENCE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_NOWHERE = 999
"""The sentence number for a quote that no shown sentence contains."""


def role_of(request: Request) -> str:
    """Return the title of the requested schema."""
    assert request.schema is not None, "agents always send a schema"
    return str(request.schema["title"])


class Panel:
    """A responder for ``ScriptedEndpoint``: ``Panel("2:01:53", roles={SYNTHESIS: my_synthesizer})``."""

    def __init__(self, *quotes: str, roles: dict[str, Role] | None = None, explains: str = "") -> None:
        self._quotes, self.explains = quotes, explains
        self._roles = {} if roles is None else roles

    def __call__(self, request: Request) -> Reply | str:
        if request.schema is None:
            return number_in(request.pictures)  # the check for pictures has no schema
        role = role_of(request)
        reply = self._roles[role](request) if role in self._roles else json.dumps(self.play(request))
        return pointing(request, reply) if role in (READING, EXTRACTION) else reply

    def play(self, request: Request) -> dict[str, Any]:
        """Return the default response to this request."""
        role = role_of(request)
        if role == EXTRACTION:
            return {
                "items": [{"sentences": [number], "shows": "what was looked for"} for number in self._found(request)]
            }
        if role == NOTES:
            return {"notes": [{"sentences": [number], "text": text} for number, text in self._found(request).items()]}
        if role == TRIAGE:
            return triage(request, mode="high")
        if role == COMPLETION:
            return {"question": request.prompt.rpartition("The question that follows: ")[2]}
        if role == SYNTHESIS:
            return self._synthesis(request)
        if role == READING:
            return self._reading(request)
        if role == CHECK:
            return verdicts(*["stated"] * len(_CLAIM.findall(request.prompt)))
        return {
            PLANNER: plan(),
            QUERIES: _QUERIES,
            INSPECTION: _INSPECTION,
            PATTERNS: _PATTERNS,
            REVISION: give_up(),
            EXPLANATION: {"explanation": "It was tried and did not work."},
            ROWS: {"answers": []},
            SUGGESTION: {"questions": ["What is said here?"]},
            UNDERSTANDING: {"intent": "know", "requirements": ["the fact"]},
        }[role]

    def _found(self, request: Request) -> dict[int, str]:
        """Return the sentences that contain one of the quotes, by number."""
        shown = {number: text for _, units in passages_of(request) for number, text in units.items()}
        return {number: text for number, text in shown.items() if any(quote in text for quote in self._quotes)}

    def _reading(self, request: Request) -> dict[str, Any]:
        found = self._found(request)
        claims = [{"sentences": [number], "text": f"It says so: {text}"} for number, text in found.items()]
        written = synthesis(claims, sufficient=bool(found), short=next(iter(found.values()), ""))
        return {**written, "reasoning": self.explains}

    def _synthesis(self, request: Request) -> dict[str, Any]:
        evidence = _EVIDENCE.findall(request.messages[1]["content"])
        claims = [{"text": f"It says so: {text}", "evidence": [int(number)]} for number, text in evidence]
        return {**synthesis(claims, sufficient=bool(claims)), "reasoning": self.explains}


def verdicts(*given: str, difference: str = "") -> dict[str, Any]:
    """Return a response of the check call."""
    return {"verdicts": [{"difference": difference, "verdict": each} for each in given]}


def passages_of(request: Request) -> list[tuple[str, dict[int, str]]]:
    """Return the location and the numbered sentences of each passage in the prompt."""
    shown = "\n\n".join(message["content"] for message in request.messages[1:])
    return [
        (location, {int(number): text for number, text in _UNIT.findall(units)})
        for location, units in _PASSAGE.findall(shown)
    ]


def sentences_of(request: Request, passage: int | str, quote: str) -> list[int]:
    """Return the numbers of the sentences that contain the quote, or an invalid number if there is none.

    ``passage`` is its position in the prompt or the name of its document.
    """
    wanted = " ".join(quote.split())
    numbers = [
        number
        for position, (location, units) in enumerate(passages_of(request), 1)
        for number, text in units.items()
        if passage == position or (isinstance(passage, str) and location.startswith(passage))
        if wanted in text or text in wanted
    ]
    return numbers or [_NOWHERE]


def pointing(request: Request, reply: Reply | str) -> Reply | str:
    """Return the reply with quotes replaced by sentence numbers."""
    try:
        response = json.loads(reply if isinstance(reply, str) else reply.text)
    except ValueError:
        return reply
    response["items"] = [_point(request, item, [item]) for item in response.pop("items", ())]
    response["claims"] = [_point(request, claim, claim.get("quotes", ())) for claim in response.pop("claims", ())]
    text = json.dumps({name: value for name, value in response.items() if name in request.schema["properties"]})
    return text if isinstance(reply, str) else replace(reply, text=text)


def _point(request: Request, item: dict[str, Any], quotes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if "sentences" in item:
        return item
    numbers = [number for each in quotes for number in sentences_of(request, each["passage"], each["quote"])]
    rest = {name: value for name, value in item.items() if name not in ("quotes", "passage", "quote")}
    return {"sentences": numbers, **rest}


def triage(request: Request, mode: str = "fast", **more: Any) -> dict[str, Any]:
    """Return a triage response with the fields of the requested schema."""
    response = {
        "requirements": ["the fact"], "queries": [], "documents": "all", "agent": "Reader", "lookup": None,
        "steps": "one" if mode == "fast" else "several", "domain": "pumps", "ask_back": None,
        "not_in_documents": False, **more,
    }  # fmt: skip
    assert request.schema is not None
    return {name: response[name] for name in request.schema["properties"]}


def fast(request: Request) -> str:
    """Return a triage response for a question that one search answers."""
    return json.dumps(triage(request))


def plan(*steps: tuple[str, str], method: str = "search", documents: Sequence[str] = ()) -> dict[str, Any]:
    """Return a planner's response with these (id, agent) steps, or with those of ``FULL_PLAN`` if none are given."""
    retrieval = {"method": method, "documents": list(documents), "queries": []}
    made = [
        step(step_id, agent, **({"inputs": retrieval} if agent == "Retriever" else {}))
        for step_id, agent in steps or FULL_PLAN
    ]
    return planned(*made)


def step(step_id: str, agent: str, **more: Any) -> dict[str, Any]:
    """Return a step of a planner's response."""
    return {"id": step_id, "agent": agent, "instruction": "Do it.", **more}


def reading(step_id: str, question: str) -> dict[str, Any]:
    """Return a step of the Reader."""
    return {"id": step_id, "agent": "Reader", "inputs": {"question": question, "queries": []}}


def planned(*steps: dict[str, Any]) -> dict[str, Any]:
    """Return a planner's response with these steps."""
    return {"intent": "know", "domain": "pumps", "requirements": ["the fact"], "steps": list(steps)}


def revised(*steps: dict[str, Any]) -> dict[str, Any]:
    """Return a revised plan with these steps."""
    return {"diagnosis": "The wrong words.", "try_again": True, "steps": list(steps)}


def give_up() -> dict[str, Any]:
    """Return a response that declines a revision."""
    return {"diagnosis": "It is not there.", "try_again": False, "steps": []}


def synthesis(claims: list[dict[str, Any]], *, sufficient: bool, short: str = "") -> dict[str, Any]:
    """Return the response of an agent that writes an answer."""
    return {
        "claims": claims,
        "short": short,
        "sufficient": sufficient,
        "missing": "" if sufficient else "the fact",
        "layout": "prose",
    }


_QUERIES = {"queries": ["the fact", "what is known", "what it says"], "reasoning": "Three wordings."}
_INSPECTION = {
    "format": "prose",
    "structure": "sentences",
    "quality_problems": [],
    "missing": [],
    "reasoning": "Easy to read.",
}
_PATTERNS = {
    "strategies": [{"description": "the fact", "take": "each line", "leave_out": "", "examples": []}],
    "record_fields": [],
    "reasoning": "It is a single fact.",
}
