"""A scripted model that responds for every role of the panel, so that a run ends with a cited answer.

It quotes every line of the passages that contains one of ``quotes``, and claims each. A test replaces single roles by
its own responders.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from support.scripted_endpoint import Reply, Request

Role = Callable[[Request], "Reply | str"]

PLANNER, QUERIES, INSPECTION = "PlannerResponse", "Queries", "InspectionResponse"
PATTERNS, EXTRACTION, SYNTHESIS = "Patterns", "Extraction", "WrittenAnswer"
READING, REVISION, EXPLANATION = "ReaderAnswer", "RevisionResponse", "Explanation"
UNDERSTANDING = "UnderstandingResponse"

FULL_PLAN = (
    ("queries", "QueryPlanner", []),
    ("find", "Retriever", ["queries"]),
    ("look", "DataInspector", ["find"]),
    ("patterns", "PatternGenerator", ["look"]),
    ("extract", "Extractor", ["patterns"]),
    ("answer", "Synthesizer", ["extract"]),
)
_MODE_REASON = '"mode_reason": "It fits.", '
_PASSAGE = re.compile(r"^=== Passage (\d+): (.*?)\n(.*?)(?=\n\n=== Passage |\Z)", re.DOTALL | re.MULTILINE)
_EVIDENCE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def role_of(request: Request) -> str:
    """Return the title of the requested schema."""
    assert request.schema is not None, "Candor never asks for free text"
    return str(request.schema["title"])


class Panel:
    """A responder for ``ScriptedEndpoint``: ``Panel("2:01:53", roles={SYNTHESIS: my_synthesizer})``."""

    def __init__(self, *quotes: str, roles: dict[str, Role] | None = None) -> None:
        self._quotes = quotes
        self._roles = roles or {}

    def __call__(self, request: Request) -> Reply | str:
        role = role_of(request)
        reply = self._roles[role](request) if role in self._roles else json.dumps(self.play(request))
        if role == PLANNER and isinstance(reply, str) and "mode_reason" not in request.schema["properties"]:
            return reply.replace(_MODE_REASON, "")  # the person chose the mode; scripts need not care
        return reply

    def play(self, request: Request) -> dict[str, Any]:
        """Return the default response to this request."""
        role = role_of(request)
        if role == EXTRACTION:
            return {"items": list(self._items(request))}
        if role == SYNTHESIS:
            return self._synthesis(request)
        if role == READING:
            return self._reading(request)
        return {
            PLANNER: plan(),
            QUERIES: _QUERIES,
            INSPECTION: _INSPECTION,
            PATTERNS: _PATTERNS,
            REVISION: give_up(),
            EXPLANATION: {"explanation": "It was tried and did not work."},
            UNDERSTANDING: {"intent": "know", "domain": "any", "requirements": ["the fact"]},
        }[role]

    def _items(self, request: Request) -> Iterator[dict[str, Any]]:
        for number, _, text in _PASSAGE.findall(request.messages[1]["content"]):
            for line in text.splitlines():
                if any(quote in line for quote in self._quotes):
                    yield {"passage": int(number), "quote": line.strip(), "shows": "what was looked for"}

    def _reading(self, request: Request) -> dict[str, Any]:
        items = list(self._items(request))
        claims = [{"text": f"It says so: {item['quote']}", "quotes": [item]} for item in items]
        return synthesis(claims, sufficient=bool(items), short=items[0]["quote"] if items else "")

    def _synthesis(self, request: Request) -> dict[str, Any]:
        evidence = _EVIDENCE.findall(request.messages[1]["content"])
        claims = [{"text": f"It says so: {text}", "evidence": [int(number)]} for number, text in evidence]
        return synthesis(claims, sufficient=bool(claims))


def plan(*steps: tuple[str, str, list[str]], method: str = "search", documents: Sequence[str] = ()) -> dict[str, Any]:
    """Return a planner's response with steps of (id, agent, needs); without any, ``FULL_PLAN``."""
    retrieval = {"method": method, "documents": list(documents), "queries": []}
    made = [
        step(step_id, agent, needs, **({"inputs": retrieval} if agent == "Retriever" else {}))
        for step_id, agent, needs in steps or FULL_PLAN
    ]
    return planned(*made)


def step(step_id: str, agent: str, needs: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """Return a step of a planner's response."""
    return {"id": step_id, "agent": agent, "instruction": "Do it.", "needs": list(needs), "why": "It helps.", **more}


def reading(step_id: str, question: str, needs: Sequence[str] = (), *, final: bool = False) -> dict[str, Any]:
    """Return a step of the Reader."""
    return step(step_id, "Reader", needs, inputs={"question": question, "queries": []}, final=final)


def planned(*steps: dict[str, Any], mode: str = "high") -> dict[str, Any]:
    """Return a planner's response with these steps."""
    understood = {"intent": "know", "domain": "any", "requirements": ["the fact"]}
    return {**understood, "mode_reason": "It fits.", "mode": mode, "goal": "answer", "steps": list(steps)}


def revised(*steps: dict[str, Any]) -> dict[str, Any]:
    """Return a revised plan with these steps."""
    return {"diagnosis": "The wrong words.", "try_again": True, "goal": "other words", "steps": list(steps)}


def give_up() -> dict[str, Any]:
    """Return a response that declines a revision."""
    return {"diagnosis": "It is not there.", "try_again": False, "goal": "none", "steps": []}


def synthesis(claims: list[dict[str, Any]], *, sufficient: bool, short: str = "") -> dict[str, Any]:
    """Return the response of an agent that writes an answer."""
    return {
        "short": short,
        "reasoning": "It follows." if sufficient else "Nothing says so.",
        "sufficient": sufficient,
        "layout": "prose",
        "confidence": 0.9,
        "looked_for": ["the fact"],
        "found": "the fact" if sufficient else "nothing that helps",
        "missing": [] if sufficient else ["the fact"],
        "claims": claims,
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
