"""Documents about two museums, and scripted models that ask which one a question means."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from support.panel import COMPLETION, READING, TRIAGE, Panel, passages_of, role_of, synthesis, triage
from support.replies import Reply, Request

UNCLEAR = "Which facilities does this museum have?"
WHICH = "Which museum do you mean?"
CITY, MARITIME, ZOO = "the Brunsholm city museum", "the maritime museum", "the railway museum"
CITY_CAFE = "The Brunsholm city museum has a café and a library."
MARITIME_POOL = "The maritime museum has a wave pool."
DOCUMENTS = {"city.md": f"# City\n\n{CITY_CAFE}\n", "harbour.md": f"# Harbour\n\n{MARITIME_POOL}\n"}


def full(name: str) -> str:
    """Return the question about this museum."""
    return f"Which facilities does {name} have?"


def asking(*names: str) -> dict[str, Any]:
    """Return what triage and the completion say to ask back."""
    return {"question": WHICH, "candidates": [{"name": name, "question": full(name)} for name in names]}


def reader_asking(request: Request, *names: str) -> dict[str, Any]:
    """Return the Reader's response that asks back. Names of no sentence cite the first one."""
    units = {number: text for _, shown in passages_of(request) for number, text in shown.items()}
    asked = asking(*names)
    for each in asked["candidates"]:
        each["sentences"] = [number for number, text in units.items() if each["name"][4:] in text] or [1]
    return {**synthesis([], sufficient=False), "search": ["museum facilities"], "ask_back": asked}


class Museums:
    """A responder whose ``role`` asks back the unclear question with ``names``. It answers the clear ones."""

    def __init__(self, role: str, *names: str) -> None:
        self.prompts: list[tuple[str, str]] = []
        self._role, self._names = role, names
        self.completed, self.live = full(MARITIME), False

    def __call__(self, request: Request) -> Reply | str:
        role, prompt = role_of(request), request.prompt
        self.prompts.append((role, prompt))
        is_unclear = full(CITY) not in prompt and full(MARITIME) not in prompt
        if role == self._role and is_unclear:
            return self._ask_back(request)
        if role == TRIAGE:
            return json.dumps(triage(request, not_in_documents=self.live))
        if role == COMPLETION:
            return json.dumps({"question": self.completed})
        return Panel("wave pool" if full(MARITIME) in prompt else "café")(request)

    def _ask_back(self, request: Request) -> str:
        made: dict[str, Callable[[], dict[str, Any]]] = {
            TRIAGE: lambda: triage(request, ask_back=asking(*self._names), queries=["museum amenities"]),
            COMPLETION: lambda: {"question": UNCLEAR, "ask_back": asking(*self._names)},
            READING: lambda: reader_asking(request, *self._names),
        }
        return json.dumps(made[self._role]())

    @property
    def roles(self) -> list[str]:
        """The roles that were asked, in order."""
        return [role for role, _ in self.prompts]
